"""Numbers and days out of texts, by one grammar that every engine shares.

What an engine's own casts take differs: underscores, hexadecimal digits, suffixes, `today`. A text is a number or a day
where it is written as below, and counts as missing otherwise. The grammar leaves no number that a cast could fail on:
with 200 digits on each side of the point and two in the exponent all lie between 1e-299 and 1e299, or are 0.
"""

import re
from datetime import date

from privet.tables.columns import EPOCH

NUMBER = r"[+-]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][+-]?[0-9]{1,2})?"
YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
DAY = YEAR + "-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([ T][0-9:.]{0,40}(Z|[+]00(:?00)?)?)?"
"""A day, alone or with a time of it in UTC; a time in another zone is none of these, and counts as missing. The time is not
checked, since it is not used; whether the month has such a day is for `day_in` and `Dialect.read_day` to see."""

TIME = (
    DAY[: DAY.index("([ T]")] + "([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{0,40})?)?(Z|[+]00(:?00)?)?)?"
)
"""A day, alone (its first second) or with a time of it in UTC, to the minute or finer; fractions of a second are left
out."""

INFINITE = tuple(word for stem in ("inf", "infinity") for word in (stem, stem.capitalize(), stem.upper()))
HUGE = 1e300  # stands for infinity, beyond every other number here
YES, NO = ("true", "True", "TRUE", "t", "1"), ("false", "False", "FALSE", "f", "0")

_NUMBER, _DAY, _TIME = re.compile(NUMBER), re.compile(DAY), re.compile(TIME)


def number_in(text: object) -> float | None:
    """The number that a text is, or None.

    >>> number_in(" 1e3 "), number_in("-inf"), number_in("1_000"), number_in("0x10")
    (1000.0, -1e+300, None, None)
    """
    if not isinstance(text, str):
        return None
    plain = text.strip(" ")
    if _NUMBER.fullmatch(plain):
        return float(plain)
    unsigned = plain[1:] if plain[:1] in ("+", "-") else plain
    if unsigned in INFINITE:
        return -HUGE if plain.startswith("-") else HUGE
    return None


def day_in(text: object) -> int | None:
    """Days since 1970 of the day that a text is, or None.

    >>> day_in("1970-01-02"), day_in("1970-01-02T23:59:59Z"), day_in("2023-02-29"), day_in("today")
    (1, 1, None, None)
    """
    if not isinstance(text, str):
        return None
    plain = text.strip(" ")
    if not _DAY.fullmatch(plain):
        return None
    try:
        return date.fromisoformat(plain[:10]).toordinal() - EPOCH
    except ValueError:
        return None


def second_in(text: object) -> int | None:
    """Seconds since 1970 of the time that a text is, or None.

    >>> second_in("1970-01-02"), second_in("1970-01-01T00:01:02.9Z"), second_in("1970-01-01 25:00"), second_in("noon")
    (86400, 62, None, None)
    """
    plain = text.strip(" ") if isinstance(text, str) else ""
    day = day_in(plain) if _TIME.fullmatch(plain) else None
    if day is None:
        return None
    hour, minute, second = (int(plain[at : at + 2]) if plain[at - 1 : at] in tuple("T :") else 0 for at in (11, 14, 17))
    return day * 86_400 + hour * 3600 + minute * 60 + second


def truth_in(text: object) -> float | None:
    """1 for yes, 0 for no, or None.

    >>> truth_in("True"), truth_in(" f "), truth_in("maybe")
    (1.0, 0.0, None)
    """
    plain = text.strip(" ") if isinstance(text, str) else None
    return 1.0 if plain in YES else 0.0 if plain in NO else None
