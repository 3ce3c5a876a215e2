"""The suite's false alarms: one budget, shared out completely and no further."""

import pytest

from privet import testing
from privet.errors import InvalidParameter


def test_the_shares_add_up_to_the_budget():
    assert testing.AUDIT_ALARMS <= 1e-3
    assert sum(testing.AUDIT_SHARES.values()) == pytest.approx(1.0)
    assert sum(testing.alarm_level(part, of=1) for part in testing.AUDIT_SHARES) == pytest.approx(testing.AUDIT_ALARMS)


def test_one_of_many_gets_its_part():
    assert testing.alarm_level("zoo", of=10) == pytest.approx(testing.alarm_level("zoo", of=1) / 10)
    with pytest.raises(InvalidParameter, match="no share"):
        testing.alarm_level("everything", of=1)
    with pytest.raises(InvalidParameter):
        testing.alarm_level("zoo", of=0)
