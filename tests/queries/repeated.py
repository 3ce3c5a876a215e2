"""Many runs of a query at once: its exact vectors side by side, as if they were those of as many groups."""

from typing import Any

import numpy as np

import privet as pv
from privet import noise
from privet.queries.answer import Answer
from privet.queries.family import Noisy
from privet.queries.table_answers import TableAnswers, _Answers
from tests.oracles.array_engine import exact_aggregates


def answers(table: pv.Table, made: TableAnswers, runs: int, seed: int, frame: Any) -> Answer:
    """The answers of so many independent runs of a query without groups, a row each."""
    found = exact_aggregates(made.plan, {table.rows.sources[0].name: frame}, (1, 2, 3, 4, 5))
    noisy = []
    for family, part in zip(made.families, made.parts, strict=True):
        exact = np.repeat(family.exact(found), runs, axis=1)
        drawn = np.asarray(part.release(exact, source=noise.Seeded(seed)).value)
        kind = "laplace" if part.name == "discrete_laplace" else "gaussian"
        noisy.append(Noisy(family, np.rint(drawn).astype(np.float64), kind, part.scale))
    return _Answers(made, tuple(() for _ in range(runs)), noisy, None).answer()


def covered(answer: Answer, name: str, truth: float) -> float:
    """How many of the intervals hold the true value."""
    low, high = answer.interval(name)
    return float(np.mean((low <= truth + 1e-9) & (truth - 1e-9 <= high)))
