"""Audits: lower bounds on epsilon and attacks that try to break a claim."""

__all__: list[str] = []
