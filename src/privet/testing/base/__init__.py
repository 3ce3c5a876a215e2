"""What the laws share: the list of accountants, a slow independent oracle, and a label that keeps equal prices apart."""

from privet.testing.base.alarms import AUDIT_ALARMS, AUDIT_SHARES, alarm_level
from privet.testing.base.ask import DELTA, accountants, delta_of, epsilon_of, variable_of
from privet.testing.base.conduct import (
    check_error_bars_cover,
    check_every_coin_is_from_noise,
    check_nothing_private_is_said,
)
from privet.testing.base.labelled import Labelled
from privet.testing.base.oracle import enclose_delta
from privet.testing.base.same import same_value
from privet.testing.base.two_sample import differ

__all__ = [
    "AUDIT_ALARMS",
    "AUDIT_SHARES",
    "DELTA",
    "Labelled",
    "accountants",
    "alarm_level",
    "check_error_bars_cover",
    "check_every_coin_is_from_noise",
    "check_nothing_private_is_said",
    "delta_of",
    "differ",
    "enclose_delta",
    "epsilon_of",
    "same_value",
    "variable_of",
]
