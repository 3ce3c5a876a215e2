"""Training loops of one's own: steps that are paid for, drawn and protected one by one, in whatever order of other work."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
import torch
from torch import Tensor

from privet._numerics import Array
from privet._private import Private
from privet._validate import above, count
from privet.deep.clipping import AdaptiveQuantile
from privet.deep.records import Records
from privet.deep.sampling import Sampling, coins_of_model
from privet.errors import InvalidData, InvalidParameter, LedgerError, SerialisationError
from privet.ledger import payer_of
from privet.mechanisms import Algorithm, Source, sealed
from privet.noise import KeyedStream, own_stream
from privet.privacy import PrivacyLoss, Unit

if TYPE_CHECKING:
    from privet.ledger import Ledger, Run, Slice

Sum = Callable[[Records, Array], Array]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class SampledStep(Algorithm[Records, Any]):
    """One step of a plan: the noisy sum of the clipped gradients of the records that were drawn. It is made by `Steps`, and
    no member of the registry: `Training` is, which has the same body.

    **Guarantee:** what the sampler says about one round.
    """

    name = "deep_step"
    sampling: Sampling
    protects: Unit
    noise: Any
    exact_sum: Sum
    number: int
    streams: list[KeyedStream]  # of this block: none before its first step

    @property
    def loss(self) -> PrivacyLoss:
        """The price of this step."""
        return self.sampling.folded([self.noise.loss], self.protects)

    def _run(self, prepared: Records, source: Source) -> Any:
        size = prepared.exact_count()
        if not self.streams:  # a key for a block, as in `Training`
            self.streams.append(self._coins("key", KeyedStream.fresh, source))
        (ids,) = self.sampling.drawn(size, self.streams[0], self.number)
        with self._priced(lambda parts: self.sampling.folded(parts, self.protects)):
            with sealed(), own_stream(coins_of_model(self.streams[0], self.number)):
                total = self.exact_sum(prepared, ids)
            return self.noise.release(total, source=source).value

    @classmethod
    def examples(cls) -> Any:
        """None: those of `Training`."""
        return ()


class Steps:
    """The steps of a plan over a data set, for a loop of one's own. Nothing is paid or drawn before the first step is used:
    then the whole plan is, and every block is marked before it looks at data. What was begun is never run a second time.

    A copy is the object itself, and a pickle is refused: neither budget nor coins can be forked.
    """

    def __init__(
        self, plan: Any, dataset: Any, *, ledger: "Ledger | None", key: str | None, about: str | None, done: int
    ) -> None:
        if plan.sampling.round_steps != 1 or plan.correlated:
            raise InvalidParameter(
                f"{type(plan.sampling).__name__} is priced by whole rounds of steps, which a loop could leave half done: "
                "use Trainer.fit, or a sampler that draws every step anew"
            )
        if isinstance(plan.clip, AdaptiveQuantile):
            raise InvalidParameter("a clip that follows the gradients is kept by Trainer.fit: use that, or Flat(norm)")
        ends = [0, *accumulate(plan.rounds)]
        if count("done", done) not in ends:
            raise InvalidParameter(f"done must be the end of a block: {ends[1]}, {ends[min(2, len(ends) - 1)]}, ...")
        payer = payer_of(ledger)  # one that is in force here pays, also where the loop runs after its `with`
        if payer is None and (key is not None or about is not None):
            raise InvalidParameter("key= and about= name a run in a ledger: give ledger= too")
        self.plan, self.records, self._held = plan, Records(dataset), Private(dataset)
        self._ledger, self._asked = payer, {"key": key, "about": about}
        self._begun, self._started, self._broken = ends.index(done), False, False
        self._run: Run | None = None
        self._slice: Slice | None = None
        self._streams: list[KeyedStream] = []
        self._pid = os.getpid()
        self._used, self._turn = set[int](), threading.RLock()
        self.divisor: float | None = plan.divisor(self.records.exact_count() if plan.count is None else None)
        self._check_size()

    def __iter__(self) -> "Iterator[Step]":
        first = self._begun
        number = sum(self.plan.rounds[:first])
        for block in range(first, len(self.plan.rounds)):
            for _ in range(self.plan.rounds[block]):
                yield Step(self, block, number)
                number += 1

    def __copy__(self) -> "Steps":
        return self

    def __deepcopy__(self, memo: object) -> "Steps":
        return self

    def __reduce__(self) -> NoReturn:
        raise SerialisationError("the steps of a run are not pickled: a copy would run them a second time")

    def _check_size(self) -> None:
        """Refuse a public number of records that the price does not speak of, or that nothing is divided by."""
        if self.plan.unit.relation != "add_remove":
            problem = self.plan.sampling.unfit(self.records.exact_count())
            if problem is not None:
                raise InvalidData(problem)
        if self.divisor is not None:
            above("divisor", self.divisor, 0.0)

    def _check_source(self, source: Source) -> None:
        """Refuse a seed where somebody pays: its noise protects nobody who knows it, and no release says so here."""
        if source is not None and (self._run is not None or payer_of(self._ledger) is not None):
            raise InvalidParameter("a seeded source is for tests: leave ledger= out, and let none be in force")

    def _start(self) -> None:
        """Pay for the whole plan, once, and again for blocks that were begun and are not in what the loop goes on from."""
        payer = payer_of(self._ledger)
        if payer is None:
            return
        self._run = payer.start(self.plan.blocks, at=self.plan.at, **self._asked)
        behind = self._run.position - self._begun
        if behind < 0:
            raise LedgerError("done says more steps than this run has begun: they belong to another run")
        if behind:
            self._run.repeat(behind)

    def _take(self, number: int) -> None:
        """Use up a step. Its coins follow from its number: two loops over these steps would draw the same records twice,
        and a sample that is looked at twice costs more than two samples.
        """
        if number in self._used:
            raise InvalidParameter(f"step {number} was used: each looks at data once; take the next one")
        self._used.add(number)

    def _enter(self, block: int, source: Source) -> None:
        """Mark a block before its first step looks at data. Where that was refused, or broke off, no step follows: whoever
        catches the error and goes on would look at data that nobody has paid for.
        """
        if os.getpid() != self._pid:
            raise LedgerError("these steps were begun by another process: a copy would run them a second time")
        if self._broken:
            raise LedgerError(
                "paying for these steps failed before: begin anew by plan.steps(...), with done= and the key"
            )
        if block < self._begun - 1:
            raise InvalidParameter("this step belongs to a block that is over")
        self._broken = True
        self._begin(block, source)
        self._broken = False

    def _begin(self, block: int, source: Source) -> None:
        if not self._started:
            self._start()
            self._started = True
        while self._begun <= block:
            self._begun += 1
            self._streams = []
            self._slice = None if self._run is None else self._run.begin()
            if self._slice is not None and self._slice.index != self._begun - 1:
                raise LedgerError(
                    "another process goes on with this run; what it began is its own; this one stops here"
                )
        if self.divisor is None:
            counted = self._paid(self.plan.count, self.records.exact_count(), source)
            self.divisor = max(1.0, float(round(self.plan.sampling.expected(int(counted)) or 0.0)))

    def _paid(self, mechanism: Any, value: Any, source: Source) -> Any:
        try:
            run = partial(mechanism.release, value, source=source)
            # Not `with slice:`, during which other threads could release nothing.
            return (run() if self._slice is None else self._slice.pay_for(mechanism, value, run, source)).value
        finally:
            del value, run


@final
class Step:
    """One step: its number, and the right to one noisy gradient. Who takes part is drawn when it is used, never shown."""

    def __init__(self, steps: Steps, block: int, number: int) -> None:
        self.steps, self.block, self.number = steps, block, number

    def __repr__(self) -> str:
        return f"<step {self.number} of {self.steps.plan.total_steps}>"

    def __copy__(self) -> "Step":
        return self

    def __deepcopy__(self, memo: object) -> "Step":
        return self

    def __reduce__(self) -> NoReturn:
        raise SerialisationError("a step is not pickled: a copy would run it a second time")

    def noisy_gradient(self, noise: Any, exact_sum: Sum, source: Source = None) -> Tensor:
        """The protected gradient of this step, all parameters in one vector, divided by the public size of a batch."""
        self.steps._check_source(source)
        with self.steps._turn:  # threads take turns
            self.steps._take(self.number)
            self.steps._enter(self.block, source)
            plan = self.steps.plan
            one = SampledStep(
                sampling=plan.sampling,
                protects=plan.unit,
                noise=noise,
                exact_sum=exact_sum,
                number=self.number,
                streams=self.steps._streams,
            )
            noisy = self.steps._paid(one, self.steps.records, source)
            return torch.as_tensor(np.asarray(noisy) / self.steps.divisor)
