"""Queries: counts, sums, means, quantiles and group-bys, with a preview of cost and error."""

__all__: list[str] = []
