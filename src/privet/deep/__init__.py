"""Private deep learning: DP-SGD on PyTorch (`pip install 'privet[torch]'`)."""

from privet._face import face, installed

if installed("torch"):
    pass

__all__, __dir__ = face(globals(), extra="torch")
