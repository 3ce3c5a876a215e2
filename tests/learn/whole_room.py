"""Every registered estimator with public facts, and records that it can be fitted to: what laws over the whole room go
through.
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from privet.learn.estimators import EstimatorExample, registered_estimators

ESTIMATORS: dict[str, EstimatorExample] = {
    example.title: example for kind in registered_estimators().values() for example in kind.examples()
}


def made(name: str, columns: int, **more: Any) -> Any:
    """The estimator, not yet fitted."""
    return clone(ESTIMATORS[name].estimator).set_params(**more)


def rows_for(name: str, n: int, columns: int) -> tuple[np.ndarray, ...]:
    """X, and y where there is one."""
    return ESTIMATORS[name].records(n, columns)
