"""The shuffle model: reports of many people, of which nobody knows whose is whose."""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet._numerics import Array, exp_capped
from privet._validate import count, flag, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.curve import variable_of_symmetric_curve
from privet.privacy.families.crowd import Crowd, Laws
from privet.privacy.families.crowd_below import mirrored, shown_by_counts, shown_by_sum
from privet.privacy.families.crowd_table import curve_above, pair_below
from privet.privacy.families.sampling import OF_COIN, Coin, of_one_record
from privet.privacy.loss import Blanket, PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import DIRECTIONS, Direction, LossVariable

_MOST_PEOPLE = 10**9  # counts stay exact in floats; a larger crowd may state this one
# Between these a crowd is counted. Beyond 12 differences of curves that fall like e^-epsilon lose their digits, and nobody
# hides; below 1e-5 they do as well, and a report costs next to nothing by itself. There the price is that of one report.
_LEAST_EPSILON, _MOST_EPSILON = 1e-5, 12.0
_LEAST = 1e-16  # below this delta the curve goes straight to its end
_OF_MANY = ("parallel", "fixed_sampled", "with_replacement_sampled", "shuffled")  # prices of more than one report


@register
@dataclass(frozen=True, eq=False)
class Shuffled(PrivacyLoss):
    """n people send one report each, of price `of`, and only the reports without their order are seen.

    All use the same randomiser. Randomisers that differ hide nobody where everybody keeps an own one: a report then says
    whose it is, and its price stays `of`. `dealt=True` prices the one way that works: the n randomisers are dealt out at
    random, and nobody sees who got which. `of` is the price of one report as it leaves a device; whoever sees reports
    before they are shuffled (the shuffler itself) is covered by that price, not by this.

    **Guarantee:** E[(zeta_1 + ... + zeta_n)_+]/n at every epsilon, zeta the `blanket` of `of`: for a report that is only
    known to be epsilon0-DP the stronger clone bound with 2/(e^epsilon0 + 1); for k-ary randomized response the privacy
    blanket itself. Randomisers dealt out: the clone bound with e^-epsilon0. **Sensitivity:** relation replace; n is public.
    **Error:** the lower end (`attained`) is the exact law of one data set.
    **Reference:** Balle, Bell, Gascón & Nissim 2019; Feldman, McMillan & Talwar 2021 and 2023.
    **Proof:** docs/proofs/privacy/shuffled.md.

    >>> from privet import accounting, privacy
    >>> crowd = Shuffled(privacy.KRRLoss(k=10, epsilon=2.0), n=10_000)
    >>> accounting.epsilon(crowd, delta=1e-6).upper < 0.0799
    True
    """

    kind = "shuffled"

    @property
    def silent_fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """Where nobody hides among others it does not matter how randomisers are dealt out."""
        return () if self._hides else ("dealt",)

    of: PrivacyLoss
    n: int
    dealt: bool = False
    coin: Coin = field(default="record", kw_only=True, metadata=OF_COIN)
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the report

    def _words(self) -> str:
        dealt = " of randomisers that are dealt out at random" if self.dealt else ""
        return f"{self.of._as_a_whole()}, shuffled among {self.n:,} reports{dealt}"

    def __post_init__(self) -> None:
        inner = of_one_record(self.of, relation="replace", name="shuffling", coin=self.coin)
        people = count("n", self.n, 1)
        if people > _MOST_PEOPLE:
            raise InvalidParameter(
                f"n must be at most {_MOST_PEOPLE:,}, got {people}; state that number, which is no cheaper"
            )
        if any(part.kind in _OF_MANY for part, _ in inner.parts()):
            raise InvalidParameter("of must be the price of one person's report, not of a release about many")
        if not math.isfinite(inner.pure()):
            raise InvalidParameter(
                "shuffling is priced for reports with a pure epsilon; this price has none. A local report with a delta "
                "fails for somebody among n people n times as often: price the report without it"
            )
        set_frozen(self, of=inner, n=people, dealt=flag("dealt", self.dealt), unit=self._about(inner.unit))

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        return self.of.parts() if self.n == 1 or not self.of.parts() else ((self, 1),)

    def pure(self) -> float:
        return self.of.pure()

    def attained(self) -> PrivacyLoss | None:
        """The epsilon that answers of people who all hold one value show about a person who may hold another."""
        known = self.of.response()
        if known is None or not self._hides:
            return None
        return _ShownByCrowd(*known, self.n, unit=self.unit)

    @property
    def _hides(self) -> bool:
        return self.n > 1 and _LEAST_EPSILON <= self.of.pure() <= _MOST_EPSILON

    def variable(self, direction: Direction) -> LossVariable:
        return _hidden(self) if self._hides else self.of.variable(direction)

    def upper_delta(self, epsilons: Array) -> Array:
        """The bound on delta at each epsilon in [0, pure()), rounded up."""
        e0, gamma = exp_capped(self.of.pure()) * (1.0 + 1e-15), np.exp(epsilons)
        up, down = e0 - gamma, gamma * e0 - 1.0
        if self.dealt:
            each = np.full(len(gamma), 1.0 / (e0 + 1.0))
            return Crowd(self.n - 1, 1.0 / e0).mean_excess(Laws(up, down, each, each, 1.0 / e0))
        found = self.of.blanket(epsilons)
        if found.level > 0.0:
            ends = float(found.plus[0] + found.minus[0])
            crowd = Crowd(self.n - 1, ends, found.level)
            return crowd.mean_excess(Laws(up, down, found.plus, found.minus, ends, gamma - 1.0, found.level))
        return self._by_runs(found, up, down, gamma)

    def _by_runs(self, found: Blanket, up: Array, down: Array, gamma: Array) -> Array:
        """A run of neighbouring epsilons shares the largest probability of the ends: more of both is larger in convex
        order, and the mean 1 - gamma stays."""
        ends = found.plus + found.minus
        runs = (
            [np.arange(len(gamma))]
            if np.ptp(ends) < 1e-12
            else np.array_split(np.arange(len(gamma)), _runs(len(gamma)))
        )
        deltas = []
        for run in runs:
            most = min(1.0, float(ends[run].max()))
            plus = (most * down[run] + 1.0 - gamma[run]) / (up[run] + down[run])
            laws = Laws(up[run], down[run], plus, most - plus, most)
            deltas.append(Crowd(self.n - 1, most).mean_excess(laws))
        return np.concatenate(deltas)


def _runs(nodes: int) -> int:
    return max(1, nodes // 8)


@dataclass(frozen=True, eq=False)
class _ShownByCrowd(PrivacyLoss):
    """The exact law of the shuffled answers for one data set: it answers for lower ends and has no JSON form."""

    kind = "shuffled_from_below"
    exact = True

    k: int
    epsilon: float
    n: int

    def variable(self, direction: Direction) -> LossVariable:
        shown = _shown(self.k, self.epsilon, self.n)
        return shown if direction == "remove" else shown.reversed()


@lru_cache(maxsize=32)
def _shown(k: int, epsilon: float, n: int) -> LossVariable:
    if k == 2:
        return shown_by_sum(epsilon, n)
    table = pair_below(k, epsilon, n)
    if table is not None:
        return mirrored(*table)
    e0 = exp_capped(epsilon)
    top = min(epsilon, 10.0 * (e0 - 1.0) * math.sqrt(2.0 / (e0 + k - 1.0) / n) + 40.0 * e0 / n)
    return shown_by_counts(k, epsilon, n, np.linspace(0.0, top, 1501))


@lru_cache(maxsize=32)
def _hidden(loss: Shuffled) -> LossVariable:
    """A pair above the shuffled one in both directions: the connected dots of the bound, and never more than without
    shuffling."""
    whole = loss.of.pure()
    nodes, bound = _at_once(loss) or _one_by_one(loss, whole)
    own = [loss.of.variable(direction).delta(nodes) for direction in DIRECTIONS]
    deltas = np.minimum(bound, np.maximum(*own) * (1.0 + 1e-9) + 1e-13)
    return variable_of_symmetric_curve(np.append(nodes, whole * (1.0 + 1e-15)), np.append(deltas, 0.0))


def _at_once(loss: Shuffled) -> tuple[Array, Array] | None:
    """Epsilons and bounds from one table, where the crowd is large and the cover the same at every epsilon."""
    e0, start = exp_capped(loss.of.pure()) * (1.0 + 1e-15), loss.of.blanket(np.array([0.0, loss.of.pure() / 2.0]))
    if loss.dealt:
        return curve_above(loss.n, e0, 2.0 / (e0 + 1.0), 1.0 / e0, 0.0)
    if not _is_even(start):
        return None
    ends = float(start.plus[0] + start.minus[0])
    found = curve_above(loss.n, e0, ends, ends, start.level)
    return found if found is not None and _is_even(loss.of.blanket(found[0])) else None


def _is_even(cover: Blanket) -> bool:
    """Both ends with one probability at all of these epsilons, up to rounding."""
    each = np.concatenate((cover.plus, cover.minus))
    return float(np.ptp(each)) <= 1e-12 * float(each[0])


def _one_by_one(loss: Shuffled, whole: float) -> tuple[Array, Array]:
    nodes = _nodes(loss, whole)
    return nodes, loss.upper_delta(nodes)


def _nodes(loss: Shuffled, whole: float) -> Array:
    """Epsilons in [0, pure()), dense where the bound falls from 0.1 to 1e-10, and evenly in its logarithm.

    Beyond the last the curve goes straight to 0 at pure().
    """
    last, e0, start = whole * (1.0 - 1e-9), exp_capped(whole), loss.of.blanket(np.zeros(1))
    top = min(last, 8.0 * (e0 - 1.0) * math.sqrt(float(start.plus[0] + start.minus[0]) / loss.n))
    while True:
        rough = np.linspace(0.0, top, 65)
        logs = np.log(loss.upper_delta(rough))
        if top == last or logs[-1] < math.log(_LEAST):
            break
        top = min(last, 1.5 * top)
    falls = np.minimum.accumulate(logs)
    ends = (falls[0], math.log(0.1), math.log(1e-10), math.log(_LEAST))
    wanted = np.concatenate([np.linspace(ends[i], ends[i + 1], many) for i, many in enumerate((40, 600, 100))])
    return np.unique(np.concatenate((rough, np.interp(-wanted, -falls, rough))))
