"""One run of a counter: counts go in one by one, noisy sums come out."""

import os
import threading
from typing import Any, NoReturn, final

from privet._validate import count
from privet.errors import InvalidParameter
from privet.mechanisms import Source
from privet.mechanisms.above_threshold import InsecureNumber
from privet.mechanisms.families.columns import as_element
from privet.workloads.estimate import Estimate


@final
class CountStream:
    """A stream that is paid for as a whole: one pass, each step answered once, in order, in this process.

    It cannot be copied, pickled or forked, and nothing of it is stored: a copy would answer a step a second time with
    fresh noise. After a crash the run that paid for it has no slice left; going on means to pay again.

    **Guarantee:** the `loss` of the mechanism, for all sums together, also where later counts depend on earlier sums.

    >>> from privet.workloads import BinaryTreeCount
    >>> stream = BinaryTreeCount.for_budget(epsilon=100.0, horizon=4).start()
    >>> [round(stream.add(rows)) for rows in (3, 0, 2)], stream.step, stream.remaining
    ([3, 3, 5], 3, 1)
    """

    __slots__ = ("_broken", "_lock", "_mechanism", "_process", "_source", "_state", "_step", "_sum")

    def __init__(self, mechanism: Any, source: Source = None) -> None:
        if not callable(getattr(mechanism, "_counting", None)):
            raise InvalidParameter("a stream is opened by its mechanism: ContinualCount.for_budget(...).start()")
        self._mechanism, self._source, self._lock = mechanism, source, threading.Lock()
        self._state, self._step, self._process = mechanism._counting(1, source), 0, os.getpid()
        self._sum, self._broken = 0.0, False

    @property
    def step(self) -> int:
        """The number of steps that were taken."""
        return self._step

    @property
    def remaining(self) -> int:
        """The number of steps that are left until the horizon."""
        return int(self._mechanism.horizon) - self._step

    @property
    def insecure(self) -> bool:
        """True if the noise comes from a seeded stream and protects nobody: its answers say so too."""
        return self._source is not None and bool(getattr(self._source, "insecure", True))

    def add(self, counted: Any, *, step: int | None = None) -> float:
        """Take the rows of the next step and return the noisy number of rows so far.

        `step` (the first is 1) says which step they belong to: another one than the next is refused, and nothing is
        taken.
        """
        try:
            if self._process != os.getpid():
                raise InvalidParameter("a stream lives in the process that started it: a fork would answer steps twice")
            with self._lock:
                after = self._next(step)
                whole = self._mechanism._prepare([as_element(counted)])
                self._step, self._broken = after, True  # first: a step that is interrupted is never taken again
                self._sum = float(self._state.step(int(whole[0]))[0])
                self._broken = False
                return InsecureNumber(self._sum) if self.insecure else self._sum
        finally:
            del counted  # frames outlive an error, and the data with them

    def _next(self, step: int | None) -> int:
        """The number of the next step, or why there is none."""
        after = self._step + 1
        if step is not None and count("step", step, 1) != after:
            raise InvalidParameter(f"steps are taken in order and once: the next one is {after:,}, not {step:,}")
        if after > self._mechanism.horizon:
            raise InvalidParameter(
                f"this stream was made for {self._mechanism.horizon:,} steps, all are taken; a new stream is a new price"
            )
        if self._broken:
            raise InvalidParameter("a step of this stream was interrupted, and what it drew is lost: it cannot go on")
        return after

    def answer(self, *, confidence: float = 0.95) -> Estimate:
        """The last sum once more, with its interval by the exact law of the noise; nothing is drawn."""
        with self._lock:
            if not self._step or self._broken:
                raise InvalidParameter("no step was taken yet, or the last one was interrupted")
            value = InsecureNumber(self._sum) if self.insecure else self._sum
            return Estimate(value, self._mechanism.error(confidence, step=self._step).radius, confidence)

    def __repr__(self) -> str:
        return f"<running counts, step {self._step:,} of {self._mechanism.horizon:,}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise InvalidParameter("a stream cannot be copied or pickled: each of its steps may be answered once only")
