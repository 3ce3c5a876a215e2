"""Engines: three ways to the same clipped sums."""
