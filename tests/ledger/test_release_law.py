"""The door that users take: `Ledger.release` draws from the law that `simulate` shows, for every mechanism.

Nothing of `privet.testing` is used: the statistics are written here, and the noise is made of fixed bytes, so that a red
test means a change.
"""

import math
import random
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pytest

from privet import Budget, Ledger
from privet.errors import InvalidData, ReleaseFailed
from privet.ledger import spending as door
from privet.mechanisms import Laplace, Mechanism
from privet.noise import entropy
from tests.firsts import first_of_each, mechanism_examples

LEVEL = 1e-7
EVERY = [
    (f"{name} ({i})", e)
    for name, examples in groupby(mechanism_examples(), lambda example: example.mechanism.name)
    for i, e in enumerate(examples)
    # costly ones are compared by the laws of algorithms, and what is a part of an answer is never released by a ledger
    if e.cost == "cheap" and e.mechanism.form.refusal() is None
]
FIRST = {name.removesuffix(" (0)"): example for name, example in EVERY if name.endswith(" (0)")}


@pytest.fixture(autouse=True)
def fixed_bytes(monkeypatch):
    monkeypatch.setattr(entropy, "_system", random.Random(20_26).randbytes)


def memory(mechanism):
    """A ledger that pays for everything: by (epsilon, delta), or in zCDP where a price needs that."""
    rho, delta = mechanism.loss.zcdp()
    in_zcdp = mechanism.loss.pure() == math.inf and delta == 0.0 and rho < math.inf
    budget = Budget(rho=1e9) if in_zcdp else Budget(1e6, 0.9)
    return Ledger.create("memory:", dataset="made up", budget=budget, unit=mechanism.unit)


def numbers(output):
    """An output as a list of numbers, whatever its form."""
    if hasattr(output, "to_arrays"):
        output = output.to_arrays()["measured"]
    if isinstance(output, dict):
        return [x for key in sorted(output, key=str) for x in numbers(output[key])]
    if isinstance(output, list | tuple | np.ndarray):
        return [x for item in output for x in numbers(item)]
    if isinstance(output, str):
        return [float(sum(i * ord(c) for i, c in enumerate(output, 1)))]
    value = -1e300 if output is None else float(output)
    return [-1e301 if math.isnan(value) else value]


def chance(few, many):
    """Two-sided p-value of the rank-sum test with ties."""
    values, place, size = np.unique(np.concatenate((few, many)), return_inverse=True, return_counts=True)
    if len(values) == 1:
        return 1.0
    ranks = (np.cumsum(size) - (size - 1) / 2.0)[place]
    n, m = len(few), len(many)
    spread = n * m / 12.0 * (n + m + 1 - float(np.sum(size**3.0 - size)) / ((n + m) * (n + m - 1)))
    return math.erfc(abs(ranks[:n].sum() - n * (n + m + 1) / 2.0) / math.sqrt(2.0 * spread))


def least_chance(few, many):
    """Over all numbers of an output: their place, how far they are from the middle, and how often each is the commonest."""
    told = [[numbers(output) for output in sample] for sample in (few, many)]
    widest = max(len(each) for sample in told for each in sample)
    # how long an output is belongs to its law: the length first, and a number of its own for what is not there
    few, many = (np.array([[len(x), *x, *[-1e302] * (widest - len(x))] for x in sample]) for sample in told)
    found = [1.0]
    for a, b in zip(few.T, many.T, strict=True):
        middle = float(np.median(b))
        common = [
            value for value, _ in sorted(zip(*np.unique(b, return_counts=True), strict=True), key=lambda p: -p[1])[:4]
        ]
        views = [(a, b), (abs(a - middle), abs(b - middle)), *((a == v, b == v) for v in common)]
        found.append(len(few.T) * len(views) * min(chance(x * 1.0, y * 1.0) for x, y in views))
    return min(found)


def released(mechanism, data, times):
    found = []
    while len(found) < times:
        ledger = memory(mechanism)
        few = 20 if mechanism.at is None else 4  # a delta is soon spent
        found += [ledger.release(mechanism, data).value for _ in range(few)]
    return found


# Every one is released as it is simulated by a law of its own; a ledger takes all of one room and form alike.
@pytest.mark.parametrize(
    "name",
    first_of_each(
        FIRST,
        lambda name: (type(FIRST[name].mechanism).__module__.split(".")[1], type(FIRST[name].mechanism.form)),
        lambda name, _: name,
    ),
)
def test_ledger_releases_the_law_that_is_simulated(name):
    mechanism, data = FIRST[name].mechanism, FIRST[name].left
    assert least_chance(released(mechanism, data, 100), mechanism.simulate(data, 1_000)) > LEVEL


@pytest.mark.slow
@pytest.mark.parametrize(("name", "example"), EVERY)
def test_ledger_releases_the_law_of_every_example(name, example):
    for data in (example.left, example.right):
        few = released(example.mechanism, data, 1_000)
        assert least_chance(few, example.mechanism.simulate(data, 10_000)) > LEVEL


def noticed(monkeypatch_target, monkeypatch, name, value, mechanism, data, times=250):
    monkeypatch.setattr(monkeypatch_target, name, value)
    few = released(mechanism, data, times)
    return least_chance(few, mechanism.simulate(data, 2_000)) <= LEVEL


def test_half_the_noise_of_one_release_is_noticed(monkeypatch):
    honest = Laplace._draw

    def half(self, prepared, runs, source):
        drawn = honest(self, prepared, runs, source)
        return drawn / 2.0 if runs == 1 else drawn

    mechanism = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    assert noticed(Laplace, monkeypatch, "_draw", half, mechanism, 0.0)


def test_a_ledger_that_hands_on_other_data_is_noticed(monkeypatch):
    honest = door.run
    mechanism = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    other = lambda mechanism, data, reservation: honest(mechanism, data + 1.0, reservation)  # noqa: E731
    assert noticed(door, monkeypatch, "run", other, mechanism, 0.0)


def test_a_ledger_that_draws_once_for_all_is_noticed(monkeypatch):
    mechanism = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    kept = []
    honest = door.run

    def lazy(mechanism, data, reservation):
        kept.append(honest(mechanism, data, reservation))
        return kept[0]

    assert noticed(door, monkeypatch, "run", lazy, mechanism, 0.0)


# --- refusals -----------------------------------------------------------------------------------------------------

WRONG = {
    "object": object(),
    "complex": 1j,
    "bytes": b"12",
    "dict": {"a": 1},
    "cube": np.zeros((2, 2, 2)),
    "set": {1, 2},
}


def refused_before_payment(mechanism, data):
    """Whether a ledger refuses the data with a reason and without a charge; None where it takes them."""
    ledger = memory(mechanism)
    before = len(ledger.entries())
    try:
        ledger.release(mechanism, data)
    except InvalidData:
        return len(ledger.entries()) == before
    except ReleaseFailed:
        return False
    return None


@pytest.mark.parametrize("name", FIRST)
def test_refusals_come_before_payment(name):
    found = {kind: refused_before_payment(FIRST[name].mechanism, data) for kind, data in WRONG.items()}
    assert False not in found.values(), found
    # a device reports whatever its person holds: only containers are refused by a local protocol
    assert list(found.values()).count(True) >= (2 if name.startswith("local_") else 4)


def test_a_refusal_after_payment_is_noticed():
    made = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)

    @dataclass(frozen=True)
    class Late(Mechanism):
        """Looks at its input only when it draws."""

        name = "late"
        loss = made.loss

        def _prepare(self, value):
            raise InvalidData("too late")

        def _draw(self, prepared, runs, source):
            raise NotImplementedError

        def error(self, confidence=0.95):
            return None

        @classmethod
        def examples(cls):
            return iter(())

    assert refused_before_payment(Late(), object()) is False
    assert refused_before_payment(made, object()) is True
    assert refused_before_payment(made, 1.0) is None
