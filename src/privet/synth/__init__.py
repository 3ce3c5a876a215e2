"""Synthetic data: tables drawn from privately measured marginals."""

__all__: list[str] = []
