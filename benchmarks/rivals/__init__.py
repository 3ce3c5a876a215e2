"""Two published searches for violations of differential privacy, written anew from their papers, and what all are tried on."""

from rivals.table import smallest_runs

__all__ = ["smallest_runs"]
