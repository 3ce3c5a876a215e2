"""Workloads: range and linear queries answered together by a strategy."""

__all__: list[str] = []
