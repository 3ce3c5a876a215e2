"""The rate at which the whole suite may accuse the innocent: one budget, allocated here and nowhere else."""

from privet._validate import count
from privet.errors import InvalidParameter

AUDIT_ALARMS = 1e-3  # probability that any audit of a sound mechanism, in one run of the suite, calls it broken
AUDIT_SHARES = {"mechanisms": 0.4, "zoo": 0.4, "audit": 0.1, "attacks": 0.1}


def alarm_level(part: str, *, of: int) -> float:
    """The level of one of `of` audits in a part of the suite, so that all of them together stay within the budget.

    >>> round(alarm_level("mechanisms", of=40), 9)
    1e-05
    """
    if part not in AUDIT_SHARES:
        raise InvalidParameter(f"there is no share for {part!r}; there are: {', '.join(AUDIT_SHARES)}")
    return AUDIT_ALARMS * AUDIT_SHARES[part] / count("of", of, 1)
