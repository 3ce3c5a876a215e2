"""The average of RMIA: models with a record and models without it count alike, however many there are of each."""

import numpy as np
import pytest

from privet.audit.membership.rmia import _stands_out


class Few:
    """Four shadow models, one of which was trained on the record."""

    def inside(self, x, y):
        return np.array([[True], [False], [False], [False]])

    def models(self):
        return iter([lambda x, y: -np.log([0.8]), *([lambda x, y: -np.log([0.2])] * 3)])


def test_models_with_and_without_a_record_count_alike():
    x, y = np.zeros((1, 1)), np.zeros(1, dtype=int)
    found = _stands_out(lambda x, y: -np.log([0.9]), Few(), x, y, 0.3)
    assert found[0] == pytest.approx(np.log(0.9 / 0.5))  # (.8 + .2)/2, and not (.8 + 3 x .2)/4
