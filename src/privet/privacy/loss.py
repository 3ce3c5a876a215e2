"""`PrivacyLoss`: what one release costs, as a frozen value that needs no data and no randomness."""

import json
import math
from abc import ABC
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from privet._cache import kept_property
from privet._markup import facts, formatted
from privet._numerics import LARGEST_EXPONENT, UNIT_ROUNDOFF, Array, exp_capped, ndtri, plain, square_up
from privet.errors import InvalidParameter, MixedUnits, NoGuarantee
from privet.privacy.binary import binary_rdp, binary_variable
from privet.privacy.renyi import renyi_of_variable
from privet.privacy.unit import Unit, a_unit
from privet.privacy.variable import DIRECTIONS, Direction, LossVariable


class Approximate(NamedTuple):
    """An (epsilon, delta) statement."""

    epsilon: float
    delta: float


class RdpCurve(NamedTuple):
    """Rényi divergence bounds at the orders asked for; they hold outside an event of probability `delta0`."""

    values: Array
    delta0: float


class ZcdpBound(NamedTuple):
    """rho-zCDP outside an event of probability `delta0`."""

    rho: float
    delta0: float


class Blanket(NamedTuple):
    """The cover that reports of others give, at several epsilons >= 0 (the privacy blanket of Balle et al. 2019).

    For a randomiser whose output y has the probability K_x(y) at input x: b(y) = min over x of K_x(y), gamma = e^epsilon,
    e0 = e^pure(). Stated is a law larger in convex order than (K_x - gamma K_x')/b under b, and 0 with what b lacks to 1:
    the value e0 - gamma with probability `plus`, 1 - gamma e0 with `minus`, 1 - gamma with `level`, else 0.
    """

    plus: Array
    minus: Array
    level: float


@dataclass(frozen=True, eq=False)
class PrivacyLoss(ABC):  # noqa: B024 - every question has a safe default
    """The price of a release: a frozen, hashable, serialisable value that answers questions.

    Each question has a safe default derived from the others, so a new kind overrides only what it knows better.
    An answer of infinity means "no such guarantee is known", never "free".

    **Guarantee:** `pure`, `approximate`, `zcdp`, `gdp` and `rdp` are upper bounds on the true cost of every mechanism with
    this price, for the neighbouring relation `unit`; `profile` is the curve up to rounding (`variable.enclose` certifies
    it). **Sensitivity:** scales are in units of the sensitivity under that relation. **Reference:** Zhu, Dong & Wang 2022
    for dominating pairs as a common language.

    >>> from privet import privacy
    >>> privacy.LaplaceLoss(scale=2.0).pure()
    0.5
    """

    kind: ClassVar[str] = ""
    exact: ClassVar[bool] = False  # is the pair of `variable` attained by a mechanism that has this price?

    attained_by_groups: ClassVar[bool] = True  # does `grouped` keep the pair attained?
    attained_by_exchange: ClassVar[bool] = False  # does `exchanged`?

    on_a_line: ClassVar[bool] = False  # is it log-concave noise on an integer, so that groups are ordered alike?

    silent_fields: ClassVar[tuple[str, ...]] = ()  # parameters that do not change the pair of `variable`

    unit: Unit = field(default=Unit(), kw_only=True)

    def pure(self) -> float:
        """Smallest epsilon known with delta = 0 (infinity when there is none)."""
        return math.inf

    def approximate(self) -> Approximate:
        """One (epsilon, delta) statement for the classical composition theorems."""
        return Approximate(self.pure(), 0.0)

    def known_only_as(self) -> Approximate | None:
        """The (epsilon, delta) statement if it is all that this price says: its pair is the worst with that statement.

        Then the theorem on optimal composition (Kairouz, Oh & Viswanath 2015) is exact for equal parts. None where the pair
        is better than that.
        """
        return None

    def zcdp(self) -> ZcdpBound:
        """Zero-concentrated DP: Rényi divergence of order a at most rho * a, for all a > 1.

        Pure epsilon gives epsilon^2 / 2 (Bun & Steinke 2016, proposition 3.3).
        """
        epsilon, delta = self.approximate()
        return ZcdpBound(square_up(epsilon) / 2.0, delta)

    def gdp(self) -> float:
        """mu such that the trade-off curve is nowhere below that of N(0, 1) against N(mu, 1).

        Default from pure DP: the corner of the randomized-response curve lies on the curve of this mu, and a chord of a
        convex curve lies above it.
        """
        epsilon = self.pure()
        if epsilon < 1e-6:  # the quantile near 1/2, expanded: mu = epsilon sqrt(2 pi)/2, and a little more
            return epsilon * math.sqrt(math.pi / 2.0) * (1.0 + 1e-9)
        return math.inf if epsilon > LARGEST_EXPONENT else -2.0 * ndtri(1.0 / (1.0 + math.exp(epsilon))) * (1.0 + 1e-9)

    def gaussian(self) -> float | None:
        """mu when the worst pair is exactly that of two unit normals mu apart, else None."""
        return None

    def rdp(self, alphas: Array) -> RdpCurve:
        """Rényi divergence bound, the larger of both directions, at each order in `alphas` (all > 1)."""
        orders = orders_of(alphas)
        epsilon, delta = self.approximate()
        rho = self.zcdp()
        lines = np.full(orders.shape, math.inf)
        if math.isfinite(rho.rho):
            lines = orders * rho.rho * (1.0 + 4.0 * UNIT_ROUNDOFF)
        if rho.delta0 != delta:  # never mix statements that set different events aside
            return RdpCurve(lines, rho.delta0)
        if delta == 0.0 and 0.0 < epsilon < math.inf:  # a bounded loss: read the divergence off the pair itself
            one, other = (self.variable(direction) for direction in DIRECTIONS)
            most = renyi_of_variable(one, orders)
            if other is not one:  # many a pair is its own mirror image, and one object
                most = np.maximum(most, renyi_of_variable(other, orders))
            lines = np.minimum(lines, most)
        return RdpCurve(np.minimum(binary_rdp(epsilon, orders), lines), delta)

    def variable(self, direction: Direction) -> LossVariable:
        """The privacy-loss random variable of the worst pair, in one direction."""
        epsilon, delta = self.approximate()
        if not math.isfinite(epsilon) or delta >= 1.0:
            raise NoGuarantee(f"no pair of distributions is known for the loss {self.kind!r}; ask for rdp() or zcdp()")
        return binary_variable(epsilon, delta)

    def profile(self, epsilon: Array | float, direction: Direction | None = None) -> Array:
        """delta(epsilon): hockey-stick divergence for one direction, or the larger of both."""
        at = real_numbers("epsilon", epsilon)
        if direction is not None:
            if direction not in DIRECTIONS:
                raise InvalidParameter(f"direction must be one of {', '.join(DIRECTIONS)}, got {direction!r:.40}")
            return self.variable(direction).delta(at)
        return np.maximum(self.variable("remove").delta(at), self.variable("add").delta(at))

    def grouped(self, size: int) -> "PrivacyLoss | None":
        """The loss for `size` records at once when it has a closed form of the same family (same unit), else None."""
        return None

    def exchanged(self, size: int) -> "PrivacyLoss | None":
        """The loss when `size` records leave and as many others join at once (closed form, same unit), else None.

        One after the other is a group of twice the size; for a sampled release the pair is another one.
        """
        return self.grouped(2 * size)

    def blanket(self, epsilons: Array) -> Blanket:
        """The cover of a report with this price among shuffled ones of the same randomiser, at epsilons in [0, pure()).

        Default, from the pure statement and the profile: three values; its mean, its ends and the mean of its positive part
        fix it. Where the profile is that of all epsilon-DP mechanisms, plus = minus = 1/(e0 + 1).
        """
        e0, gamma = exp_capped(self.pure()), np.exp(epsilons)
        delta = (e0 - gamma) / (e0 + 1.0)
        if self.known_only_as() is None:
            pair = [self.variable(direction) for direction in DIRECTIONS]
            delta = np.minimum(delta, [max(side.enclose(float(at))[1] for side in pair) for at in epsilons])
        return Blanket(delta / (e0 - gamma), (delta + gamma - 1.0) / (gamma * e0 - 1.0), 0.0)

    def response(self) -> tuple[int, float] | None:
        """(k, epsilon) of a k-ary randomized response that has this price, if one is known: lower ends speak of it."""
        return None

    def attained(self) -> "PrivacyLoss | None":
        """A loss with an exact pair that some mechanism with this price shows: what a lower end may speak of, if known."""
        return self if self.exact else None

    def parts(self) -> "tuple[tuple[PrivacyLoss, int], ...]":
        """Independent parts with their counts. Only the combinators override this."""
        return ((self, 1),)

    def stated_orders(self) -> tuple[float, ...]:
        """Rényi orders at which the curve was given as numbers: beyond the last nothing is known, so it is tried itself."""
        return ()

    def alternatives(self) -> "tuple[PrivacyLoss, ...]":
        """Losses of which this one is the worst: only `Parallel` has several."""
        return (self,)

    @classmethod
    def examples(cls) -> "Iterable[PrivacyLoss]":
        """Small instances of this kind, an awkward one among them: every law runs over them."""
        return ()

    # --- words ---------------------------------------------------------------------------------------------------------

    @final
    def describe(self) -> str:
        """The price in one line: its parts with their counts.

        >>> from privet import privacy
        >>> privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000).describe()
        '10,000 × gaussian (noise multiplier 4) on a Poisson sample of 1%'
        >>> print(privacy.Grouped(privacy.PoissonSampled(privacy.LaplaceLoss(2.0), q=0.5), 3))
        laplace (scale 2) on a Poisson sample of 50%, for a group of 3
        """
        parts = self.parts()
        if len(parts) == 1 and parts[0][1] == 1:
            return parts[0][0]._words()
        listed = [f"{times:,} × {part._words()}" for part, times in parts]
        return " + ".join(listed) if listed else "nothing at all"

    def _words(self) -> str:
        """A single price in words: the kind and its numbers. Combinators name what they hold."""
        shown = [
            f"{name.replace('_', ' ')} {value if isinstance(value, str) else plain(float(value))}"
            for name, value in self.body().items()
            if isinstance(value, int | float | str) and not isinstance(value, bool)
        ]
        name = self.kind.replace("_", " ")
        return f"{name} ({', '.join(shown)})" if shown else name

    def _as_a_whole(self) -> str:
        """The description, in brackets where more words follow that speak of all its parts."""
        parts = self.parts()
        return self.describe() if len(parts) == 1 and parts[0][1] == 1 else f"({self.describe()})"

    @final
    def __str__(self) -> str:
        return self.describe()

    @final
    def __format__(self, spec: str) -> str:
        return formatted(self, spec)

    def _repr_html_(self) -> str:
        pure, mu = self.pure(), self.gaussian()
        told = ([("epsilon", plain(pure))] if math.isfinite(pure) else []) + ([("mu (GDP)", plain(mu))] if mu else [])
        return facts("Price", [("release", self.describe()), *told, ("one person", self.unit.describe())])

    def __post_init__(self) -> None:
        """Refuses what is no unit. A kind that cleans fields of its own calls this first."""
        a_unit(self.unit)

    def _about(self, unit: Unit) -> Unit:
        """The unit of a price made of parts: theirs. Another one that was given is refused; None stands for none given."""
        if self.unit is not None and a_unit(self.unit) != unit:
            raise MixedUnits(f"{type(self).__name__} speaks about {unit.describe()}, not {self.unit.describe()}")
        return unit

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        if "__repr__" not in vars(cls):  # before `dataclass` writes one that spells out every unit
            cls.__repr__ = PrivacyLoss.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """The call that builds it: the unit is said where it is not the usual one."""
        usual = {"unit": Unit(), **{f.name: f.default for f in fields(self) if f.name in _told_by_unit(type(self))}}
        told = [f for f in fields(self) if f.name not in usual or getattr(self, f.name) != usual[f.name]]
        return f"{type(self).__name__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in told)})"

    # --- value semantics -------------------------------------------------------------------------------------------

    def body(self) -> dict[str, Any]:
        """The fields as plain JSON values, without kind and unit, and without what the unit says already."""
        silent = ("unit", *_told_by_unit(type(self)))
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.name not in silent}

    @classmethod
    def from_body(cls, body: dict[str, Any], unit: Unit) -> Self:
        """The price with the fields that `body()` wrote; a field that is missing takes its default (the old meaning)."""
        told = {name: says(unit) for name, says in _told_by_unit(cls).items()}
        return cls(**{**told, **body}, unit=unit)

    def to_dict(self) -> dict[str, Any]:
        """The normal form as a plain dictionary: kind, unit and fields.

        Whatever consists of parts is written as its parts, in the order of `parts()`, with their counts; a single part once
        is that part.
        """
        parts = self.parts()
        head = {"unit": self.unit.to_dict()}
        if len(parts) == 1:
            part, times = parts[0]
            if part is self:
                return {"kind": self.kind, **head, **self.body()}
            return part.to_dict() if times == 1 else {"kind": "repeated", **head, "of": part.to_dict(), "times": times}
        return {"kind": "composed", **head, "parts": [{"of": part.to_dict(), "times": n} for part, n in parts]}

    def simplest(self) -> "PrivacyLoss":
        """The single part that this price is, if it is one; else itself."""
        parts = self.parts()
        return parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else self

    @kept_property
    def key(self) -> str:
        """Canonical text: equal losses have equal keys, whatever the order and nesting they were built in."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivacyLoss) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _told_by_unit(cls: type[PrivacyLoss]) -> dict[str, Callable[[Unit], object]]:
    """Fields that repeat what the unit says: a caller must say them, a stored price need not."""
    return {f.name: f.metadata["told_by_unit"] for f in fields(cls) if "told_by_unit" in f.metadata}


def real_numbers(name: str, values: object) -> Array:
    """Numbers as an array of floats; texts, truth values, NaN and other things are refused.

    >>> real_numbers("epsilon", [0, 0.5]).tolist()
    [0.0, 0.5]
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        array = values.astype(float, copy=False)
    else:
        array = _floats(name, values)
    if np.isnan(array).any():
        raise InvalidParameter(f"{name} must not be NaN")
    return array


def _floats(name: str, values: object) -> Array:
    flat = np.asarray(values, dtype=object)
    for value in flat.ravel():
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
            raise InvalidParameter(f"{name} must be a real number or an array of them, got {type(value).__name__}")
    try:
        return flat.astype(float)
    except (OverflowError, ValueError):
        raise InvalidParameter(f"{name} is too large for a float") from None


def orders_of(alphas: object) -> Array:
    """Rényi orders as an array: real numbers above 1.

    >>> orders_of([1.5, 2]).tolist()
    [1.5, 2.0]
    """
    if isinstance(alphas, np.ndarray) and alphas.dtype == np.float64:
        if alphas.size == 1 and 1.0 < alphas.item() < math.inf:  # a search asks for one order after another
            return alphas
        orders: Array = alphas
    else:
        orders = real_numbers("alphas", alphas)
    if not ((orders > 1.0) & (orders < np.inf)).all():  # NaN is neither
        real_numbers("alphas", orders)
        raise InvalidParameter("alphas must be finite orders greater than 1")
    return orders


def best_zcdp(*bounds: ZcdpBound) -> ZcdpBound:
    """The statement to keep of several: finite, then with the least failure probability, then with the least rho.

    >>> best_zcdp(ZcdpBound(0.1, 1e-6), ZcdpBound(0.2, 0.0))
    ZcdpBound(rho=0.2, delta0=0.0)
    """
    return min(bounds, key=lambda bound: (not math.isfinite(bound.rho), bound.delta0, bound.rho))


def _plain(value: object) -> object:
    """JSON form of a field: infinity as text, tuples as lists, nested losses as dictionaries, rationals as 'p/q'."""
    if isinstance(value, PrivacyLoss):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if math.isnan(value) or value == -math.inf:
            raise InvalidParameter("a loss cannot hold NaN or minus infinity")
        return "inf" if value == math.inf else value
    if value is None or isinstance(value, (int, str)):
        return value
    if hasattr(value, "numerator") and hasattr(value, "denominator"):
        return f"{value.numerator}/{value.denominator}"
    raise InvalidParameter(f"a loss cannot hold a {type(value).__name__}")
