"""Private training as one algorithm in blocks: what laws and audits look at is what a user runs, stops and resumes."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import torch
from torch import nn

from privet import _progress
from privet._cache import kept_property
from privet._validate import above, instance, open_fraction, set_frozen
from privet.deep.batches import piece_size
from privet.deep.clipping import AdaptiveQuantile
from privet.deep.engines.engine import Engine
from privet.deep.plan import Plan
from privet.deep.records import Records
from privet.deep.sampling import Poisson, coins_of_model, register as samplers
from privet.deep.start import Start, State
from privet.deep.step_noise import StepNoise
from privet.deep.stepping import Captured, OneByOne, Stepping, Workshop, can_be_captured, try_noise
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import BlockAlgorithm, Example, Form, Numbers, Record, Source, outside, register, sealed
from privet.noise import KeyedStream
from privet.privacy import Guarantee, PrivacyLoss, Unit

Stop = Callable[[int, dict[str, Any]], bool]


@final
@dataclass(frozen=True, eq=False)
class Knobs:
    """Choices that change speed and memory, and neither the law of the outcome nor its price: the engine, and how many
    records are computed at once."""

    engine: str = "auto"
    physical_batch: int | None = None


@final
@register
@dataclass(frozen=True, kw_only=True, eq=False)
class Training(BlockAlgorithm[Records, dict[str, Any]]):
    """Stochastic gradient descent with clipped gradients and noise on every sum: the state dict after the last step.

    Every step draws its records, clips the gradient of each, adds them up, adds noise, divides by a public number and hands
    the result to an optimizer, which sees nothing else. `average` is the decay of a running mean of the weights, which is
    then what comes out; `stop(steps done, state dict)` may end the run between blocks: it sees what may be seen anyway.

    **Guarantee:** the composition of the rounds of the plan, and of the count where the plan needs one.
    **Sensitivity:** l2: the gradient of a record is clipped to the clip norm of the plan.
    **Reference:** Abadi et al. 2016.
    **Proof:** docs/proofs/deep/training.md.
    """

    name = "deep_training"

    plan: Plan
    start: Start
    divisor: float | None = None
    average: float | None = None
    stop: Stop | None = None
    knobs: Knobs = field(default_factory=Knobs)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("plan", self.plan, Plan)
        instance("start", self.start, Start)
        instance("knobs", self.knobs, Knobs)
        if self.divisor is not None:
            set_frozen(self, divisor=above("divisor", self.divisor, 0.0))
        if (self.divisor is None) != (self.plan.count is not None):
            raise InvalidParameter("a training divides by a public number, or by one that its plan counts first")
        if self.average is not None:
            set_frozen(self, average=open_fraction("average", self.average))

    @property
    def at(self) -> float:  # type: ignore[override]
        """The delta at which a ledger charges it: that of the plan."""
        return self.plan.delta

    @property
    def blocks(self) -> tuple[PrivacyLoss, ...]:
        return self.plan.blocks

    @property
    def form(self) -> Form:
        return Record(dict.fromkeys(self.start.names(), Numbers()))

    def engine(self) -> Engine:
        """The engine of the sums."""
        return self.plan.engine(self.start.model, self.start.per_example_loss, way=self.knobs.engine)

    def _admit(self, value: Any) -> None:
        if not isinstance(value, Records):
            raise InvalidData("training takes Records: hand the data set to Trainer.fit")
        if self.plan.unit.relation != "add_remove":  # else how many there are is protected
            problem = self.plan.sampling.unfit(value.exact_count())
            if problem is not None:
                raise InvalidData(problem)

    def _first(self) -> State:
        clip = self.plan.clip.clip_norm if isinstance(self.plan.clip, AdaptiveQuantile) else None
        with sealed():
            return {**self.start.first(), "divisor": self.divisor, "clip": clip}

    def _block(self, index: int, state: State, prepared: Records, source: Source) -> State:
        if state["stopped"]:
            return state
        size = prepared.exact_count()
        divisor = state["divisor"]
        if divisor is None:
            counted = self.plan.count.release(size, source=source).value  # type: ignore[union-attr]
            divisor = max(1.0, float(round(self.plan.sampling.expected(int(counted)) or 0.0)))
        piece = self._piece(divisor)
        average, done = _on(self.start.device, state["average"]), state["step"]
        # A key for this block alone, kept nowhere: a block that is run again from a checkpoint draws other records.
        stream = self._coins("key", KeyedStream.fresh, source)
        work = _progress.track("steps", self.plan.total_steps)
        work.advance(done)
        added = self._step_noise()
        with ExitStack() as opened:
            with sealed():
                stepping = opened.enter_context(self._stepping(state, prepared, piece, divisor))
            for _ in range(self.plan.rounds[index]):
                drawn = self.plan.sampling.drawn(size, stream, done)
                # Steps on samples cost less than the same steps on all records: the sampler says how much.
                with self._priced(lambda parts: self.plan.sampling.folded(parts, self.plan.unit)):
                    for ids in drawn:
                        with sealed():  # data set, model and loss are code of the user
                            value = stepping.exact_value(prepared, ids, coins_of_model(stream, done))
                        noisy = added.release(value, source=source).value
                        del value  # the step needs the memory
                        with sealed():  # and so are optimizers
                            stepping.descend(noisy)
                            del noisy
                            average, done = self._averaged(average, stepping, done), done + 1
                        work.advance()
            with sealed():
                return self.start.state_after(
                    stepping.live,
                    {**state, "divisor": divisor, "step": done, "average": _off(average), "clip": stepping.clip},
                )

    def _between(self, state: State) -> State:
        if state["stopped"] or self.stop is None:
            return state
        with outside():
            return {**state, "stopped": bool(self.stop(state["step"], self._result(state)))}

    def _piece(self, divisor: float | None) -> int:
        return self.knobs.physical_batch or piece_size(divisor, self.plan.sampling.largest)

    @kept_property
    def _workshop(self) -> Workshop:
        return Workshop()

    def ready(self, form: Any) -> None:
        """Record the steps on batches of this form, where they are recorded at all, and try their noise where it is drawn
        on a device: before anything is paid, since a model for which `engine="compiled"` was asked for, and which cannot
        be recorded, is refused.
        """
        try_noise(self.plan, self._step_noise(), self.start.device)
        if can_be_captured(self.plan, self.start, self.knobs.engine):
            try:
                shop = self._workshop.opened(self.start, self.plan, self._step_noise(), form, self._piece(self.divisor))
                with sealed(), shop:
                    pass
            except InvalidParameter:
                if self.knobs.engine == "compiled":
                    raise
                self._workshop.bar()

    @contextmanager
    def _stepping(self, state: State, records: Records, piece: int, divisor: float) -> Iterator[Stepping]:
        """The steps of a block, from a state on."""
        added, live = self._step_noise(), self.start.live(state)
        with ExitStack() as opened:
            if can_be_captured(self.plan, self.start, self.knobs.engine) and not self._workshop.barred:
                try:
                    shop = self._workshop.opened(self.start, self.plan, added, records.form, piece)
                    step = opened.enter_context(shop)
                except (
                    InvalidParameter
                ):  # found out after payment, for a batch whose size was counted: any engine will do
                    self._workshop.bar()
                else:
                    step.begin(live, divisor)
                    yield Captured(step, piece)
                    return
            way = "auto" if self._workshop.barred else self.knobs.engine
            engine = self.plan.engine(self.start.model, self.start.per_example_loss, way=way)
            yield OneByOne(self.plan, engine, live, added, state, piece, divisor)

    def _step_noise(self) -> StepNoise:
        """The noise of a step: in float32 where nothing but parameters of at most that width is computed from it."""
        added = self.plan.step_noise(self.start.dimension)
        mixed = self.plan.correlated or isinstance(self.plan.clip, AdaptiveQuantile)
        return added if mixed or self.start.wide else replace(added, single=True)

    def _averaged(self, average: Any, stepping: Stepping, done: int) -> Any:
        """A running mean of the weights, which begins as their plain mean."""
        if self.average is None:
            return None
        decay = min(self.average, (1.0 + done) / (10.0 + done))
        now = {name: each.detach().double() for name, each in stepping.live.parameters.items()}
        if average is None:
            return {name: each.clone() for name, each in now.items()}
        return {name: average[name].mul_(decay).add_(each.mul(1.0 - decay)) for name, each in now.items()}

    def _result(self, state: State) -> dict[str, Any]:
        weights = state["weights"]
        if state["average"] is not None:
            weights = {name: each.astype(weights[name].dtype) for name, each in state["average"].items()}
        with sealed():  # the state dict of a model is code of the user
            return self.start.released(weights)

    def to_dict(self) -> dict[str, Any]:
        """The public parameters; two starts are told apart by a digest, and knobs of speed are left out."""
        stop = None if self.stop is None else getattr(self.stop, "__qualname__", type(self.stop).__name__)
        return {
            "mechanism": self.name,
            "plan": self.plan.to_json(),
            "start": self.start.digest,
            "divisor": None if self.divisor is None else repr(self.divisor),
            "average": None if self.average is None else repr(self.average),
            "stop": stop,
        }

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows, nothing = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), torch.full((2,), torch.nan)
        kinds = samplers.members()
        for kind in (kinds.pop("poisson"), *kinds.values()):  # the cheapest first: quick tests meet one example
            for sampling in kind.examples():
                unit = Unit(sampling.relations[0])
                plan = Plan(
                    noise_multiplier=2.0,
                    delta=1e-5,
                    steps=2 * sampling.round_steps,
                    sampling=sampling,
                    unit=unit,
                    expected_batch=2.0,
                )
                other = rows.clone()
                other[2] = nothing if unit.relation == "zero_out" else -rows[2]
                right = rows[:2] if unit.relation == "add_remove" else other
                yield Example(training_of(plan, 2), Records((rows,)), Records((right,)), cost="costly")
        yield _with_canaries()
        yield _with_votes()
        counted = Plan(epsilon=4.0, delta=1e-5, steps=2, sampling=Poisson(q=0.5))
        pair = Records((rows,)), Records((rows[:2],))
        yield Example(training_of(counted, 2), *pair, Guarantee(4.0, 1e-5), cost="costly")


def _on(device: torch.device, average: Any) -> Any:
    """An average as a step goes on with it: a copy, since states are not changed."""
    return average and {name: torch.from_numpy(np.array(each)).to(device) for name, each in average.items()}


def _off(average: Any) -> Any:
    return average and {name: each.cpu().numpy() for name, each in average.items()}


class _Weights(nn.Module):
    """A model whose gradient at a record is that record: canaries sit in gradients."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dimension))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows @ self.weight


def _against(outputs: torch.Tensor, targets: Any) -> torch.Tensor:
    return -outputs


def training_of(plan: Plan, dimension: int, knobs: Knobs | None = None, divisor: float = 1.0) -> Training:
    """A training of a model whose gradient at a record is that record, with steps of length 1: for laws and audits."""
    model = _Weights(dimension)
    start = Start(model, torch.optim.SGD(model.parameters(), lr=1.0), _against)
    known = None if plan.count is not None else divisor
    return Training(plan=plan, start=start, divisor=known, knobs=knobs or Knobs())


def _with_votes() -> Example:
    """Many short gradients and a long one, whose vote moves the clip, by which all short ones are divided then."""
    clip = AdaptiveQuantile(1.0, quantile=0.9, rate=2.0)
    plan = Plan(noise_multiplier=1.0, delta=1e-5, steps=2, sampling=Poisson(q=1.0), expected_batch=160.0, clip=clip)
    rows = torch.full((160, 2), 0.5)
    rows[-1] = 50.0
    return Example(training_of(plan, 2, divisor=160.0), Records((rows,)), Records((rows[:-1],)), cost="costly")


def _with_canaries() -> Example:
    """Each record is a direction of its own, and its gradient: how far the weights went there tells of it."""
    many = 1_800
    canaries = [(each,) for each in torch.eye(many + 1)[1:]]
    first = Records((torch.eye(many + 1)[:1],))
    plan = Plan(noise_multiplier=0.5, delta=1e-5, steps=1, sampling=Poisson(q=1.0), expected_batch=1.0)
    return Example(
        training_of(plan, many + 1, Knobs(physical_batch=128)),
        first.extended(canaries[:1]),
        first,
        cost="costly",
        detects=0.25,
        canaries=canaries,
        score=lambda output, canary: float(np.dot(output["weight"], np.asarray(canary[0]))),
    )
