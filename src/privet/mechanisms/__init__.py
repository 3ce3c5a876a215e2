"""Mechanisms: a loss and a release, from Laplace to above-threshold."""

__all__: list[str] = []
