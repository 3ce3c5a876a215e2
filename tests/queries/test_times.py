"""Columns of times through the public door: hours, dates, durations and conditions, from whatever holds a time."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidParameter, MixedUnits

STARTS = np.datetime64("2024-03-01T00:00:30") + np.arange(0, 3000, 7).astype("timedelta64[m]")
STOPS = STARTS + np.timedelta64(11, "m")
COLUMNS = {
    "start": pv.Time("2024-03-01", datetime(2024, 3, 4)),
    "stop": pv.Time("2024-03-01", "2024-03-04"),
    "cost": pv.Float(0, 10),
}


def frame() -> dict[str, Any]:
    return {"start": STARTS, "stop": STOPS, "cost": np.ones(len(STARTS))}


def asked(data: Any, make: Any) -> Any:
    """The answer, without any noise to speak of."""
    table = pv.Table(data, columns=COLUMNS)
    ledger = pv.Ledger.create("memory:", epsilon=1e7)
    return ledger.release(make(table), epsilon=1e6).value


def hours(table: pv.Table) -> Any:
    return table.derive(hour=table["start"].hour).group_by("hour").agg(n=pv.count())


def sources(folder: Path) -> dict[str, Any]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    plain = pandas.DataFrame(frame())
    made: dict[str, Any] = {"arrays": frame(), "pandas": plain, "polars": polars.from_pandas(plain)}
    made["zoned"] = plain.assign(start=plain["start"].dt.tz_localize("UTC").dt.tz_convert("Asia/Kathmandu"))
    made["texts"] = plain.assign(start=plain["start"].astype(str))
    zone = timezone(timedelta(hours=-5))
    made["zoned objects"] = frame() | {"start": [each.item().replace(tzinfo=UTC).astimezone(zone) for each in STARTS]}
    made["objects"] = frame() | {"start": [each.item() for each in STARTS], "stop": STOPS.astype(str).tolist()}
    plain.to_csv(folder / "rides.csv", index=False)
    plain.to_parquet(folder / "rides.parquet")
    return made | {"csv": str(folder / "rides.csv"), "parquet": str(folder / "rides.parquet")}


def test_hours_are_those_of_numpy_whatever_holds_the_times(tmp_path: Path) -> None:
    expected = np.bincount(STARTS.astype("datetime64[h]").astype(int) % 24, minlength=24)
    for name, data in sources(tmp_path).items():
        found = asked(data, hours)
        assert np.array_equal(found["n"], expected), name


def test_durations_dates_and_conditions() -> None:
    def mean(table: pv.Table) -> Any:
        return table.derive(took=(table["stop"] - table["start"]).clip(0, 3600)).agg(mean=pv.mean("took"))

    def days(table: pv.Table) -> Any:
        return table.derive(day=table["start"].date).group_by("day").agg(n=pv.count())

    def late(table: pv.Table) -> Any:
        return table.where((table["start"] >= "2024-03-02 12:00") & (table["start"] < table["stop"])).agg(n=pv.count())

    assert asked(frame(), mean)["mean"][0] == pytest.approx(660, abs=0.1)
    expected = [int((STARTS.astype("datetime64[D]") == np.datetime64(f"2024-03-0{day}")).sum()) for day in (1, 2, 3, 4)]
    assert asked(frame(), days)["n"].tolist() == expected
    assert asked(frame(), late)["n"][0] == int((np.datetime64("2024-03-02T12:00") <= STARTS).sum())


def test_what_lies_outside_is_moved_and_what_is_no_time_is_missing() -> None:
    columns = {"at": pv.Time("2024-03-01 06:00", "2024-03-01 18:00")}
    table = pv.Table({"at": ["1999-01-01", "2024-03-01 07:30", "2030-01-01 00:00", "noon", None, 5]}, columns=columns)
    ledger = pv.Ledger.create("memory:", epsilon=1e7)
    found = ledger.release(table.derive(h=table["at"].hour).group_by("h").agg(n=pv.count()), epsilon=1e6).value["n"]
    assert {hour: int(n) for hour, n in enumerate(found) if n} == {6: 1, 7: 1, 18: 1}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda t: t.group_by("start"), "a part of them"),
        (lambda t: t.group_by(t["start"].hour), "grouped by its name"),
        (lambda t: t.group_by("start", discover=True), "a part of them"),
        (lambda t: t.agg(m=pv.mean("start")), "a part of it"),
        (lambda t: t.agg(m=pv.quantile("start", 0.5)), "a part of it"),
        (lambda t: t.histogram("start"), "no bins|a part of them"),
        (lambda t: t.derive(x=t["start"] + 5), "only numbers"),
        (lambda t: t.derive(x=t["start"] + t["stop"]), "only numbers"),
        (lambda t: t.derive(x=t["start"] * 2), "only numbers"),
        (lambda t: t.derive(x=t["start"].cut([1, 2])), "the .date or the .hour"),
        (lambda t: t.derive(x=t["cost"].hour), "part of a time"),
        (lambda t: t.derive(x=t["start"].hour()), "without brackets"),
        (lambda t: t.where(t["start"] > "noon"), "such as"),
        (lambda t: t.where(t["start"] > 5), "got int"),
        (lambda t: t.where(t["start"] > t["cost"]), "both times"),
        (lambda t: pv.Time("2024-03-02", "2024-03-01"), "must not be above"),
        (lambda t: pv.Time(1, 2), "must be a time"),
    ],
)
def test_mistakes_are_told_with_their_cure(make: Any, told: str) -> None:
    with pytest.raises(InvalidParameter, match=told):
        make(pv.Table(frame(), columns=COLUMNS))


def test_a_schema_file_holds_times(tmp_path: Path) -> None:
    lines = '[unit]\nkind = "rows"\n[columns.start]\nkind = "time"\nlower = 2024-03-01\nupper = 2024-03-04T00:00:00\n'
    (tmp_path / "s.toml").write_text(lines)
    table = pv.Table(frame(), schema=tmp_path / "s.toml")
    assert table.columns["start"] == COLUMNS["start"]
    assert 'kind = "time"' in str(table.schema)


def test_a_ledger_about_records_says_how_to_pay_for_persons() -> None:
    table = pv.Table({"who": [1, 1, 2], "x": [1, 2, 3]}, columns={"x": pv.Int(0, 3)}, unit=pv.Person("who", max_rows=2))
    ledger = pv.Ledger.create("memory:", epsilon=1.0)
    with pytest.raises(MixedUnits, match=r"nothing was spent. Begin a ledger for it .*unit=table.unit"):
        ledger.release(table.agg(n=pv.count()), epsilon=0.5)
    mine = pv.Ledger.create("memory:", epsilon=1.0, unit=table.unit)
    assert mine.release(table.agg(n=pv.count()), epsilon=0.5).paid is not None
