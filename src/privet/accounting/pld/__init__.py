"""Two-sided numerical composition of privacy-loss distributions."""

from privet.accounting.pld.accountant import PLD, profile_nodes
from privet.accounting.pld.engine import clear_caches

__all__ = ["PLD", "clear_caches", "profile_nodes"]
