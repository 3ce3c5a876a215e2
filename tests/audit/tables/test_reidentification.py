"""Re-identification: exact figures on every engine, missing values, one row, and the tables of the lectures."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

import privet as pv
from privet import audit
from privet.errors import InvalidData, InvalidParameter

DATA = Path(os.environ.get("PRIVET_DATA", "data"))
ROWS = {
    "age": [30, 30, 40, 40, 40, 50, None, None],
    "sex": ["f", "m", "f", "f", "f", "m", "m", "m"],
    "ill": ["a", "b", "a", "a", "b", "c", "a", "a"],
}
KINDS = {"age": pv.Int(0, 110), "sex": pv.Category(["f", "m"]), "ill": pv.Category(["a", "b", "c"])}


def people(source=ROWS, **more):
    return pv.Table(source, columns=KINDS, **more)


def test_the_figures_of_a_small_table():
    found = audit.exact_reidentification(people(), quasi=["age", "sex"], sensitive="ill")
    assert found.sizes == {1: 3, 2: 1, 3: 1}
    assert (found.rows, found.cells, found.least) == (8, 5, 1)
    assert found.exact_unique == 3 / 8
    assert found.exact_small == 1.0
    assert (found.exact_prosecutor, found.exact_marketer) == (1.0, 5 / 8)
    assert found.diversity.least == 1
    assert found.diversity.exact_alike == 5 / 8
    assert found.diversity.farthest == pytest.approx(1.0 - 1 / 8)  # the cell whose one row is the only c
    assert "not releasable" in found.explain()
    assert "not a guarantee" in found.explain()
    assert "private release of these counts" in found.explain()


def test_cells_of_five_are_not_small():
    of = {1: 0, 4: 2, 5: 2}
    assert audit.Reidentification(("age",), of).exact_small == 8 / 18


def test_missing_values_are_a_value_of_their_own_whatever_the_schema_says():
    found = audit.exact_reidentification(people(), quasi=["age"])
    assert found.rows == 8  # two of which have no age
    assert found.sizes == {1: 1, 2: 2, 3: 1}


def test_one_row_and_none():
    alone = audit.exact_reidentification(people({name: values[:1] for name, values in ROWS.items()}), quasi=["sex"])
    assert (alone.exact_unique, alone.least, alone.identifiers) == (1.0, 1, ())
    empty = {"age": np.array([], dtype=int), "sex": np.array([], dtype=str), "ill": np.array([], dtype=str)}
    with pytest.raises(InvalidData, match="no rows"):
        audit.exact_reidentification(people(empty), quasi=["sex"])


def test_a_column_of_names_is_called_an_identifier():
    many = {"name": [f"n{i}" for i in range(50)], "sex": ["f", "m"] * 25}
    table = pv.Table(many, columns={"name": pv.Text(), "sex": pv.Category(["f", "m"])})
    assert audit.exact_reidentification(table, quasi=["name", "sex"]).identifiers == ("name",)
    sets = audit.exact_identifying_sets(table)
    assert sets.identifiers == ("name",)
    assert sets.exact_sets == ()


def test_rows_of_persons_are_all_counted():
    rows = {"who": [1, 1, 1, 2], "sex": ["f", "f", "f", "m"]}
    table = pv.Table(rows, columns={"sex": pv.Category(["f", "m"])}, unit=pv.Person("who", max_rows=1))
    assert audit.exact_reidentification(table, quasi=["sex"]).rows == 4


def test_rows_that_are_kept_and_columns_that_are_derived():
    table = people()
    kept = table.where(table["sex"] == "f").derive(old=table["age"] >= 40)
    assert audit.exact_reidentification(kept, quasi=["old"]).sizes == {1: 1, 3: 1}


def test_what_cannot_be_grouped_is_refused():
    table = pv.Table({"cost": [1.0]}, columns={"cost": pv.Float(0, 9)})
    with pytest.raises(InvalidParameter, match="bins"):
        audit.exact_reidentification(table, quasi=["cost"])
    for quasi in ([], ["sex", "sex"], ["height"]):
        with pytest.raises(InvalidParameter):
            audit.exact_reidentification(people(), quasi=quasi)
    with pytest.raises(InvalidParameter, match="no quasi"):
        audit.exact_reidentification(people(), quasi=["sex", "ill"], sensitive="ill")
    with pytest.raises(InvalidParameter, match="more than 4"):
        audit.exact_identifying_sets(people(), largest=5)


def test_minimal_sets_hold_no_smaller_one():
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 5, 60) for name in "abcd"}
    table = pv.Table(columns, columns={name: pv.Int(0, 4) for name in columns})
    found = audit.exact_identifying_sets(table, share=0.3)
    assert found.exact_sets
    for names, share in found.exact_sets:
        assert share == audit.exact_reidentification(table, quasi=names).exact_unique >= 0.3
        for left in names:
            fewer = [name for name in names if name != left]
            assert not fewer or audit.exact_reidentification(table, quasi=fewer).exact_unique < 0.3
    assert "were looked at" in found.explain()


def test_links_by_time_and_place_and_how_many_are_right():
    kinds = {"hour": pv.Int(0, 23), "place": pv.Int(0, 99), "who": pv.Text()}
    trips = pv.Table(
        {"hour": [8, 8, 9, 9, 10], "place": [1, 1, 2, 3, 4], "who": list("abcde")}, columns=kinds, name="trips"
    )
    seen = pv.Table({"hour": [8, 9, 9, 11], "place": [1, 2, 3, 4], "who": list("acxe")}, columns=kinds, name="seen")
    found = audit.exact_linkage(seen, trips, on=["hour", "place"], truth="who")
    assert (found.rows, found.linked, found.right) == (4, 2, 1)
    assert "1 of these links are right" in found.explain()


def test_a_missing_place_meets_no_missing_place():
    kinds = {"hour": pv.Int(0, 23, null=True), "place": pv.Int(0, 9, null=True)}
    one = pv.Table({"hour": [8, None], "place": [1, 2]}, columns=kinds)
    two = pv.Table({"hour": [8, None], "place": [1, 2]}, columns=kinds, name="seen")
    assert audit.exact_linkage(one, two, on=["hour", "place"]).linked == 1


def test_the_share_of_undone_pseudonyms_is_one_of_rows():
    first, second = (hashlib.md5(each.encode()).hexdigest() for each in ("1A23", "nobody"))
    trips = pv.Table({"medallion": [first] * 3 + [second]}, columns={"medallion": pv.Text()})
    found = audit.exact_pseudonyms(trips, "medallion", audit.spellings("9A99"))
    assert (found.undone, found.pseudonyms, found.exact_share) == (1, 2, 0.75)


def test_hashes_of_a_small_space_are_undone_and_keyed_ones_are_not():
    numbers = ["1A23", "7C11", "1A23"]
    plain = [hashlib.md5(each.encode()).hexdigest() for each in numbers]
    keyed = [hashlib.md5(("secret" + each).encode()).hexdigest() for each in numbers]
    kinds = {"medallion": pv.Text()}
    undone = audit.exact_pseudonyms(pv.Table({"medallion": plain}, columns=kinds), "medallion", audit.spellings("9A99"))
    assert (undone.pseudonyms, undone.undone, undone.exact_share) == (2, 2, 1.0)
    kept = audit.exact_pseudonyms(pv.Table({"medallion": keyed}, columns=kinds), "medallion", audit.spellings("9A99"))
    assert (kept.undone, kept.tried) == (0, 26_000)
    by_hand = audit.exact_pseudonyms(
        pv.Table({"medallion": ["X1A23"]}, columns=kinds), "medallion", ["1A23"], digest=lambda text: "X" + text
    )
    assert by_hand.undone == 1
    with pytest.raises(InvalidParameter, match="no hash"):
        audit.exact_pseudonyms(pv.Table({"medallion": plain}, columns=kinds), "medallion", ["1"], digest="rot13")


def test_files_and_frames_give_the_same_figures(tmp_path):
    import polars

    polars.DataFrame(ROWS).write_parquet(tmp_path / "t.parquet")
    polars.DataFrame(ROWS).write_csv(tmp_path / "t.csv")
    wanted = audit.exact_reidentification(people(), quasi=["age", "sex"], sensitive="ill")
    for source in (tmp_path / "t.parquet", str(tmp_path / "t.csv"), polars.DataFrame(ROWS)):
        assert audit.exact_reidentification(people(source), quasi=["age", "sex"], sensitive="ill") == wanted


ADULT = {
    ("age", "sex"): (0.0002, 0.0005),
    ("age", "sex", "race", "native-country"): (0.0408, 0.0932),
    ("age", "sex", "race", "native-country", "education"): (0.1075, 0.1968),
    ("age", "sex", "race", "native-country", "education", "occupation", "marital-status"): (0.3677, 0.6191),
}
TAXI = {
    ("shift", "pickup_community_area"): (0.0008, 0.0050),
    ("shift", "pickup_community_area", "dropoff_community_area"): (0.0318, 0.0743),
    ("shift", "pickup_community_area", "dropoff_community_area", "company_id"): (0.1198, 0.2480),
    (): (0.4411, 0.6812),  # all ten columns
}


def frame_of(path):
    polars = pytest.importorskip("polars")
    if not path.exists():
        pytest.skip("PRIVET_DATA names no folder with this table")
    return polars.read_csv(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "wanted"),
    [("adult/adult_train.csv.gz", ADULT), ("nist_taxi/nist_taxi.csv.gz", TAXI)],
    ids=["adult", "taxi"],
)
def test_the_figures_of_the_page(path, wanted):
    frame = frame_of(DATA / path)
    kinds = {name: pv.Int(-1, 2_000_000) if kind.is_integer() else pv.Text() for name, kind in frame.schema.items()}
    table = pv.Table(frame, columns=kinds)
    for quasi, (unique, small) in wanted.items():
        found = audit.exact_reidentification(table, quasi=quasi or list(kinds))
        assert (round(found.exact_unique, 4), round(found.exact_small, 4)) == (unique, small), quasi
