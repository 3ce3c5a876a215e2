"""Thresholds and answers that share a promise: all of it is used, whether two classes have an exact price or not."""

from typing import Any

import numpy as np
import pytest

from privet import accounting
from privet.pate import ConfidentGNMax, InteractiveGNMax


def _even_chances(labels: Any) -> Any:
    return np.full((4, 2), 0.5)


@pytest.mark.parametrize("teachers", [None, 5, 40])
def test_confident_votes_of_two_classes_use_their_budget(teachers: int | None) -> None:
    made = ConfidentGNMax.for_budget(
        epsilon=2.0, delta=1e-5, threshold=4.0, queries=4, answers=2, classes=2, teachers=teachers
    )
    spent = accounting.epsilon(made.loss, delta=1e-5).upper
    assert 1.98 <= spent <= 2.0


def test_interactive_votes_of_two_classes_use_their_budget() -> None:
    made = InteractiveGNMax.for_budget(
        epsilon=2.0, delta=1e-5, threshold=2.0, queries=4, answers=2, classes=2, teachers=5, student=_even_chances
    )
    spent = accounting.epsilon(made.loss, delta=1e-5).upper
    assert 1.98 <= spent <= 2.0
    assert 8.9 < (made.sigma1 / made.sigma2) ** 2 < 9.1  # a tenth for the thresholds, nine for the answers
