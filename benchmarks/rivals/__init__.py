"""Published searches for violations of differential privacy, and solvers, written anew from their papers."""

from rivals.table import OF, smallest_runs

__all__ = ["OF", "smallest_runs"]
