"""The plan of a training run: sampler, clip, noise, unit and price, which cannot disagree: one follows from the other."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from privet._cache import kept_property
from privet._calls import door
from privet._markup import Shown
from privet._validate import above, count, flag, instance, open_fraction, set_frozen
from privet.accounting import Bound, Rung, calibrate, dp_sgd_ladder, epsilon as epsilon_of
from privet.deep.clipping import AdaptiveQuantile, Clip, Flat, clip_from_dict
from privet.deep.engines.engine import Engine
from privet.deep.engines.make import make_engine
from privet.deep.own_loop import Steps
from privet.deep.sampling import Poisson, Sampling, sampling_from_dict
from privet.deep.step_noise import StepNoise
from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms import Geometric
from privet.privacy import Composed, PrivacyLoss, Repeated, Unit, as_unit

if TYPE_CHECKING:
    from privet.ledger import Ledger

_SHARE = 0.01  # of epsilon, for the noisy number of records where no expected batch is given
_FEWEST, _MOST, _BLOCKS = 20, 500, 40  # steps of a block: a durable mark takes as long as a few steps; blocks of a run
_WIDEST = 2**53  # records, the upper bound of their noisy number: doubles count exactly up to here


@door
@final
@dataclass(frozen=True, init=False)
class Plan(Shown):
    """A training run in public numbers: what it promises, how many steps it has, who takes part in each, and how far one
    record moves a sum.

    Give `epsilon` (the least noise that keeps the promise is then found) or `noise_multiplier`, the standard deviation of
    the noise over the clip; with both, the noise has to keep the promise. `expected_batch` is the constant by which every
    sum is divided, never the number of records that were drawn. Without it, and where the number of records is not public,
    the run begins with a noisy count of them, for `count_epsilon` (1% of epsilon).

    With `strict` each clipped record is put on the grid of the noise by itself, one pass a record, and sums are exact: then
    the sensitivity is proved to the last bit. Without it sums are those of float32 (`accumulation` says what that adds).

    **Guarantee:** `loss`, the composition of `blocks`; at `delta` at most `epsilon`, where that was asked for.
    **Sensitivity:** `clip_norm` for a record that is added, removed or nulled, twice that for one that is replaced.
    **Reference:** Abadi et al. 2016; docs/proofs/deep/sampling.md.

    >>> from privet.deep import Plan, Poisson
    >>> plan = Plan(epsilon=3.0, delta=1e-5, steps=2000, sampling=Poisson(q=0.01), clip_norm=1.0, expected_batch=600)
    >>> round(plan.noise_multiplier, 3), plan.at, len(plan.blocks)
    (0.93, 1e-05, 40)
    """

    total_steps: int
    delta: float
    sampling: Sampling
    epsilon: float | None
    noise_multiplier: float
    clip: Clip
    unit: Unit
    expected_batch: float | None
    count_epsilon: float | None
    strict: bool

    def __init__(
        self,
        *,
        delta: float,
        steps: int,
        sampling: Sampling,
        epsilon: float | None = None,
        noise_multiplier: float | None = None,
        clip_norm: float | None = None,
        clip: Clip | None = None,
        unit: Unit | None = None,
        expected_batch: float | None = None,
        count_epsilon: float | None = None,
        strict: bool = False,
    ) -> None:
        given = {"epsilon": epsilon, "expected_batch": expected_batch, "count_epsilon": count_epsilon}
        clean = {name: None if each is None else above(name, each, 0.0) for name, each in given.items()}
        instance("sampling", sampling, Sampling)
        set_frozen(self, sampling=sampling, unit=as_unit(unit), strict=flag("strict", strict), **clean)
        set_frozen(self, delta=open_fraction("delta", delta), total_steps=count("steps", steps, 1))
        set_frozen(self, clip=_clipping(clip_norm, clip))
        if self.strict and isinstance(self.clip, AdaptiveQuantile):
            raise InvalidParameter(
                "strict plans clip at one norm, whose grid is fixed: take clip_norm=, or strict=False"
            )
        if self.correlated and (self.strict or isinstance(self.clip, AdaptiveQuantile)):
            raise InvalidParameter(
                f"{type(sampling).__name__} mixes sums of several steps: take clip_norm= and strict=False, or Poisson"
            )
        sampling.serves(self.unit)
        if self.total_steps % sampling.round_steps:
            raise InvalidParameter(
                f"steps must be whole rounds: a multiple of {sampling.round_steps:,}, got {self.total_steps:,}"
            )
        self._settle_count()
        set_frozen(self, noise_multiplier=self._settled_noise(noise_multiplier))
        if noise_multiplier is not None and self.epsilon is not None and self.price().upper > self.epsilon:
            raise NoGuarantee("with this noise_multiplier the plan costs more than epsilon: leave one of them out")

    def _settle_count(self) -> None:
        """A noisy number of records at the beginning of the run, only where that number is protected and needed."""
        known = self.expected_batch is not None or self.sampling.expected(None) is not None
        if known or self.unit.relation != "add_remove":
            if self.count_epsilon is not None:
                raise InvalidParameter("count_epsilon is for plans that have to count records; this one has not")
            return
        if self.count_epsilon is None and self.epsilon is None:
            raise InvalidParameter("give expected_batch, or count_epsilon: how many records there are is protected")
        if self.count_epsilon is None:
            set_frozen(self, count_epsilon=_SHARE * (self.epsilon or 0.0))

    def _settled_noise(self, given: float | None) -> float:
        if given is not None:
            return above("noise_multiplier", given, 0.0)
        if self.epsilon is None:
            raise InvalidParameter("give epsilon, or noise_multiplier")
        return _least_noise(self.epsilon, self.delta, self.rounds_in_all, self.sampling, self.unit, self.count_epsilon)

    # --- price ----------------------------------------------------------------------------------------------------------

    @property
    def at(self) -> float:
        """The delta at which a ledger charges the run."""
        return self.delta

    @kept_property
    def count(self) -> Geometric | None:
        """The noisy number of records that the run begins with, where it needs one."""
        return _counting(self.count_epsilon, self.unit)

    @kept_property
    def round_price(self) -> PrivacyLoss:
        """The price of the steps that are priced together: one, or those of an epoch."""
        return self.sampling.round_price(self.noise_multiplier, self.unit)

    @property
    def rounds_in_all(self) -> int:
        """The number of rounds: as many as steps, or epochs."""
        return self.total_steps // self.sampling.round_steps

    @property
    def clip_norm(self) -> float:
        """The most that one record moves a sum by, where it is added or removed."""
        return self.clip.bound

    @property
    def correlated(self) -> bool:
        """True where the noise of a step is a combination of that of earlier steps too."""
        return self.sampling.mixing() is not None

    @kept_property
    def rounds(self) -> tuple[int, ...]:
        """The number of rounds of each block: 20 to 500 steps where the sampler allows it, from public numbers alone."""
        each, whole = self.sampling.round_steps, self.rounds_in_all
        wanted = self.sampling.together or min(max(-(-self.total_steps // _BLOCKS), _FEWEST), _MOST)
        size = max(1, wanted // each)
        return (size,) * (whole // size) + ((whole % size,) if whole % size else ())

    @kept_property
    def blocks(self) -> tuple[PrivacyLoss, ...]:
        """The price of each block, in order; the first one counts the records, where that is needed."""
        listed: list[PrivacyLoss] = [Repeated(self.round_price, each) for each in self.rounds]
        if self.count is not None:
            listed[0] = Composed((self.count.loss, listed[0]))
        return tuple(listed)

    @kept_property
    def loss(self) -> PrivacyLoss:
        """The price of the whole run."""
        return _whole(self.round_price, self.rounds_in_all, self.count)

    def price(self) -> Bound:
        """Epsilon at the delta of the plan."""
        return epsilon_of(self.loss, delta=self.delta)

    def step_noise(self, dimension: int) -> StepNoise:
        """The noise of one step on so many parameters, for one record; what a group makes of it is in the price.

        >>> plan = Plan(noise_multiplier=2.0, delta=1e-5, steps=9, sampling=Poisson(q=0.5), expected_batch=6)
        >>> plan.step_noise(100).loss.noise_multiplier
        2.0
        """
        follows = isinstance(self.clip, AdaptiveQuantile)  # then gradients over the clip, and one coordinate for votes
        return StepNoise(
            clip=AdaptiveQuantile.LENGTH if follows else self.clip.bound,
            noise_multiplier=self.noise_multiplier,
            dimension=dimension + 1 if follows else dimension,
            strict=self.strict,
            unit=Unit(self.unit.relation),
        )

    @property
    def accumulation(self) -> str:
        """One sentence: what adding up in floating point does to the bound on one record."""
        if self.strict:
            return "every clipped record is put on the grid of the noise: sums are exact, and their bound is proved"
        return (
            "sums are added up in float32, which may move them by 1e-4 of the clip more than is charged with thousands of "
            "records that are alike, and 2e-3 with 65,536 (measured, not proved; strict=True adds exactly)"
        )

    def engine(self, model: Any, per_example_loss: Any, *, way: str = "auto") -> Engine:
        """The engine of the clipped sums; that of a strict plan adds up whole steps of the grid of its noise."""
        grid = None
        if isinstance(self.clip, AdaptiveQuantile) and way in ("compiled", "ranks"):
            raise InvalidParameter(f"the engine {way!r} clips at one norm: with AdaptiveQuantile leave engine= out")
        if self.strict:
            trained = sum(each.numel() for each in model.parameters() if each.requires_grad)
            grid = self.step_noise(max(1, trained)).grid.width
        return make_engine(model, per_example_loss, self.clip, engine=way, grid=grid)  # type: ignore[arg-type]

    def steps(
        self,
        dataset: Any,
        *,
        ledger: "Ledger | None" = None,
        key: str | None = None,
        about: str | None = None,
        done: int = 0,
    ) -> Steps:
        """The steps over a data set, for a loop of one's own: `for step in plan.steps(data): trainer.step(step)`.

        The whole plan is paid for when the first step is used, by the ledger that is given or in force here, or else by one
        that is in force then; a key goes on with a run that was stopped, after `done` steps (the end of a block).
        """
        return Steps(self, dataset, ledger=ledger, key=key, about=about, done=done)

    def divisor(self, size: int | None = None) -> float | None:
        """By what a sum is divided: a public constant, or None where it is released first. `size` is the number of
        records, where that is public.
        """
        if self.expected_batch is not None:
            return self.expected_batch
        known = self.sampling.expected(None)
        return self.sampling.expected(size) if known is None and self.unit.relation != "add_remove" else known

    # --- words and JSON --------------------------------------------------------------------------------------------------

    def ladder(self) -> tuple[Rung, ...]:
        """The lectures' four analyses of this run and those of today; only for Poisson sampling."""
        if not isinstance(self.sampling, Poisson):
            return ()
        return dp_sgd_ladder(self.noise_multiplier, q=self.sampling.q, steps=self.total_steps, delta=self.delta)

    @door
    def explain(self) -> str:
        """The plan in words and its price: by the lectures' four analyses, where it is sampled as they say, and by ours.

        >>> from privet.deep import Plan, Poisson
        >>> plan = Plan(noise_multiplier=4.0, delta=1e-5, steps=10_000, sampling=Poisson(q=0.01), expected_batch=600)
        >>> print(plan.explain().splitlines()[-1])
        ours, which is charged                               0.9469...       1e-05
        """
        price = self.price()
        lines = [
            f"{self.total_steps:,} steps in {len(self.blocks)} blocks, {type(self.sampling).__name__}",
            f"protected: {self.unit.describe()}",
            f"clip {self.clip_norm:g}{self._followed}, noise {self.noise_multiplier:.6g} times the clip, in every step",
            self.accumulation,
        ]
        if self.correlated:
            lines.append(
                "sums of steps are mixed before that noise: the noise of a gradient takes back that of earlier ones"
            )
        if self.count is not None:
            lines.append(f"the number of records is released first, for epsilon {self.count_epsilon:g}")
        lines.append(_row("epsilon by analysis", "printed", "formula", "promises", "at delta"))
        for rung in self.ladder():
            seen = ["" if each is None else f"{each:,.6g}" for each in (rung.claimed, rung.as_formula)]
            lines.append(_row(rung.name, *seen, f"{rung.sound.upper:,.5g}", f"{rung.delta:.4g}"))
        lines.append(_row("ours, which is charged", "", "", f"{price.upper:,.5g}", f"{self.delta:g}"))
        return "\n".join(lines)

    @property
    def _followed(self) -> str:
        if not isinstance(self.clip, AdaptiveQuantile):
            return ""
        return f" at first, then about the {self.clip.quantile:g}-quantile of the norms (1% of the noise is for that)"

    def describe(self) -> str:
        """One line: what is promised, to whom, by which sampler."""
        told = f"epsilon {self.epsilon:g}" if self.epsilon is not None else f"noise {self.noise_multiplier:g}"
        return f"{told}, delta {self.delta:g}, {self.total_steps:,} steps of {type(self.sampling).__name__}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, the noise that was found among them."""
        told = {"steps": self.total_steps, "delta": self.delta, "noise_multiplier": self.noise_multiplier}
        asked = {"epsilon": self.epsilon, "expected_batch": self.expected_batch, "count_epsilon": self.count_epsilon}
        parts = {"sampling": self.sampling.to_dict(), "unit": self.unit.to_dict(), "clip": self.clip.to_dict()}
        strict = (
            {"strict": True} if self.strict else {}
        )  # plans of before there was the option are written as they were
        return told | {name: each for name, each in asked.items() if each is not None} | parts | strict

    def to_json(self) -> str:
        """The plan as text; `Plan.from_json` reads it.

        >>> plan = Plan(noise_multiplier=1.0, delta=1e-5, steps=9, sampling=Poisson(q=0.5), expected_batch=6)
        >>> Plan.from_json(plan.to_json()) == plan
        True
        """
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    @door
    def from_dict(cls, body: Any) -> "Plan":
        """Back from `to_dict`. A plan with a noise that does not keep its promise is refused."""
        if not isinstance(body, dict) or not isinstance(body.get("unit", {}), dict):
            raise InvalidParameter("a plan is read from a mapping of its fields")
        unit = Unit(**body.get("unit", {}))
        clip = None if body.get("clip") is None else clip_from_dict(body["clip"])
        return cls(**{**body, "sampling": sampling_from_dict(body.get("sampling")), "unit": unit, "clip": clip})

    @classmethod
    @door
    def from_json(cls, text: str) -> "Plan":
        """Back from `to_json`."""
        try:
            return cls.from_dict(json.loads(text))
        except json.JSONDecodeError:
            raise InvalidParameter("this is no JSON, and no plan") from None


def _clipping(clip_norm: float | None, clip: Clip | None) -> Clip:
    """The clipping that was given, or flat clipping at the norm."""
    made = Flat(1.0 if clip_norm is None else clip_norm) if clip is None else instance("clip", clip, Clip)
    if clip_norm is not None and clip_norm != made.bound:
        raise InvalidParameter("give clip_norm, or clip: they say different norms")
    return made


def _row(name: str, *columns: str) -> str:
    return (f"{name:24}" + "".join(f"{each:>12}" for each in columns)).rstrip()


def _counting(epsilon: float | None, unit: Unit) -> Geometric | None:
    if epsilon is None:
        return None
    return Geometric.for_budget(epsilon=epsilon, sensitivity=unit.group_size, unit=unit, bounds=(0, _WIDEST))


def _whole(round_price: PrivacyLoss, rounds: int, counting: Geometric | None) -> PrivacyLoss:
    steps = Repeated(round_price, rounds)
    return steps if counting is None else Composed((counting.loss, steps))


@lru_cache(maxsize=64)
def _least_noise(
    epsilon: float, delta: float, rounds: int, sampling: Sampling, unit: Unit, count_epsilon: float | None
) -> float:
    """The least noise over the clip at which the whole run keeps the promise, never rounded down."""
    counting = _counting(count_epsilon, unit)

    def price(noise_multiplier: float) -> PrivacyLoss:
        return _whole(sampling.round_price(noise_multiplier, unit), rounds, counting)

    return calibrate(price, epsilon=epsilon, delta=delta)
