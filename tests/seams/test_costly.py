"""Costly members: few releases for all laws, replay and one run instead of thousands; mappings, tables, lengths."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import pandas
import pytest

from privet import audit, noise, testing
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import Algorithm, ErrorBar, Example, Gaussian, Mechanism
from privet.mechanisms.form import Numbers, Record
from privet.privacy import PureLoss
from tests.seams.toy import LEFT, RIGHT, Leaking, NotCharged, Toy

TOTAL = Gaussian.for_budget(epsilon=4.0, delta=1e-5, sensitivity=1.0)
MOST = 35  # the law of numbers that steer replays a few times, and a difference is confirmed by ten further runs


@dataclass(frozen=True, eq=False)
class Model:
    """A model that nobody but its class knows how to read."""

    _weights: np.ndarray = field(repr=False)

    def to_arrays(self) -> dict:
        return {"weights": self._weights}


@dataclass(frozen=True, kw_only=True)
class Slow(Algorithm):
    """One noisy sum of unit vectors; counts how often it runs."""

    name = "slow_algorithm_of_the_tests"
    total: Gaussian = TOTAL
    dimension: int = 2000

    def __post_init__(self) -> None:
        instance("total", self.total, Gaussian)
        set_frozen(self, dimension=count("dimension", self.dimension, 1))

    @property
    def loss(self):
        return self.total.loss

    @property
    def form(self):
        return Record({"sums": Numbers()})

    def _admit(self, value):
        if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind != "i":
            raise InvalidData("the value must be an array of whole numbers, one for a person")

    def _run(self, prepared, source):
        RUNS.append(1)
        sums = np.bincount(np.clip(prepared, 0, self.dimension - 1), minlength=self.dimension)
        return {"sums": self.total.release(sums, source=source).value}

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield example_of(cls())


def example_of(mechanism, **more):
    sums = {"sums": np.zeros(2000)}
    return Example(
        mechanism, np.empty(0, dtype=np.int64), np.array([3]), cost="costly", exact=sums, detects=0.25,
        canaries=np.arange(2000), score=lambda output, canary: float(output["sums"][canary]), **more,
    )  # fmt: skip


RUNS: list[int] = []


@pytest.fixture(autouse=True)
def _fresh_count():
    RUNS.clear()


def test_all_laws_together_take_few_releases():
    example = example_of(Slow())
    for law in testing.MECHANISM_LAWS:
        law(example)
    assert 5 < len(RUNS) <= MOST


def test_a_cheap_example_takes_thousands():
    """What the same member cost before: the reason for costly ones."""
    testing.check_every_coin_is_from_noise(replace(example_of(Slow()), cost="cheap"))
    assert len(RUNS) > 300


def test_the_audit_is_a_replay_and_one_run():
    example = example_of(Slow())
    testing.check_survives_audit(example)
    testing.check_audit_can_fail(example, alpha=1e-3)
    assert len(RUNS) <= MOST


def test_one_run_catches_a_tenth_of_the_noise():
    class Quiet(Slow):
        name = "slow_algorithm_with_little_noise"

        def _run(self, prepared, source):
            made = super()._run(prepared, source)["sums"]
            exact = np.bincount(prepared, minlength=self.dimension)
            return {"sums": exact + 0.1 * (made - exact)}

    with pytest.raises(AssertionError, match="violated"):
        testing.check_survives_audit(example_of(Quiet()), alpha=1e-4)
    assert len(RUNS) <= MOST


def test_the_older_word_for_the_cost_is_taken():
    assert Example(Toy(), LEFT, RIGHT, cost="dear").cost == "costly"


def test_broken_costly_members_are_caught():
    costly = {"cost": "costly"}
    with pytest.raises(AssertionError, match="branch"):
        testing.check_survives_audit(Example(Leaking(), LEFT, RIGHT, **costly))
    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(Example(NotCharged(), LEFT, RIGHT, **costly))
    testing.check_survives_audit(Example(Toy(), LEFT, RIGHT, **costly))

    class Clock(Slow):
        name = "slow_algorithm_with_a_coin_from_elsewhere"

        def _run(self, prepared, source):
            return {"sums": super()._run(prepared, source)["sums"] + np.random.random()}

    with pytest.raises(AssertionError, match="from outside"):
        testing.check_every_coin_is_from_noise(example_of(Clock()))

    class Constant(Slow):
        name = "slow_algorithm_without_noise"

        def _run(self, prepared, source):
            return {"sums": np.zeros(self.dimension)}

    with pytest.raises(AssertionError, match="no noise at all"):
        testing.check_runs_are_independent(example_of(Constant()))
    with pytest.raises(AssertionError, match="needs canaries"):
        testing.check_survives_audit(Example(TOTAL, 0.0, 1.0, cost="costly"))


def test_bars_of_costly_members_are_held_against_the_exact_answer():
    class Bars(Slow):
        name = "slow_algorithm_with_bars"
        width = 1.0

        def error(self, confidence=0.95):
            radius = self.width * self.total.error(confidence, dimension=2000).radius
            return ErrorBar({"sums": np.full(2000, radius)}, confidence)

    testing.check_error_bars_cover(example_of(Bars()))
    Bars.width = 0.05
    with pytest.raises(AssertionError, match="within bars"):
        testing.check_error_bars_cover(example_of(Bars()))


def test_examples_that_contradict_themselves_are_refused():
    for wrong in ({"cost": "huge"}, {"lengths": "secret"}, {"canaries": [1]}, {"score": lambda a, b: 0.0}):
        with pytest.raises(InvalidParameter):
            Example(TOTAL, 0.0, 1.0, **wrong)


# --- worlds ------------------------------------------------------------------------------------------------------------


def test_worlds_are_saved_and_reloaded(tmp_path):
    example, path = example_of(Slow()), tmp_path / "worlds.json"
    worlds = testing.worlds_of(example)
    assert testing.worlds_of(example) is worlds
    first = [worlds.left(4), worlds.right(2), list(worlds.seeded())]
    worlds.save(path)
    spent = len(RUNS)
    again = example_of(Slow())
    loaded = testing.Worlds.load(path, again)
    assert testing.worlds_of(again) is loaded
    second = [loaded.left(4), loaded.right(2), list(loaded.seeded())]
    for one, other in zip(itertools.chain(*first), itertools.chain(*second), strict=True):
        assert testing.same_value(one.value, other.value)
        assert one.insecure == other.insecure
    for law in (testing.check_behaviour_is_public, testing.check_seed_is_stamped, testing.check_runs_are_independent):
        law(again)
    assert len(RUNS) == spent
    assert loaded.made == 0


def test_worlds_of_another_mechanism_are_refused(tmp_path):
    example, path = example_of(Slow()), tmp_path / "worlds.json"
    testing.worlds_of(example).left(1)
    testing.worlds_of(example).save(path)
    with pytest.raises(InvalidData, match="another mechanism"):
        testing.Worlds.load(path, example_of(Slow(dimension=401)))
    path.write_text('{"privet_worlds": 1}')
    with pytest.raises(InvalidData, match="no worlds"):
        testing.Worlds.load(path, example)
    path.write_text("nothing")
    with pytest.raises(InvalidData, match="no worlds"):
        testing.Worlds.load(path, example)


# --- mappings, tables, models, protected lengths -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Shaped(Mechanism):
    """A noisy number in the form that is asked for; `open` lets its length depend on the noise."""

    name = "shaped_mechanism_of_the_tests"
    form_: str = "mapping"
    leak: bool = False

    @property
    def loss(self):
        return PureLoss(1.0)

    def _prepare(self, value):
        return float(value)

    def _draw(self, prepared, runs, source):
        drawn = noise.discrete_laplace(scale=1, size=runs, source=source) + int(prepared)
        return [self._shaped(int(number), prepared) for number in np.asarray(drawn).tolist()]

    def _shaped(self, number, prepared):
        cells = np.full(2 + int(self.leak and prepared), float(number))
        if self.form_ == "mapping":
            return MappingProxyType({"a": cells, "b": number})
        if self.form_ == "table":
            return pandas.DataFrame({"a": cells})
        if self.form_ == "model":
            return Model(cells)
        return {f"key {j}": float(number) for j in range(max(number, 0))}  # discovered keys

    def error(self, confidence=0.95):
        return None

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(), 0, 1)


LAWS = [
    testing.check_behaviour_is_public,
    testing.check_seed_is_stamped,
    testing.check_runs_are_independent,
    testing.check_every_coin_is_from_noise,
    testing.check_simulation_is_the_release,
]


@pytest.mark.parametrize("form", ["mapping", "table", "model"])
def test_laws_take_mappings_tables_and_models(form):
    example = Example(Shaped(form_=form), 0, 1)
    for law in LAWS[:4]:
        law(example)
    with pytest.raises(AssertionError, match="form of the output"):
        testing.check_behaviour_is_public(Example(Shaped(form_=form, leak=True), 0, 1))


def test_laws_take_outputs_of_protected_length():
    example = Example(Shaped(form_="keys"), 3, 4, lengths="protected")
    for law in LAWS:
        law(example)
    public = Example(Shaped(form_="keys"), 3, 60)
    with pytest.raises(AssertionError, match="form of the output"):
        testing.check_behaviour_is_public(public)


@pytest.mark.parametrize("form", ["mapping", "table", "model", "keys"])
def test_the_referee_reads_their_arrays(form):
    pair = [(0, 1)] if form != "keys" else [(3, 4)]
    found = audit.mechanism(Shaped(form_=form), neighbours=audit.Pairs(pair, checked=False), runs=800, alpha=1e-6)
    assert found.verdict == "not refuted", str(found)
    weak = audit.mechanism(
        Shaped(form_=form), claim=PureLoss(0.1), neighbours=audit.Pairs(pair, checked=False), runs=1_000, alpha=1e-3
    )
    assert weak.verdict == "violated", str(weak)


def test_same_value_looks_inside():
    table = pandas.DataFrame({"a": [1.0, 2.0]})
    assert testing.same_value(table, table.copy())
    assert not testing.same_value(table, table + 1.0)
    assert testing.same_value(Model(np.ones(2)), Model(np.ones(2)))
    assert not testing.same_value(Model(np.ones(2)), Model(np.zeros(2)))
    assert testing.same_value(MappingProxyType({"a": np.ones(2)}), {"a": np.ones(2)})
    assert not testing.same_value({"a": np.ones(2)}, {"b": np.ones(2)})
