"""Channels that are written down, entry by entry."""

from privet.errors import InvalidParameter

_ENTRIES = 2**22  # of a table that is listed: a few tens of megabytes


def listed(rows: int, columns: int) -> None:
    """A check that a channel with so many rows and columns has few enough entries to be listed.

    >>> listed(1000, 1000)
    """
    if rows * columns > _ENTRIES:
        raise InvalidParameter(
            "a channel of more than 2^22 entries is not listed: take fewer values; the price needs none"
        )
