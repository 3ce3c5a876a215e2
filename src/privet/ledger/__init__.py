"""The budget ledger: append-only, durable, and paid before any data is touched."""

__all__: list[str] = []
