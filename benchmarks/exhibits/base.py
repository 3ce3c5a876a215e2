"""What an exhibit is: a mechanism of another library, how it is called, and the price it claims."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from privet import privacy

REPLACE = privacy.Unit("replace")
Law = Mapping[Any, float]


@dataclass(frozen=True)
class Exhibit:
    """One mechanism of a peer, and what it promises.

    `run` maps an input to an output; `laws` are the exact output laws on the first pair (or of something computed from
    the output, which can only look more private); `share` is the part of the usual number of runs that a slow mechanism
    gets, or the multiple that a quick one can afford.
    """

    name: str
    run: Any
    claim: privacy.PrivacyLoss
    pairs: list[tuple[Any, Any]]
    call: str
    laws: Callable[[], tuple[Law, Law]] | None = None
    note: str = ""
    share: float = 1.0


class Bulk:
    """A mechanism that releases many times in one call, so that the referee need not call it one by one."""

    def __init__(self, many: Callable[[Any, int], Any]) -> None:
        self.many = many

    def __call__(self, value: Any) -> Any:
        return self.many(value, 1)[0]

    def simulate(self, value: Any, runs: int) -> Any:
        return self.many(value, runs)


def geometric_law(epsilon: float, reach: int) -> dict[int, float]:
    """Two-sided geometric noise; what lies beyond the reach is put on its ends."""
    a = math.exp(-epsilon)
    law = {k: (1.0 - a) / (1.0 + a) * a ** abs(k) for k in range(-reach, reach + 1)}
    law[reach] = law[-reach] = a**reach / (1.0 + a)
    return law


def pushed(law: Law, function: Callable[[Any], Any]) -> Law:
    """The law of a function of the outcome. A function of unbounded noise must merge its tails: they were cut."""
    image: dict[Any, float] = {}
    for outcome, mass in law.items():
        image[function(outcome)] = image.get(function(outcome), 0.0) + mass
    return image


def supported(answer: int, seed: int, buckets: int) -> list[bool]:
    """Which of the values 0 and 1 a report of local hashing speaks for: all that it can tell about them."""
    import xxhash

    return [xxhash.xxh32(str(value), seed=int(seed)).intdigest() % buckets == answer for value in (0, 1)]
