"""A histogram as it is handed in: counts in the shape of the domain."""

from privet.errors import InvalidData
from privet.workloads.families.counts import admit_counts


def admit_histogram(value: object, shape: tuple[int, ...]) -> None:
    """Refuse what is no array of counts of this shape, without looking at a value.

    >>> admit_histogram([1, 2, 3], (3,))
    """
    found = admit_counts(value)
    if found != shape:
        raise InvalidData(f"the histogram must have the shape of the domain, {shape}: got {found}")
