"""What every accountant is built from."""

from privet.accounting.base.accountant import Accountant
from privet.accounting.base.bound import Bound

__all__ = ["Accountant", "Bound"]
