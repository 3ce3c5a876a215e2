"""The trainer: check what is public, pay for the whole plan, and only then look at a record."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import torch
from torch import Tensor, nn

from privet import _progress
from privet._calls import door
from privet._validate import count, instance
from privet.accounting import epsilon as epsilon_of
from privet.deep.checkpoint import Checkpoint
from privet.deep.own_loop import Step
from privet.deep.plan import Plan
from privet.deep.protected import ProtectedGradients
from privet.deep.records import Records
from privet.deep.start import Loss, Start, descend
from privet.deep.training import Knobs, Stop, Training
from privet.errors import InvalidParameter
from privet.ledger import payer_of
from privet.mechanisms import Release, Source, outside
from privet.privacy import Composed

if TYPE_CHECKING:
    from privet.ledger import Ledger


@final
@dataclass(frozen=True)
class Progress:
    """A training on its way, in public numbers: losses, norms and sizes of batches are not among them."""

    step: int
    plan: Plan
    steps_per_second: float

    @property
    def seconds_left(self) -> float:
        """The time that the rest takes at this speed."""
        return (self.plan.total_steps - self.step) / self.steps_per_second

    @property
    def epsilon(self) -> float:
        """The price of the blocks so far, at the delta of the plan; the whole plan was paid for at the beginning."""
        ends = list(accumulate(each * self.plan.sampling.round_steps for each in self.plan.rounds))
        begun = sum(end <= self.step for end in ends)
        return epsilon_of(Composed(self.plan.blocks[:begun]), delta=self.plan.delta).upper if begun else 0.0

    def __str__(self) -> str:
        speed = f"{self.steps_per_second:.3g} steps/s, {self.seconds_left:.0f} s left"
        return f"step {self.step:,} of {self.plan.total_steps:,}, epsilon {self.epsilon:.3g}, {speed}"


@final
@dataclass(frozen=True, eq=False)
class Trained:
    """The outcome of a training: the state dict, its price, and who paid for it."""

    release: Release[dict[str, Any]]
    plan: Plan

    def state_dict(self) -> dict[str, Tensor]:
        """The weights as tensors, which a model of the same structure loads."""
        return {name: torch.from_numpy(np.array(each)) for name, each in self.release.value.items()}

    def __str__(self) -> str:
        by = self.release.paid
        paid = "paid by nobody: no ledger was in force" if by is None else f"paid by entry {by['entry']} of its ledger"
        lines = [self.plan.describe(), f"protected: {self.plan.unit.describe()}", self.plan.accumulation, paid]
        return "\n".join([*lines, *(["INSECURE: the noise came from a seed"] if self.release.insecure else [])])


@door
@final
class Trainer:
    """Private training of a model as it stands when the trainer is made: every `fit` begins there.

    `per_example_loss(outputs, targets)` returns one loss a record, shape [B]; one whose first argument is called `model` is
    handed the model and a batch instead. `optimizer` is any `torch.optim.Optimizer` without a closure, or several of them.

    `engine` and `physical_batch` are for speed and memory, and change nothing else. `average` is the decay of a running
    mean of the weights, which is then what is released.

    >>> from privet import deep
    >>> model = nn.Linear(4, 1)
    >>> plan = deep.Plan(epsilon=2.0, delta=1e-5, steps=20, sampling=deep.Poisson(q=0.5), expected_batch=8)
    >>> sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> trainer = Trainer(model, sgd, lambda outputs, targets: (outputs[:, 0] - targets) ** 2, plan)
    >>> sorted(trainer.fit((torch.ones(16, 4), torch.zeros(16))).state_dict())
    ['bias', 'weight']
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Any,
        per_example_loss: Loss,
        plan: Plan,
        *,
        engine: str = "auto",
        physical_batch: int | None = None,
        average: float | None = None,
    ) -> None:
        self.plan = instance("plan", plan, Plan)
        self._model, self._loss = model, per_example_loss
        self._optimizers = tuple(optimizer) if isinstance(optimizer, list | tuple) else (optimizer,)
        self._start = Start(model, optimizer, per_example_loss)
        self._average = average
        size = None if physical_batch is None else count("physical_batch", physical_batch, 1)
        self._knobs = Knobs(engine, size)
        self._gradients = ProtectedGradients(model, per_example_loss, plan, engine=engine, physical_batch=size)

    def check(self, dataset: Any, *, form: Any = None) -> Records:
        """Refuse a model or a loss in which records meet, and records that the model cannot take. Everything is tried on
        made-up records of the same shapes: nothing is paid, and no value is looked at. What is found, is found as far as
        made-up records show: `check_isolation` tries public records too.
        """
        return self._gradients.check(dataset, form)

    @door
    def fit(
        self,
        dataset: Any,
        *,
        form: Any = None,
        ledger: "Ledger | None" = None,
        key: str | None = None,
        about: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Callable[[Progress], object] | None = None,
        stop: Stop | None = None,
        source: Source = None,
    ) -> Trained:
        """Train: check what is public, pay for the whole plan, run its blocks, and load the result into the model.

        With a `key` the run is paid once, whatever stops it: the same call goes on from the `checkpoint`, and once it is
        done reads the release back. `form` is one made-up record: with it no record's shape is looked at, and there may be
        none (see `Records`). `about` names the version of the data, in public words. `progress` is told after every
        block how far it is; `stop(steps done, state dict)` may end the run between blocks, without a refund, and is asked
        again about the state that a run goes on from. Both see public values alone; what they release is paid for apart.
        `source` is for tests: `noise.Seeded(7)` gives the same noise again, and marks the release.
        """
        try:
            records = self.check(dataset, form=form)
        finally:
            del dataset
        public = None if self.plan.unit.relation == "add_remove" else records.exact_count()
        algorithm = self._algorithm(self.plan.divisor(public), stop)
        algorithm.ready(records.form)
        payer = payer_of(ledger)
        with nullcontext() if progress is None else _listening(progress, self.plan):
            release = self._released(algorithm, records, payer, source, key=key, about=about, checkpoint=checkpoint)
        made = Trained(release, self.plan)
        self._model.load_state_dict(made.state_dict())
        return made

    def _released(
        self,
        algorithm: Training,
        records: Records,
        payer: Any,
        source: Source,
        *,
        key: Any,
        about: Any,
        checkpoint: Any,
    ) -> Release[dict[str, Any]]:
        if source is not None and (payer is not None or key is not None or checkpoint is not None):
            raise InvalidParameter("a seeded source is for tests: leave ledger=, key= and checkpoint= out")
        if payer is None and (key is not None or about is not None):
            raise InvalidParameter("key= and about= name a run in a ledger: give ledger= too")
        if checkpoint is not None and key is None:
            raise InvalidParameter("a checkpoint belongs to a run of a ledger: give key= too")
        if payer is None:
            return algorithm.release(records, source=source)
        if key is None:
            made: Release[dict[str, Any]] = payer.release(algorithm, records, about=about)
            return made
        file = None
        if checkpoint is not None:
            file = Checkpoint(checkpoint, {"key": key, "plan": self.plan.to_json(), "start": self._start.digest})
        load, save = (None, None) if file is None else (file.load, file.save)
        kept: Release[dict[str, Any]] = payer.run_blocks(algorithm, records, key=key, about=about, load=load, save=save)
        return kept

    def step(self, step: Step, *, source: Source = None) -> Self:
        """One step of a loop of one's own (`for step in plan.steps(dataset)`), on the live model and its optimizers."""
        noisy = self._gradients.noisy(step, source)
        descend(self._gradients.trained(), [each.step for each in self._optimizers], noisy)
        return self

    def _algorithm(self, divisor: float | None, stop: Stop | None = None) -> Training:
        divisor = None if self.plan.count is not None else divisor
        return Training(
            plan=self.plan, start=self._start, divisor=divisor, average=self._average, stop=stop, knobs=self._knobs
        )


@contextmanager
def _listening(progress: Callable[[Progress], object], plan: Plan) -> Iterator[None]:
    """While open, `progress` is told at the end of every block how far the training is."""
    if not callable(progress):
        raise InvalidParameter("progress must be a function, such as print")
    ends = set(accumulate(each * plan.sampling.round_steps for each in plan.rounds))
    since: list[tuple[float, int]] = []

    def heard(what: str, done: int, total: int) -> None:
        if what != "steps" or total != plan.total_steps:
            return
        now = time.monotonic()
        if not since:
            since.append((now, done))
        begun, first = since[0]
        if done in ends and done > first and done != since[-1][1]:
            since.append((now, done))
            with outside():
                progress(Progress(done, plan, (done - first) / max(now - begun, 1e-9)))

    with _progress.listening(heard):
        yield
