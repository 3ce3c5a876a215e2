"""Keys that are found in the data: those whose noisy count reaches a threshold, and that count."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np

from privet import noise
from privet._numerics import Array, round_up
from privet._validate import above, count, instance, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.mechanisms import (
    Anything,
    ErrorBar,
    Example,
    Form,
    ListOf,
    Mechanism,
    Numbers,
    Record,
    Source,
    pure_scale,
    register,
    scale_for,
)
from privet.mechanisms.families.integer import integer_scale
from privet.privacy import ApproxLoss, Composed, DiscreteLaplaceLoss, Guarantee, PrivacyLoss, Promise, Unit, to_replace
from privet.queries.intervals import radius

_LEAST_DELTA = 1e-280  # below, the tail at a threshold nears the end of floats


@final
@register
@dataclass(frozen=True, kw_only=True)
class DiscoveredKeys(Mechanism[Any, dict[str, Any]]):
    """The keys whose count plus discrete Laplace noise is at least `threshold`, with that noisy count.

    `keys` is in how many keys one person may be counted, `rows` how often in each, `total` how often in all (keys times
    rows, unless it is given). The input is a mapping: "keys", a list of keys (texts, numbers, days, or tuples of them),
    each of them once, and "counts", how often each one is there. A key that nobody has can never come out. Keys come out in
    the order of their values: the order in which they were listed would tell what the data are.

    **Guarantee:** that of the noise, and besides the exact chance 1 - (1 - Pr[rows + Z >= threshold])^keys that a key
    which one person alone has is shown. Under replace, a group of two.
    **Sensitivity:** l1, `total`.
    **Error:** of a key before it is selected; those that are shown were selected by their noise.
    **Reference:** Korolova, Kenthapadi, Mishra & Ntoulas 2009; Wilson et al. 2020.
    **Proof:** docs/proofs/queries/discovered_keys.md.

    >>> found = DiscoveredKeys.for_budget(epsilon=1.0, delta=1e-5, keys=1)
    >>> found.threshold, f"{found.chance:.6e}"
    (13, '4.491779e-06')
    """

    name = "discovered_keys"

    scale: float
    threshold: int
    keys: int = 1
    rows: int = 1
    total: int | None = None
    unit: Unit = field(default=Unit())
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, scale=integer_scale("scale", above("scale", self.scale, 0.0)))
        set_frozen(self, keys=count("keys", self.keys, 1), rows=count("rows", self.rows, 1))
        set_frozen(self, threshold=count("threshold", self.threshold, 1))
        total = self.keys * self.rows if self.total is None else count("total", self.total, 1)
        set_frozen(self, total=total)
        if total > self.keys * self.rows:
            raise InvalidParameter("total must be at most keys times rows: one person cannot be counted more often")
        instance("unit", self.unit, Unit)
        if self.threshold < self.rows:
            raise InvalidParameter("the threshold must be at least what one person adds to a key")
        if self.at is not None:
            set_frozen(self, at=open_fraction("at", self.at))
        if self.unit.group_size != 1 or self.unit.relation == "zero_out":
            raise InvalidParameter("keys are discovered for one row or person that is added, removed or replaced")

    @property
    def chance(self) -> float:
        """The largest chance that a key which one person alone has is shown, rounded up."""
        return chance_shown(self.scale, self.threshold, self.keys, self.rows, self.total)

    @property
    def loss(self) -> PrivacyLoss:
        plain = Unit(person=self.unit.person)
        assert self.total is not None
        price = Composed(
            (
                DiscreteLaplaceLoss(self.scale, self.total, unit=plain),
                ApproxLoss(0.0, self.chance, unit=plain),
            )
        )
        return price if self.unit.relation == "add_remove" else to_replace(price)

    @classmethod
    def for_budget(
        cls,
        *,
        keys: int = 1,
        rows: int = 1,
        total: int | None = None,
        unit: Unit | None = None,
        **promise: Unpack[Promise],
    ) -> "DiscoveredKeys":
        """The noise of the whole epsilon, and the smallest threshold of the whole delta."""
        target, about = Guarantee(**promise), Unit() if unit is None else instance("unit", unit, Unit)
        if target.epsilon is None or target.delta == 0.0:
            raise NoGuarantee(
                "discovering keys shows who is there with some probability: give an epsilon and a delta > 0"
            )
        epsilon, delta = target.epsilon, target.delta
        if delta < _LEAST_DELTA:
            raise NoGuarantee(f"a delta below {_LEAST_DELTA:g} is too small to be told from 0: give a larger one")
        if about.relation == "replace":
            epsilon /= 2.0
            delta = delta / (1.0 + math.exp(epsilon)) * (1.0 - 2.0**-40)
        most = count("keys", keys, 1) * count("rows", rows, 1)
        moved = Fraction(most if total is None else count("total", total, 1))
        scale = pure_scale(scale_for(1.0 / epsilon, moved), moved, Guarantee(epsilon))
        threshold = _least_threshold(scale, delta, keys, rows, int(moved))
        return cls(
            scale=scale, threshold=threshold, keys=keys, rows=rows, total=int(moved), unit=about, at=target.delta
        )

    @property
    def form(self) -> Form:
        return Record({"counts": Numbers(), "keys": ListOf(Anything())})

    def _admit(self, value: object) -> None:
        if not isinstance(value, dict) or set(value) != {"keys", "counts"}:
            raise InvalidData('the input must be a mapping with "keys" and "counts"')
        if not isinstance(value["counts"], np.ndarray) or value["counts"].dtype.kind not in "iu":
            raise InvalidData("the counts must be an array of whole numbers")
        if len(value["keys"]) != len(value["counts"]):
            raise InvalidData("every key needs a count")
        if len({_order(key) for key in value["keys"]}) != len(value["keys"]):
            raise InvalidData("a key is listed twice: list each one once, with how often it is there in all")

    def _prepare(self, value: Any) -> Any:
        listed, counts = list(value["keys"]), np.asarray(value["counts"], dtype=np.int64)
        there = np.flatnonzero(counts > 0).tolist()  # a key that nobody has is no key of the data
        there.sort(key=lambda place: _order(listed[place]))
        return tuple(listed[place] for place in there), np.minimum(counts[there], 2**61)

    def _draw(self, prepared: Any, runs: int, source: Source) -> list[dict[str, Any]]:
        keys, counts = prepared
        drawn = np.asarray(noise.discrete_laplace(scale=Fraction(self.scale), size=(runs, len(keys)), source=source))
        return [self._shown(keys, counts + each) for each in drawn]

    def _shown(self, keys: tuple[Any, ...], noisy: Array) -> dict[str, Any]:
        passed = np.flatnonzero(noisy >= self.threshold)
        return {"keys": [keys[i] for i in passed], "counts": noisy[passed]}

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """Of the count of one key before it is selected."""
        level = open_fraction("confidence", confidence)
        return ErrorBar(radius("laplace", self.scale, (1.0,), level), level, "a count before selection", around=False)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        one = cls.for_budget(epsilon=1.0, delta=0.05, keys=1)
        left: dict[str, Any] = {"keys": ["a", "b"], "counts": np.array([4, 1])}
        right: dict[str, Any] = {"keys": ["a"], "counts": np.array([4])}
        yield Example(one, left, right, lengths="protected")  # often shown, so that an audit sees the chance
        far = cls.for_budget(epsilon=1.0, delta=1e-6, keys=2)
        more, less = (
            {"keys": ["a", "b"], "counts": np.array([64, 30])},
            {"keys": ["a", "b"], "counts": np.array([63, 29])},
        )
        yield Example(far, more, less, Guarantee(1.0, 1e-6), lengths="protected")


def _order(key: object) -> tuple[Any, ...]:
    """The place of a key among others, by its value alone: numbers, days, texts by their bytes, what is missing last."""
    if isinstance(key, tuple | list):
        return tuple(map(_order, key))
    plain = key.item() if isinstance(key, np.generic) else key
    if plain is None:
        return (5,)
    if isinstance(plain, bool | int | float):
        return (0, plain) if plain == plain else (1,)
    if isinstance(plain, date):
        return (2, plain.isoformat())
    if isinstance(plain, str):
        return (3, plain.encode("utf-8", "surrogatepass"))
    if isinstance(plain, bytes):
        return (4, plain)
    raise InvalidData(f"keys must be texts, numbers, days, or tuples of them, got {type(key).__name__}")


def chance_shown(scale: float, threshold: int, keys: int, rows: int, total: int | None = None) -> float:
    """1 - (1 - Pr[rows + Z >= threshold])^keys, rounded up. Where one person is counted at most `total` times, the largest
    over all ways to share these out: as many keys as possible with all `rows`, one with the rest, the others with one.

    >>> f"{chance_shown(5.0, 64, 5, 1):.6e}"
    '9.270209e-06'
    """

    def hidden(often: int) -> float:  # the logarithm of the chance that a key with so many is not shown
        shown = math.exp(-(threshold - often) / scale) / (1.0 + math.exp(-1.0 / scale))
        return math.log1p(-shown) if shown < 1.0 else -math.inf  # hardly any noise, and a threshold of one person

    if total is None or total == keys * rows or rows == 1:
        least = (keys if total is None else min(keys, total)) * hidden(rows)
    else:
        least = 0.0
        for many in range(1, min(keys, total) + 1):
            full, rest = divmod(min(total, many * rows) - many, rows - 1)
            shares = ((rows, full), (1 + rest, 1 if rest else 0), (1, many - full - (rest > 0)))
            least = min(least, sum(hidden(often) * keys_ for often, keys_ in shares if keys_))
    return round_up(-math.expm1(least), 64.0)


def _least_threshold(scale: float, delta: float, keys: int, rows: int, total: int) -> int:
    each = -math.expm1(math.log1p(-delta) / keys)
    high = rows + math.ceil(-scale * (math.log(each) + math.log1p(math.exp(-1.0 / scale))))
    high = max(high - 2, rows)
    while chance_shown(scale, high, keys, rows) > delta:
        high += 1
    low = rows - 1  # not enough, or not allowed
    if total == keys * rows:
        low = max(low, high - 4)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_shown(scale, middle, keys, rows, total) <= delta else (middle, high)
    return high
