"""The common ground of the plans of all synthesizers: a table goes in, a model comes out, one price for all parts."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import Form, Kept, Source
from privet.privacy import Guarantee, PrivacyLoss
from privet.synth.graph import Clique
from privet.synth.money import UNITS, Noise, choice_by_distance, mean_size, price_of, table_noise
from privet.synth.task import Task
from privet.tables import Data, drawn_salts

_HALF = 31  # bits
_FARTHEST = 2.0**45  # rows that a model is taken to have at most, where distances are measured


class Synthesis:
    """A mixin for plans with the fields `task` and `money`: `class MSTPlan(Synthesis, Algorithm[Data, SyntheticModel])`.

    Parts are paid out of `money` share by share; what is asked next may depend on what was released, never on what was not.

    **Guarantee:** that of `money`, by adaptive composition (`price_of`).
    **Sensitivity:** of each part by `Task`: a person's rows are bounded before anything is counted, the same in all tables.
    """

    task: Task
    money: Guarantee

    at_most = True  # shares are rounded down, and a plan may end early

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the algorithm beside it
        instance("task", self.task, Task)
        instance("money", self.money, Guarantee)

    @property
    def loss(self) -> PrivacyLoss:
        return price_of(self.money, self.task.unit)

    @property
    def form(self) -> Form:
        """A model."""
        return Kept("synth.model")

    def _first_noise(self) -> Noise:
        """The noise on the first tables that are measured."""
        raise NotImplementedError

    @property
    def expected_error(self) -> float:
        """The expected absolute noise on a count that is measured first, in rows: from public facts alone. What a model
        misses because it was not measured is not in it."""
        return mean_size(self._first_noise())

    def _check_parts(self, tables: Iterable[float], choices: Iterable[float] = (), largest: int = 1) -> None:
        """Refuse, before anything is paid, a budget whose parts have no noise: the least shares of tables and choices."""
        try:
            for each in tables:
                table_noise(self.money.share(each), self.task)
            for each in choices:
                choice_by_distance(self.money.share(each), self.task, Fraction(largest))
        except InvalidParameter as problem:
            raise InvalidParameter(f"the budget is too small for the parts of this plan: {problem}") from None

    def _admit(self, value: Any) -> None:
        if not isinstance(value, Data):
            raise InvalidData(
                "a synthesizer is fitted to a table that is described: MST().fit(pv.Table(...), epsilon=1)"
            )
        value.check(self.task.coded)

    def _exact_tables(self, data: Data, cliques: Sequence[Clique], source: Source) -> dict[Clique, Array]:
        """Exact counts of every clique, from one choice of each person's rows: for the parts, and for nothing else."""
        algorithm: Any = self
        salts = algorithm._coins("salt", drawn_salts, source)
        return dict(zip(cliques, data.exact_marginals(self.task.coded, list(cliques), salts), strict=True))


def exact_distance(table: Array, guess: Array) -> int:
    """The l1 distance of whole counts from a public table, in `UNITS`: whole numbers, so that a row moves it by what it
    should, exactly.

    >>> exact_distance(np.array([3, 0]), np.array([2.5, 0.25])) / UNITS
    0.75
    """
    near = np.clip(np.nan_to_num(guess, nan=0.0), -_FARTHEST, _FARTHEST)
    far = np.abs(np.asarray(table, dtype=np.int64) * UNITS - np.rint(near * UNITS).astype(np.int64))
    # halves are added up by themselves: the sum of many cells may have more than 64 bits, and must not wrap
    return (int((far >> _HALF).sum()) << _HALF) + int((far & (2**_HALF - 1)).sum())
