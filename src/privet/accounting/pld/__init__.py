"""Two-sided numerical composition of privacy-loss distributions."""

from privet.accounting.pld.accountant import PLD as PLD, profile_nodes as profile_nodes
from privet.accounting.pld.engine import clear_caches as clear_caches
