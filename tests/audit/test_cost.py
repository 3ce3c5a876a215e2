"""What an audit costs: runs in all, seconds, processes, progress, and early stops that keep the level."""

import json
import threading
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats

from privet import _progress, audit, noise, privacy, testing
from privet.audit import trial
from privet.audit.search import Crew, Subject
from privet.audit.search.encoder import _near_each
from privet.audit.search.reading import read
from privet.audit.search.rows import Marks, rows_of
from privet.audit.search.running import _Input
from privet.errors import InvalidParameter, SerialisationError
from privet.testing.zoo.entry import Simulated

ONE = privacy.PureLoss(1.0)
STRICT = testing.alarm_level("audit", of=2000)


def sound(value):
    return value + int(noise.discrete_laplace(scale=10))


def broken(value):
    return value + int(noise.discrete_laplace(scale=3))


def audited(subject, pairs=((0, 10),), runs=1_200, alpha=STRICT, **options):
    return audit.mechanism(subject, claim=ONE, neighbours=list(pairs), runs=runs, alpha=alpha, **options)


# --- runs ---------------------------------------------------------------------------------------------------------------


def test_every_call_is_counted_and_scouting_is_bounded():
    calls = [0]

    def counting(value):
        calls[0] += 1
        return sound(value)

    pairs = [(k, k + 10) for k in range(40)]
    found = audited(counting, pairs, runs=600)
    assert calls[0] - found.calls in (0, 128)  # 64 runs of a copy beside each world are not part of the audit
    assert found.calls <= 4 * 600 + 100 * len(pairs)
    assert f"{found.calls:,} in all, scouting included" in str(found)
    assert audited(sound, runs=600).calls == 2 * 600


# --- seconds ------------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that a run moves by a millisecond, and nothing else does."""

    now = 0.0

    def monotonic(self):
        return self.now

    def run(self, value):
        self.now += 0.001
        return sound(value)


def test_seconds_limit_the_runs(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(trial, "time", clock)
    found = audited(clock.run, runs=10**6, seconds=1.0)
    assert 100 <= found.runs < 500  # two worlds, a pilot before, and a share for the search
    assert clock.now < 1.0
    clock.now = 0.0
    assert 10 * found.runs > audited(clock.run, runs=10**6, seconds=5.0).runs > 3 * found.runs
    with pytest.raises(InvalidParameter, match="seconds"):
        audited(sound, seconds=0.0)


def test_pilot_runs_are_neither_searched_nor_tested():
    found = audited(sound, runs=400, seconds=1e6)
    assert found.runs == 400
    assert found.calls > 2 * 400
    assert found.released == found.test.counts.n + found.test.counts.n_out


# --- processes ------------------------------------------------------------------------------------------------------------


class Own:
    """A generator of its own, which travels with the object."""

    def __init__(self, seed=None):
        self.rng = np.random.default_rng(seed)

    def __call__(self, value):
        return value + int(self.rng.geometric(0.1)) - int(self.rng.geometric(0.1))


def test_processes_make_the_same_number_of_runs_and_find_the_same():
    found = audited(broken, runs=2_000, jobs=2)
    assert found.verdict == "violated"
    assert found.calls == 4_000
    assert found.released == found.test.counts.n + found.test.counts.n_out
    assert audited(sound, runs=2_000, jobs=2).verdict == "not refuted"


def test_a_generator_that_is_copied_into_the_processes_is_refused():
    with pytest.raises(InvalidParameter, match="repeat each other's noise"):
        audited(Own(3), runs=3_000, jobs=2)
    assert audited(Own(), runs=2_000, jobs=2, fresh=Own).verdict == "not refuted"


@pytest.mark.parametrize(
    "law",
    [
        lambda rng, n: np.zeros(n),
        lambda rng, n: rng.integers(0, 2, n).astype(float),
        lambda rng, n: (rng.random(n) < 0.01).astype(float),
        lambda rng, n: rng.normal(size=n),
    ],
)
def test_independent_blocks_are_not_taken_for_copies(law):
    from privet.audit.search import World, crew

    rng, known = np.random.default_rng(5), []
    for _ in range(12):
        values = law(rng, 400)[:, None]
        crew._not_copied(known, World(values, np.full(400, "float", dtype=object)))
    assert len(known) == 12


def test_what_cannot_be_sent_to_a_process_is_refused_before_any_run():
    lock = threading.Lock()

    def guarded(value):
        with lock:
            raise AssertionError("must not run")

    with pytest.raises(InvalidParameter, match="cannot be sent to another process"):
        audited(guarded, jobs=2)
    with pytest.raises(InvalidParameter, match="jobs=1"):
        audited(sound, jobs=2, timed=True)
    with pytest.raises(InvalidParameter, match="jobs"):
        audited(sound, jobs=0)
    assert Crew(1).engaged(Subject(guarded), []) is None


# --- progress -------------------------------------------------------------------------------------------------------------


def test_progress_is_told_and_ends_at_the_whole():
    seen, heard = [], []
    with _progress.listening(lambda what, done, of: heard.append((what, done, of))):
        found = audited(sound, runs=600, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (found.calls, 2 * 600)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert heard[0] == ("audit", 0, 1200)
    assert heard[-1] == ("audit", 1200, 1200)


def test_nobody_listening_hears_nothing(capsys):
    audited(sound, runs=100)
    assert capsys.readouterr() == ("", "")
    heard = []
    with _progress.listening(lambda *told: heard.append(told)):
        pass
    _progress.track("runs", 3).advance()
    assert heard == []


def test_slow_runs_are_told_one_by_one():
    seen = []
    with patch("privet.audit.search.running._TELLING", 0.0):
        audited(sound, runs=50, progress=lambda done, of: seen.append(done))
    assert len(seen) > 50
    assert seen[-1] == 100


# --- early stop -----------------------------------------------------------------------------------------------------


def test_a_gross_violation_ends_early_and_its_certificate_repeats_the_bets():
    found = audited(broken, runs=8_000, stop=True)
    assert (found.verdict, found.stopped) == ("violated", True)
    assert found.calls < 2 * 8_000 * 0.6
    assert found.lower.lower == 0.0
    assert found.test.p_value <= STRICT
    for words in (str(found), found.explain()):  # a bound for a fixed number of runs does not hold, and none is told
        assert "no bound" in words.lower()
        assert "epsilon >=" not in words
        assert "claims above" not in words
    text = audit.certify(found).to_json()
    again = audit.Certificate.from_json(text)
    assert again.recompute().p_value == pytest.approx(found.test.p_value)
    assert again.findings[0]["test"] == "betting"


def test_what_is_not_refuted_is_run_to_its_end_with_the_rest_of_the_level():
    found = audited(sound, runs=1_200, stop=True)
    assert (found.verdict, found.stopped, found.calls) == ("not refuted", False, 2_400)
    assert sum(test.share for test, _ in found.tests) == pytest.approx(1.0 - trial.BETTING)
    assert audit.certify(found).follows()
    assert "bound: epsilon >=" in str(found)


PEEKED, LEVEL = 300, 0.2


def early_alarms(p_values) -> int:
    """Audits of an event at the edge of what a claim allows, looked at after every block: how many are stopped."""
    rng, found = np.random.default_rng(11), 0
    for _ in range(PEEKED):
        likely, rarely = rng.random(4_000) < 0.5, rng.random(4_000) < 0.5 * np.exp(-1.0)
        found += any(p <= LEVEL for p in p_values(likely, rarely))
    return found


def betting(likely, rarely):
    """The p-value is one over the largest wealth after any pair: a look after every one of them."""
    scouted = audit.Counts(tp=50, fp=18, n=100)
    bets = trial.Bets.on(scouted, ONE, LEVEL / trial.BETTING)  # its share of the level is then the level
    bets.feed(likely, rarely)
    return [bets.test.p_value]


def peeking(likely, rarely):
    """The planted bug: an ordinary p-value, looked at again and again."""
    hits, others = np.cumsum(likely)[39::40], np.cumsum(rarely)[39::40]
    return stats.norm.sf((hits - np.e * others) / np.sqrt(hits + np.e**2 * others + 1.0))


def test_bets_keep_their_level_however_often_one_looks_and_peeking_does_not():
    most = stats.binom.isf(1e-6, PEEKED, LEVEL)
    assert early_alarms(betting) <= most
    assert early_alarms(peeking) > most


def null_alarms(**options) -> int:
    """Whole audits of a law that tells nothing, under a claim that allows next to nothing."""
    law = Simulated("nothing", lambda value, runs: noise.uniform_int(bound=50, size=runs))
    claim = privacy.PureLoss(1e-3)
    return sum(
        audit.mechanism(law, claim=claim, neighbours=[(0, 1)], runs=900, alpha=0.3, stop=True, **options).verdict
        == "violated"
        for _ in range(40)
    )


def test_whole_audits_that_may_stop_keep_their_level():
    assert null_alarms(look_at=["atom"]) <= stats.binom.isf(1e-6, 40, 0.3)


def test_a_bet_that_knows_the_scouting_runs_again_would_be_noticed():
    """The planted bug: the bets are placed on an event with hindsight, on the very pairs that were scouted."""
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(60):
        table = rng.random((200, 2, 64)) < 0.5
        best = int(np.argmax(table[:, 0].sum(axis=0) - table[:, 1].sum(axis=0)))
        bets = trial.Bets.on(audit.Counts(tp=60, fp=40, n=100), privacy.PureLoss(1e-3), 0.3 / trial.BETTING)
        alarms += bets.feed(table[:, 0, best], table[:, 1, best])
    assert alarms > stats.binom.isf(1e-6, 60, 0.3)


# --- certificates say which runs were released --------------------------------------------------------------------------


def forged(certificate: audit.Certificate, **scouting) -> None:
    """A certificate with other numbers of runs and a digest to match."""
    document = json.loads(certificate.to_json())
    document["scouting"] |= scouting
    document.pop("digest")
    document["claim"] = json.dumps(document["claim"])
    again = audit.Certificate(**document)
    again.verify()


def test_the_count_of_released_runs_is_shown_and_checked():
    found = audit.mechanism(Simulated("sound", lambda v, n: v + noise.discrete_laplace(scale=10, size=n)),
                            claim=ONE, neighbours=[(0, 10)], runs=1_000)  # fmt: skip
    certificate = audit.certify(found)
    shown = json.loads(certificate.to_json())["scouting"]
    assert (shown["released"], shown["simulated"]) == (found.released, found.simulated)
    assert found.released + found.simulated == 2 * found.test.counts.n
    from privet.report import audit_facts, audit_page

    words = f"{found.released:,} tested runs came from release"
    assert any(words in fact for _, fact in audit_facts(certificate))
    assert words in audit_page(certificate)
    assert f"({found.released:,} of the tested ones by release)" in str(found)
    forged(certificate)  # unchanged: accepted
    for change in ({"released": found.released + 1}, {"released": -1, "simulated": found.simulated + 1 + found.released},
                   {"calls": 10}, {"released": True}):  # fmt: skip
        with pytest.raises(SerialisationError):
            forged(certificate, **change)


# --- quick ways that must not change what is seen ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [[1, 2, 3], {1, 2}, {"a": 1}, np.arange(4.0), [[1], [2]], {"a": [1]}, np.array([[1], None], dtype=object), [{1}]],
    ids=repr,
)
def test_every_run_has_an_input_of_its_own(value):
    given = _Input(value)
    one, other = given.fresh(), given.fresh()
    assert type(one) is type(value)
    assert one is not value
    assert one is not other
    if isinstance(value, np.ndarray) and value.dtype != object:
        one[0] = 99.0
        assert other[0] == value[0] == 0.0
    inner = [(list(a.values()) if isinstance(a, dict) else list(a)) for a in (one, other, value)]
    for parts in zip(*inner, strict=True):
        if isinstance(parts[0], list | set):
            assert parts[0] is not parts[1]
            assert parts[0] is not parts[2]


def test_tables_of_different_lengths_are_compared_as_one_by_one():
    rng = np.random.default_rng(0)
    tables = [
        None if rng.random() < 0.1 else rng.integers(0, 3, (rng.integers(0, 5), rng.integers(2, 4))).astype(float)
        for _ in range(2_500)
    ]
    target = np.array([1.0, 2.0])

    def near(rows):
        if rows is None or not len(rows) or rows.shape[1] != 2:
            return np.nan, np.nan
        apart = np.abs(rows - target).sum(axis=1)
        return float(np.sum(apart == 0.0)), float(apart.min())

    np.testing.assert_array_equal(np.array(_near_each(tables, target)).T, [near(rows) for rows in tables])


def test_rows_of_plain_numbers_are_what_they_were_one_by_one():
    marks = Marks(b"key")
    assert rows_of([1, 2.5, True], marks).tolist() == [[1.0], [2.5], [1.0]]
    large = rows_of([1, 2**60], marks)
    assert large[1, 0] == marks.of(str(2**60))
    assert marks.of("a") == Marks(b"key").of("a") != Marks(b"kez").of("a")


def test_a_frame_is_read_by_its_columns_even_if_they_are_named_like_a_release():
    import pandas as pd

    frame = pd.DataFrame({"value": [1.0, 2.0], "loss": [3.0, 4.0], "provenance": ["a", "b"]})
    found = read(frame, Marks(b"key"))
    assert found.numbers["['loss']"].tolist() == [3.0, 4.0]
    assert found.rows.shape == (2, 3)
    assert found.rows.tolist() == rows_of(frame, Marks(b"key")).tolist()


def test_what_the_bets_had_is_taken_from_the_tests():
    """A p-value is divided by the share of the level that its test has: all shares add up to the level."""
    from privet.audit.black_box import SHARES, decide

    counts = audit.Counts(tp=640, fp=200, n=1_000)
    plain = audit.curve_test(counts, claim=ONE, alpha=0.05).p_value
    whole, rest = (decide(counts, claim=ONE, alpha=0.05, part=part) for part in (1.0, 1.0 - trial.BETTING))
    assert whole.p_value == pytest.approx(plain / SHARES[0])
    assert rest.p_value == pytest.approx(plain / SHARES[0] / (1.0 - trial.BETTING))
    assert sum(SHARES) == pytest.approx(1.0)
