"""Private deep learning: DP-SGD on PyTorch."""

__all__: list[str] = []
