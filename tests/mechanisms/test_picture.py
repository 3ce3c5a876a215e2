"""Pictures of releases: every number with its interval, drawn from what was released alone."""

import numpy as np
import pytest

import privet as pv
from privet import privacy
from privet.errors import InvalidParameter, MissingExtra
from privet.mechanisms import ErrorBar, Estimate, Release
from tests.tables.test_notebook import messages_of

PAID = privacy.PureLoss(0.5)


@pytest.fixture(scope="module")
def visits() -> pv.Table:
    ages, wards = [20, 35, 60, 61] * 25, ["A", "B", "A", "C"] * 25
    columns = {
        "age": pv.Int(0, 110),
        "ward": pv.Category(["A", "B", "C"]),
        "ill": pv.Bool(),
        "day": pv.Date("2026-01-01", "2026-02-28"),
    }
    data = {"age": ages, "ward": wards, "ill": [True, False] * 50, "day": [np.datetime64("2026-01-05")] * 100}
    return pv.Table(data, columns=columns)


def released(table: pv.Table, query: object) -> Release:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0), unit=table.unit)
    return ledger.release(query, epsilon=50.0)


def drawn(figure: object, axis: int = 0) -> list[tuple[float, float, float, float]]:
    """Place, value and ends of every interval on one set of axes, whichever way it is turned."""
    found = []
    for made in figure.axes[axis].containers:
        if type(made).__name__ != "ErrorbarContainer":
            continue
        upright = made.has_yerr
        x, y = made.lines[0].get_data()
        ends = [segment for lines in made.lines[2] for segment in lines.get_segments()]
        for i, (place, value) in enumerate(zip(x, y, strict=True) if upright else zip(y, x, strict=True)):
            low, high = sorted(point[1 if upright else 0] for point in ends[i]) if ends else (value, value)
            found.append((float(place), float(value), float(low), float(high)))
    return found


def test_groups_are_drawn_with_their_intervals(visits: pv.Table) -> None:
    release = released(visits, visits.group_by("ward").agg(n=pv.count(), old=pv.mean("age")))
    figure = release.plot()
    assert len(figure.axes) == 2
    for axis, name in enumerate(("n", "old")):
        low, high = release.value.interval(name)
        for place, (_, value, first, last) in enumerate(drawn(figure, axis)):
            assert (value, first, last) == pytest.approx((release.value[name][place], low[place], high[place]))
        assert [text.get_text() for text in figure.axes[axis].get_yticklabels()] == ["A", "B", "C"]
    said = [text.get_text() for text in figure.axes[0].texts]
    assert said == ["95% intervals, each by itself; epsilon 50"]
    assert len(release.plot(of="old").axes) == 1


def test_a_twin_that_swaps_the_ends_is_seen(visits: pv.Table) -> None:
    release = released(visits, visits.group_by("ward").agg(n=pv.count()))
    low, high = release.value.interval("n")
    twin = Release(
        type(release.value)(release.value.keys, release.value.values, {"n": low - 5}, {"n": high}), loss=PAID
    )
    assert drawn(twin.plot())[0][2] != drawn(release.plot())[0][2]


def test_bins_have_their_labels(visits: pv.Table) -> None:
    figure = released(visits, visits.histogram("age", bins=[0, 30, 60, 110])).plot()
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["[0, 30)", "[30, 60)", "[60, 110]"]
    assert [value for _, value, _, _ in drawn(figure)] == [25, 25, 50]


@pytest.mark.parametrize("bins", [30, 31])
def test_many_values_become_a_band(visits: pv.Table, bins: int) -> None:
    query = visits.where(visits["age"] < 200).ranges("age", bins=111 if bins == 31 else 10)
    figure = released(visits, query).plot()
    bands = [made for made in figure.axes[0].collections if type(made).__name__ == "FillBetweenPolyCollection"]
    assert len(bands) == (bins == 31)


def test_two_keys_have_colours_and_tables_have_panels(visits: pv.Table) -> None:
    figure = released(visits, visits.group_by("ward", "ill").agg(n=pv.count())).plot()
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["False", "True"]
    assert len(drawn(figure)) == 6
    figure = released(visits, visits.marginals("ward", "ill", "age", way=1)).plot()
    assert len(figure.axes) == 3
    assert len(figure.axes[2].lines) == 1  # 111 ages as a line: their texts are numbers


def test_dates_quantiles_covariances_and_ranges_are_drawn(visits: pv.Table) -> None:
    assert released(visits, visits.ranges("day")).plot().axes[0].get_xlabel() == "value"
    assert len(drawn(released(visits, visits.quantiles("age", [0.25, 0.5])).plot())) == 2
    assert len(drawn(released(visits, visits.counts(a=visits["age"] > 3)).plot())) == 1
    ranges = pv.workloads.RangeQueries(domain=8).release(np.arange(8), epsilon=50.0)
    figure = ranges.plot()
    low, high = ranges.value.answer(3, 3).interval
    place, _, first, last = drawn(figure)[3]
    assert (place, first, last) == pytest.approx((3, low, high))


@pytest.mark.parametrize(
    ("value", "bar", "ends"),
    [
        (41.5, ErrorBar(3.0, 0.95), [(38.5, 44.5)]),
        (41.5, None, [(41.5, 41.5)]),
        (np.array([1.0, 2.0]), ErrorBar([0.5, 1.0], 0.9), [(0.5, 1.5), (1.0, 3.0)]),
        ({"mean": 3.0, "n": 7}, ErrorBar({"mean": 1.0}, 0.95), [(2.0, 4.0), (7.0, 7.0)]),
        (Estimate(np.array([0.2, 0.8]), ErrorBar(0.1, 0.95)), None, [(0.1, 0.3), (0.7, 0.9)]),
    ],
)
def test_every_kind_of_value_is_drawn(value: object, bar: ErrorBar | None, ends: list[tuple[float, float]]) -> None:
    figure = Release(value, loss=PAID, error=bar).plot()
    assert [pytest.approx(each[2:]) for each in drawn(figure)] == ends


def test_what_has_no_interval_says_so(visits: pv.Table) -> None:
    figure = released(visits, visits.group_by("ward").agg(m=pv.median("age"))).plot()
    assert figure.axes[0].texts[0].get_text() == "no intervals; epsilon 50"


def test_what_cannot_be_drawn_is_refused_with_a_sentence(visits: pv.Table) -> None:
    with pytest.raises(InvalidParameter, match="no numbers in this release"):
        Release(["A", "B"], loss=PAID).plot()
    with pytest.raises(InvalidParameter, match="no numbers in this release"):
        Release("A", loss=PAID).plot()
    with pytest.raises(InvalidParameter, match="is no table: nothing can be drawn"):
        Release(np.zeros((2, 2, 2)), loss=PAID).plot()
    with pytest.raises(InvalidParameter, match=r"there is no 'mean' to draw; there is n"):
        released(visits, visits.group_by("ward").agg(n=pv.count())).plot(of="mean")
    with pytest.raises(InvalidParameter, match=r"several parts: draw one, as in plot\(of='a'\)"):
        released(visits, pv.batch(a=visits.agg(n=pv.count()), b=visits.histogram("ward"))).plot()
    names = np.array([f"ward {i}" for i in range(61)])
    for many in (60, 61):
        answer = type(released(visits, visits.agg(n=pv.count())).value)(
            {"w": names[:many]}, {"n": np.arange(many)}, {}, {}
        )
        if many == 60:
            assert Release(answer, loss=PAID).plot() is not None
        else:
            with pytest.raises(InvalidParameter, match="61 groups do not fit into one picture"):
                Release(answer, loss=PAID).plot()


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'privet\[plot\]'"):
        Release(3.0, loss=PAID).plot()


def test_a_file_is_written_and_a_wrong_name_refused(tmp_path: object) -> None:
    Release(3.0, loss=PAID).plot(tmp_path / "three.png")
    assert (tmp_path / "three.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidParameter, match="written as"):
        Release(3.0, loss=PAID).plot(tmp_path / "three.xyz")


def test_seeded_noise_is_stamped() -> None:
    assert "INSECURE" in Release(3.0, loss=PAID, insecure=True).plot().axes[0].texts[0].get_text()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_shows_the_picture() -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("jupyter_client")
    made = "import privet as pv\npv.mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0).release(42).plot()"
    shown = [each["data"] for each in messages_of(made) if "data" in each]
    assert [each for each in shown if "image/png" in each] != []
