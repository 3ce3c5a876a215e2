"""Exact noise: secure entropy and samplers for discrete Laplace, Gaussian and friends."""

__all__: list[str] = []
