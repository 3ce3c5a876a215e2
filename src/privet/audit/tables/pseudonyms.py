"""Pseudonyms that are hashes of a small space, undone by trying all of it."""

import hashlib
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import final

from privet.audit.tables.cells import exact_cells, row_count
from privet.audit.tables.reidentification import NOT_RELEASABLE
from privet.errors import InvalidParameter
from privet.tables import Described

_KINDS = {"9": string.digits, "A": string.ascii_uppercase, "a": string.ascii_lowercase, "h": "0123456789abcdef"}
Digest = Callable[[str], str]


@final
@dataclass(frozen=True)
class Pseudonyms:
    """Pseudonyms that were undone by hashing candidates: `undone` of `pseudonyms`, of `undone_rows` of all `rows`.

    Exact, for the custodian: not releasable.

    >>> Pseudonyms("medallion", 10, 10, 40, 40, 1000).exact_share
    1.0
    """

    column: str
    pseudonyms: int
    undone: int
    rows: int
    undone_rows: int
    tried: int

    @property
    def exact_share(self) -> float:
        """The share of rows whose name is known again."""
        return self.undone_rows / self.rows

    def explain(self) -> str:
        """Words for the custodian."""
        return "\n".join(
            [
                NOT_RELEASABLE,
                f"{self.tried:,} candidates were hashed: {self.undone:,} of {self.pseudonyms:,} pseudonyms in "
                f"{self.column} are undone, and with them {100 * self.exact_share:.4g}% of the rows.",
                "A hash hides nothing that can be listed; with a secret key, thrown away afterwards, it would.",
            ]
        )

    def __str__(self) -> str:
        return self.explain()


def exact_pseudonyms(
    table: Described, column: str, candidates: Iterable[str], *, digest: str | Digest = "md5"
) -> Pseudonyms:
    """The pseudonyms of a column that are hashes of candidates: names, numbers of taxis, anything that can be listed.

    `digest` is the name of a hash of `hashlib`, whose hexadecimal text the column holds, or a function of the
    candidate. This is how the taxi drivers of New York were named: 22 million hashes, minutes.

    **Guarantee:** none: exact figures for the custodian, not releasable. **Reference:** Pandurangan 2014.

    >>> import privet as pv
    >>> hashed = [hashlib.md5(each.encode()).hexdigest() for each in ("1A23", "7C11")]
    >>> trips = pv.Table({"medallion": hashed}, columns={"medallion": pv.Text()})
    >>> exact_pseudonyms(trips, "medallion", spellings("9A99")).undone
    2
    """
    groups, counts = exact_cells(table, [column])
    rows = row_count(counts)
    known = {
        str(group[0]).lower(): int(many) for group, many in zip(groups, counts, strict=True) if group[0] is not None
    }
    hashed, tried, found = _digest(digest), 0, set()
    for candidate in candidates:
        tried += 1
        if (name := hashed(candidate)) in known:
            found.add(name)
            if len(found) == len(known):
                break
    return Pseudonyms(column, len(known), len(found), rows, sum(known[name] for name in found), tried)


def _digest(digest: str | Digest) -> Digest:
    if callable(digest):
        return lambda text: str(digest(text)).lower()
    if digest not in hashlib.algorithms_available:
        raise InvalidParameter(
            f"there is no hash {digest!r:.40}; there are {', '.join(sorted(hashlib.algorithms_guaranteed))}"
        )
    return lambda text: hashlib.new(digest, text.encode(), usedforsecurity=False).hexdigest()


def spellings(*patterns: str) -> Iterator[str]:
    """All texts of some patterns: 9 stands for a digit, A and a for letters, h for a hexadecimal digit.

    >>> list(spellings("A9"))[:3], sum(1 for _ in spellings("9A99"))
    (['A0', 'A1', 'A2'], 26000)
    """
    for pattern in patterns:
        for each in product(*(_KINDS.get(sign, sign) for sign in pattern)):
            yield "".join(each)
