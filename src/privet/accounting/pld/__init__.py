"""Two-sided numerical composition of privacy-loss distributions."""

from privet.accounting.pld.accountant import PLD

__all__ = ["PLD"]
