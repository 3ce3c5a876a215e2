"""The curator service: several analysts, one table, one ledger."""

__all__: list[str] = []
