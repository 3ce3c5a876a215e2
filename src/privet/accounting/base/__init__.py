"""What every accountant is built from."""

from privet.accounting.base.accountant import Accountant
from privet.accounting.base.bound import Bound
from privet.accounting.base.renyi import best_order, epsilon_of_renyi, log_delta_of_renyi

__all__ = ["Accountant", "Bound", "best_order", "epsilon_of_renyi", "log_delta_of_renyi"]
