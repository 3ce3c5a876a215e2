"""Bugs beyond single outputs: a formula outside its range, run time, and a pipeline that looks without paying."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, final

from privet import accounting, mechanisms
from privet.noise import bernoulli
from privet.privacy import ApproxLoss, GaussianLoss
from privet.testing.zoo.entry import ONE, STEP, Entry, laplace

# The noise of the classic formula at epsilon 16 and delta 1e-5, where it holds no longer.
_CLASSIC = math.sqrt(2.0 * math.log(1.25 / 1e-5)) / 16.0


@final
class _Looping:
    """Laplace noise whose sampler loops once for every unit of |noise|, or always equally often."""

    def __init__(self, name: str, *, constant: bool) -> None:
        self.name, self._constant = name, constant
        self._pool: list[int] = []

    def release(self, value: int) -> int:
        """One noisy answer."""
        if not self._pool:
            self._pool = laplace(STEP, 4096).tolist()  # drawn ahead: only the loop below may take time
        drawn = self._pool.pop()
        for _ in range(40 * (STEP if self._constant else abs(drawn))):
            pass
        return value + drawn


def _asks_twice(exact: bool) -> Callable[[tuple[int, ...]], Any]:
    count = mechanisms.Count.for_budget(epsilon=0.5)

    def pipeline(rows: tuple[int, ...]) -> list[int]:
        answers = [count.release(list(rows)).value]
        if (len(rows) if exact else answers[0]) > 2:
            answers.append(count.release([row for row in rows if row > 5]).value)
        return answers

    return pipeline


def _ends(exact: bool) -> Callable[[tuple[int, ...]], Any]:
    count = mechanisms.Count.for_budget(epsilon=0.25)

    def pipeline(rows: tuple[int, ...]) -> tuple[list[int], bool]:
        answers: list[int] = []
        while len(answers) < 12 and (not answers or answers[-1] != (len(rows) if exact else 3)):
            answers.append(count.release(list(rows)).value)
        return answers, bool(bernoulli(p=Fraction(1, 2)))

    return pipeline


BEYOND = (
    Entry(
        number=7, name="classic Gaussian formula at epsilon 16", feature="profile", by="exact",
        claim=ApproxLoss(16.0, 1e-5), left=0, right=1,
        story="sigma = sqrt(2 ln(1.25/delta))/epsilon is proved up to epsilon 1; at 16 the true epsilon is 18.9.",
        broken=GaussianLoss(_CLASSIC),
        sound=lambda: GaussianLoss(accounting.calibrate(GaussianLoss, epsilon=16.0, delta=1e-5)),
    ),
    Entry(
        number=36, name="run time grows with the noise", feature="time", by="timing", claim=ONE, left=0, right=STEP,
        story="A sampler that counts up to its noise: the clock and the output together give the answer away.",
        broken=_Looping("loops as long as the noise", constant=False),
        sound=_Looping("loops equally long", constant=True),
    ),
    Entry(
        number=42, name="a question that depends on exact data", feature="count of calls", by="replay", claim=ONE,
        left=(1, 8, 9), right=(1, 8),
        story="Whether a second question is asked is decided by the exact count, not by the noisy one.",
        broken=_asks_twice(exact=True), sound=_asks_twice(exact=False),
    ),
    Entry(
        number=122, name="a loop that ends when the exact loss is small", feature="count of calls", by="replay",
        claim=ONE, left=(1, 8, 9), right=(1, 8),
        story="Rounds go on until an answer is right, which shows under some noise only; a public coin accuses nobody.",
        broken=_ends(exact=True), sound=_ends(exact=False),
    ),
)  # fmt: skip
