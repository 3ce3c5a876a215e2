"""How answers read: keys as they are written, one word for what is missing, crosstabs, and what joins keep."""

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.errors import InvalidParameter

DATA = {
    "year": [2004, 2005, None, 2004],
    "sex": ["f", "m", "f", None],
    "ill": [True, None, False, True],
    "who": [1, 2, 3, 4],
}
COLUMNS = {"year": pv.Int(2004, 2005, null=True), "sex": pv.Category(["f", "m"], null=True), "ill": pv.Bool(null=True)}


def people() -> pv.Table:
    return pv.Table(DATA, columns=COLUMNS, name="people")


def released(query, table=None):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6), unit=(table or people()).unit)
    return ledger.release(query, epsilon=1e3)


def test_years_are_years_and_numbers_stay_numbers_beside_missing_ones():
    release = released(people().group_by("year").agg(n=pv.count()))
    assert release.value["year"].tolist() == [2004, 2005, None]
    assert "2004" in str(release.value)
    assert "2,004" not in str(release.value) + release.value._repr_html_()
    other = pd.DataFrame({"year": [2004, 2005], "rate": [0.5, 0.75]})
    assert release.to_pandas().merge(other, on="year")["rate"].tolist() == [0.5, 0.75]
    assert released(people().group_by("ill").agg(n=pv.count())).value["ill"].tolist() == [False, True, None]


def test_keys_that_are_kept_come_back_as_they_were():
    table = people()
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0), unit=table.unit)
    query = table.group_by("year", "ill").agg(n=pv.count())
    first = ledger.release(query, epsilon=1.0, key="a").value
    assert ledger.release(query, epsilon=1.0, key="a").value == first
    assert ledger.spent.epsilon <= 1.0


@pytest.mark.parametrize("ask", [lambda t: t.group_by("year").agg(n=pv.count()), lambda t: t.marginals("year", "ill")])
def test_what_is_missing_has_one_word(ask):
    answer = released(ask(people())).value
    assert None in answer["year"].tolist()
    assert "(missing)" in str(answer)
    assert "None" not in str(answer)


def test_tables_of_counts_keep_numbers_and_say_all():
    both = released(people().marginals("year", "ill")).value
    assert both["year"].tolist() == [2004] * 3 + [2005] * 3 + [None] * 3
    one = released(people().marginals("year", "ill", way=1)).value
    assert one["year"].tolist() == ["2004", "2005", None, "(all)", "(all)", "(all)"]
    assert len(released(people().marginals("year", "ill", way=1)).to_polars()) == 6


def test_a_crosstab_is_laid_out_wide():
    release = released(people().crosstab("year", "sex"))
    wide = release.value.wide("sex")
    assert list(wide.columns())[:2] == ["year", "f"]
    assert wide["f"].tolist() == [1, 0, 1]
    assert wide["(missing)"].tolist() == [1, 0, 0]
    wanted = pd.crosstab(pd.Series(DATA["year"]), pd.Series(DATA["sex"]))
    assert wide["m"].tolist()[:2] == wanted["m"].tolist()
    low, high = wide.interval("f")
    assert (low <= wide["f"]).all()
    assert (wide["f"] <= high).all()
    binned = people().derive(old=people()["year"].cut([2005])).group_by("old", "sex").agg(n=pv.count(), y=pv.sum("ill"))
    assert "[2005, 2005]" in str(released(binned).value.wide("old", of="n"))
    flat = released(people().group_by("sex").agg(n=pv.count())).value.wide("sex")
    assert len(flat) == 1


def test_what_cannot_be_laid_out_is_said():
    answer = released(people().crosstab("year", "sex")).value
    with pytest.raises(InvalidParameter, match="has no key 'ward'"):
        answer.wide("ward")
    with pytest.raises(InvalidParameter, match="which number"):
        answer.wide("sex", of="m")
    part = pv.queries.Answer({"a": np.array([1, 1, 2]), "b": np.array([1, 2, 1])}, {"n": np.array([1, 2, 3])}, {}, {})
    with pytest.raises(InvalidParameter, match="every combination"):
        part.wide("b")


def test_a_preview_says_how_many_joined_rows_of_a_person_count():
    left = pv.Table(DATA, columns={"sex": COLUMNS["sex"]}, unit=pv.Person("who", max_rows=1), name="people")
    right = pv.Table(
        {"who": [1], "fee": [3]}, columns={"fee": pv.Int(0, 9)}, unit=pv.Person("who", max_rows=20), name="orders"
    )
    one, many = (t.agg(s=pv.sum("fee")).preview(epsilon=1.0) for t in (left.join(right), right.join(left)))
    assert "at most 1 count" in str(one)
    assert "at most 20 count" in str(many)
    assert "joined" not in str(right.agg(s=pv.sum("fee")).preview(epsilon=1.0))


def test_a_printed_release_ends_with_the_level_of_its_intervals():
    release = released(people().group_by("sex").agg(n=pv.count(), ill=pv.mean("ill")))
    assert str(release).splitlines()[-1] == "(95% intervals, each by itself)"
    assert str(release).startswith(str(release.value) + "\n")
