"""Two published searches for violations of differential privacy, written anew from their papers."""

from rivals.table import smallest_runs

__all__ = ["smallest_runs"]
