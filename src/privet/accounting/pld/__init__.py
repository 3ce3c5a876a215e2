"""Two-sided numerical composition of privacy-loss distributions."""

from privet.accounting.pld.accountant import PLD, profile_nodes

__all__ = ["PLD", "profile_nodes"]
