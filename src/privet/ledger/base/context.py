"""The stack of ambient ledgers: one per thread and per asyncio task."""

from contextvars import ContextVar

__all__ = ["AMBIENT"]

AMBIENT: ContextVar[tuple[object, ...]] = ContextVar("privet_ledger", default=())
