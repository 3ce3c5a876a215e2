"""Batches: one price and one payment for several queries, and a split that makes the worst of them as good as can be."""

import pytest

import privet as pv
from privet import testing
from privet.errors import BudgetExceeded, InvalidParameter, NoGuarantee
from privet.mechanisms import Example
from privet.queries import BatchAnswers

DATA = {"who": [1, 1, 2, 3], "ward": ["A", "B", "A", "C"], "age": [30, 70, 65, 10], "city": ["Rome"] * 4}
COLUMNS = {"ward": pv.Category(["A", "B", "C", "D"]), "age": pv.Int(0, 110), "city": pv.Text()}


@pytest.fixture
def visits():
    return pv.Table(DATA, columns=COLUMNS, unit=pv.Person("who", max_rows=2), name="visits")


@pytest.fixture
def asked(visits):
    return pv.batch(
        all=visits.agg(n=pv.count()),
        wards=visits.group_by("ward").agg(n=pv.count(), age=pv.mean("age")),
        ages=visits.quantiles("age", [0.25, 0.5]),
        median=visits.agg(age=pv.median("age")),
        most=visits.top_k("ward", 2),
        both=visits.counts(old=visits["age"] > 65, old_a=(visits["age"] > 65) & (visits["ward"] == "A")),
    )


def test_the_worst_relative_error_is_the_least(asked):
    made = asked.for_budget(epsilon=1.0)
    weights = [part.weight() for part in made.parts]
    equal = [query.for_budget(epsilon=1.0 / 6.0) for _, query in asked.queries]
    assert max(weights) < 1.02 * min(weights)  # nothing can be taken from one without making another the worst
    assert max(weights) < max(part.weight() for part in equal)


@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6}, {"mu": 0.5}])
def test_the_price_keeps_the_promise(visits, promise):
    plain = pv.batch(all=visits.agg(n=pv.count()), wards=visits.group_by("ward").agg(n=pv.count()))
    made = plain.for_budget(**promise)
    testing.check_meets_its_budget(Example(made, plain.data, plain.data, pv.privacy.Guarantee(**promise)))
    if promise == {"epsilon": 1.0}:
        assert 1.0 - 1e-9 < made.loss.pure() <= 1.0


def test_delta_is_shared(visits):
    by_city = visits.group_by("city", discover=True).agg(n=pv.count())  # keys that are found need a delta each
    asked = pv.batch(here=by_city, there=by_city)
    told = asked.preview(epsilon=1.0, delta=1e-6)
    assert sum(share["delta"] for share in told.shares.values()) <= 1e-6
    testing.check_meets_its_budget(
        Example(told.mechanism, asked.data, asked.data, pv.privacy.Guarantee(epsilon=1.0, delta=1e-6))
    )


def test_gaussian_noise_is_taken_where_it_is_less(visits):
    many = pv.batch(**{f"q{i}": visits.agg(n=pv.count()) for i in range(40)})
    made = many.for_budget(epsilon=1.0, delta=1e-5)
    assert made.loss.pure() == float("inf")
    assert made.at == 1e-5
    assert pv.accounting.epsilon(made.loss, delta=1e-5).upper <= 1.0 + 1e-9
    assert made.weight() < 0.6 * many.for_budget(epsilon=1.0).weight()


def test_one_payment_and_an_answer_by_name(asked):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.5), unit=asked.unit)
    release = ledger.release(asked, epsilon=1.0, key="all of it")
    assert list(release.value) == ["all", "wards", "ages", "median", "most", "both"]
    assert release.value["wards"]["ward"].tolist() == ["A", "B", "C", "D"]
    assert [entry.kind for entry in ledger.entries()] == ["open", "reserve", "release"]
    again = ledger.release(asked, epsilon=1.0, key="all of it")
    assert again.value["wards"] == release.value["wards"]
    with pytest.raises(BudgetExceeded):
        ledger.release(asked, epsilon=1.0)
    assert [entry.kind for entry in ledger.entries()] == ["open", "reserve", "release"]


def test_a_preview_reads_nothing(tmp_path):
    visits = pv.Table(tmp_path / "none.csv", columns=COLUMNS, unit=pv.Person("who", max_rows=2))
    asked = pv.batch(all=visits.agg(n=pv.count()), cities=visits.group_by("city", discover=True).agg(n=pv.count()))
    told = asked.preview(epsilon=1.0, delta=1e-6)
    assert list(told.shares) == ["all", "cities"]
    assert "keys are shown from a noisy count" in str(told)
    assert "group by city" in asked.explain()
    with pytest.raises(NoGuarantee):
        asked.preview(epsilon=1.0)


def test_tables_must_agree(visits):
    alone = pv.Table(DATA, columns=COLUMNS, name="visits")
    with pytest.raises(InvalidParameter, match="same unit"):
        pv.batch(a=visits.agg(n=pv.count()), b=alone.agg(n=pv.count()))
    other = pv.Table(dict(DATA), columns=COLUMNS, unit=pv.Person("who", max_rows=2), name="others")
    same = pv.Table({"who": [1]}, columns={}, unit=pv.Person("who", max_rows=1), name="visits")
    both = pv.batch(a=visits.agg(n=pv.count()), b=other.agg(n=pv.count()))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=200.0), unit=both.unit)
    answers = ledger.release(both, epsilon=200.0).value
    assert [int(answer["n"][0]) for answer in answers.values()] == [4, 4]
    with pytest.raises(InvalidParameter, match="two different tables"):
        pv.batch(a=visits.agg(n=pv.count()), b=same.agg(n=pv.count()))
    with pytest.raises(InvalidParameter, match="what is asked"):
        pv.batch()
    with pytest.raises(InvalidParameter, match="must be a query"):
        pv.batch(a=visits)


def test_mechanisms_of_two_units_are_no_batch(visits):
    alone = pv.Table(DATA, columns=COLUMNS, name="visits")
    persons, rows = (table.agg(n=pv.count()).for_budget(epsilon=1.0) for table in (visits, alone))
    assert persons.unit != rows.unit
    assert BatchAnswers(labels=("a", "b"), parts=(persons, persons)).unit == persons.unit
    with pytest.raises(InvalidParameter, match="must protect the same unit"):
        BatchAnswers(labels=("a", "b"), parts=(persons, rows))


def test_a_batch_that_forgets_a_query_is_caught():
    (example,) = BatchAnswers.examples()

    class Forgetful(type(example.mechanism)):
        name = "example_forgetful_batch"

        @property
        def loss(self):
            return self.parts[0].loss

    twin = Forgetful(labels=example.mechanism.labels, parts=example.mechanism.parts)
    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(Example(twin, example.left, example.right, cost="costly"))
