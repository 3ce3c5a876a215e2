"""Private deep learning: DP-SGD on PyTorch (`pip install 'privet[torch]'`)."""

from privet._face import face, installed

if installed("torch"):
    from privet.deep.clipped_sum import ClippedSum as ClippedSum, clipped_sum as clipped_sum
    from privet.deep.clipping import (
        Automatic as Automatic,
        Clip as Clip,
        Flat as Flat,
        clip_from_dict as clip_from_dict,
    )
    from privet.deep.engines.engine import Engine as Engine
    from privet.deep.engines.make import make_engine as make_engine
    from privet.deep.isolation import check_isolation as check_isolation

__all__, __dir__ = face(globals(), extra="torch")
