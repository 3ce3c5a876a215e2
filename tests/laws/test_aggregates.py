"""Every law of aggregates over every registered one, and twins that break each of them."""

from dataclasses import dataclass

import pytest

from privet import queries, testing
from privet.queries import AggregateExample, registered_aggregates
from privet.queries.aggregate import Aggregate, spellings
from privet.queries.aggregates import Mean, Quantile, Sum
from privet.queries.family import Family, Want
from privet.queries.reading import Read, mean_of, sum_of
from privet.tables import Int
from tests.firsts import first_of_each, slow

EXAMPLES = [example for kind in registered_aggregates().values() for example in kind.examples()]


@pytest.mark.parametrize("check_law", testing.laws_of("aggregate"), ids=lambda law: law.__name__)
@pytest.mark.parametrize("example", first_of_each(EXAMPLES, lambda example: example.kind))
def test_law(check_law, example):
    check_law(example)


def test_every_aggregate_is_registered():
    made = [each for each in Aggregate.__subclasses__() if each.__module__.startswith("privet.")]
    assert sorted(made, key=str) == sorted(registered_aggregates().values(), key=str)
    assert len({str(example) for example in EXAMPLES}) == len(EXAMPLES)
    assert {example.kind for example in EXAMPLES} == set(registered_aggregates())


@dataclass(frozen=True)
class Twin(Aggregate):
    """A mean with something changed: what a law must see."""

    change: str = ""
    column: str = "x"

    def wants(self):
        return Want("moments", self.column, 1)

    def read(self, noisy, columns, confidence):
        read = mean_of(noisy, columns[self.column], confidence)
        if self.change == "reads the sum":
            return sum_of(noisy, confidence)
        if self.change == "no number without rows" and abs(noisy.values.sum()) < 40 * noisy.scale:
            return Read(read.value / 0.0, *read[1:])
        if self.change == "beside its interval":
            return Read(read.value - 9.0, *read[1:])
        return read

    def half_width(self, even, columns, confidence):
        return super().half_width(even, columns, confidence) * (0.9 if self.change == "a rosy preview" else 1.0)

    def constant(self, columns):
        return Read(7.0, 7.0, 7.0) if self.change == "other constants" else Read(0.0, 0.0, 0.0)

    @classmethod
    def examples(cls):
        yield AggregateExample("twin", cls(), next(iter(Mean.examples())).exact)


BROKEN = {
    "reads the sum": "check_is_what_it_says",
    "beside its interval": "check_is_what_it_says",
    "no number without rows": "check_empty_data_are_answered",
    "other constants": "check_empty_data_are_answered",
    "a rosy preview": "check_preview_is_what_is_read",
}


def twin(change):
    return AggregateExample("twin", Twin(change), next(iter(Mean.examples())).exact)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_aggregate_is_seen(what):
    with pytest.raises(AssertionError, match="twin"):
        getattr(testing, BROKEN[what])(twin(what))


@pytest.mark.parametrize("check_law", testing.laws_of("aggregate"), ids=lambda law: law.__name__)
def test_a_sound_twin_passes(check_law):
    check_law(twin(""))


@pytest.mark.parametrize("kind", [Sum, slow(Mean)])
def test_noise_for_less_than_a_person_moves_is_seen(kind, monkeypatch):
    sound = Family.sensitivity
    monkeypatch.setattr(
        Family, "sensitivity", lambda self, reach, unit, norm: sound(self, reach, type(unit)(person=unit.person), norm)
    )
    monkeypatch.setattr(queries.TableAnswers, "__post_init__", lambda self: None)  # it would refuse such a part itself
    with pytest.raises(AssertionError, match="is priced"):
        testing.check_moves_as_priced(next(iter(kind.examples())))


def test_scores_that_move_further_are_seen(monkeypatch):
    monkeypatch.setattr("privet.queries.query.moved_by", lambda request, plan: 1)
    monkeypatch.setattr(queries.TableAnswers, "__post_init__", lambda self: None)
    with pytest.raises(AssertionError, match="scores"):
        testing.check_moves_as_priced(next(iter(Quantile.examples())))


def test_every_spelling_makes_a_registered_aggregate():
    made = [each.make("x", 0.5) if name == "quantile" else _made(each) for name, each in spellings().items()]
    assert {type(each) for each in made} == set(registered_aggregates().values())
    words = [word for each in spellings().values() for word in each.sql]
    assert len(set(words)) == len(words)


def _made(spelling):
    try:
        return spelling.make("x")
    except Exception:
        return spelling.make()


def test_sql_and_refusals_know_a_new_aggregate(monkeypatch):
    """Closed lists knew neither."""
    from privet.queries import aggregate

    monkeypatch.setattr(aggregate, "_SPELLINGS", spellings())

    @queries.spelt(sql=("TWIN",), alike=("zwilling",))
    def twin_of(column: str) -> Twin:
        return Twin(column=column)

    table = queries.Table({"x": [1, 2]}, columns={"x": Int(-2, 3)}, name="t")
    assert table.sql("SELECT TWIN(x) AS t FROM t").outputs == (("t", Twin()),)
    with pytest.raises(AttributeError, match=r"pv.twin_of\(\"x\"\)"):
        table["x"].zwilling  # noqa: B018
