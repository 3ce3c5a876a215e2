"""Runs: paid once, each slice marked before it touches data, no slice twice on one payment."""

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import privet as pv
from privet import accounting
from privet.errors import BudgetExceeded, InvalidParameter, KeyConflict, LedgerError, LedgerTampered
from privet.ledger import AnchorFile, runs, verify_export
from privet.ledger.entry import canonical, linked
from privet.ledger.runs import Run
from privet.ledger.stores.postgres import PostgresStore
from privet.mechanisms import AboveThreshold, Laplace, Release
from privet.mechanisms.blocks import composed
from privet.privacy import Composed, GaussianLoss, PoissonSampled, PureLoss, Repeated
from tests.seams.runs import SLICES

LAPLACE = Laplace.for_budget(epsilon=0.01, sensitivity=1.0)
ROOT = Path(__file__).resolve().parents[2]


def opened(place: str = "memory:") -> pv.Ledger:
    return pv.Ledger.create(place, budget=pv.Budget(1.0))


def elsewhere(job: str, *, twin: bool = False, **arguments: Any) -> Any:
    """The answer of a job of `runs`, from a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.seams.runs"],
        input=json.dumps({"job": job, "twin": twin, "arguments": arguments}),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_run_is_paid_once_and_goes_on_where_it_was(place):
    ledger = opened(place)
    run = ledger.start(SLICES, key="k", purpose="train")
    assert ledger.spent["basic epsilon"] == pytest.approx(0.04)
    assert [run.begin().index for _ in range(3)] == [0, 1, 2]
    again = ledger.start(SLICES, key="k", purpose="train")
    assert [slice.index for slice in again] == list(range(3, 40))
    with pytest.raises(LedgerError, match="every slice"):
        run.begin()
    assert ledger.spent["basic epsilon"] == pytest.approx(0.04)
    found = ledger.verify()
    assert (found.entries, found.orphans, found.underpriced) == (42, 0, ())
    assert verify_export(ledger.export()).entries == 42
    event = ledger.history()[-1]
    assert (event.slices, event.begun) == (40, 40)
    assert pv.report.ledger_status(ledger).entries == 42
    assert "40 of 40 slices" in pv.report.ledger_log(ledger)[-1].what


def test_a_plan_is_drawn_down_step_by_step_at_a_point():
    step = PoissonSampled(GaussianLoss(4.0), q=0.01)
    plan = Repeated(step, 10_000)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-5))
    run = ledger.start(plan, at=1e-6, key="sgd")
    assert ledger.spent["basic epsilon"] == pytest.approx(accounting.epsilon(plan, delta=1e-6).upper)
    assert len(run.slices) == 10_000
    assert run.begin().loss == step
    assert len(ledger.entries()[1].body) < 3000, "equal slices are written once"
    assert ledger.total(delta=1e-5).upper == pytest.approx(accounting.epsilon(plan, delta=1e-5).upper)
    assert ledger.verify().underpriced == ()
    with pytest.raises(BudgetExceeded):
        ledger.start(Repeated(PoissonSampled(GaussianLoss(0.5), q=0.01), 10_000), at=1e-6)


def test_another_request_under_the_key_is_refused():
    ledger = opened()
    ledger.start(SLICES, key="k")
    asks = [
        lambda: ledger.start(SLICES[:-1], key="k"),
        lambda: ledger.start([Composed(SLICES)], key="k"),
        lambda: ledger.start(SLICES, key="k", purpose="another"),
        lambda: ledger.reserve(Composed(SLICES), key="k"),
        lambda: ledger.release(LAPLACE, 1, key="k"),
    ]
    for ask in asks:
        with pytest.raises(KeyConflict):
            ask()
    ledger.reserve(PureLoss(0.1), key="r")
    with pytest.raises(KeyConflict):
        ledger.start([PureLoss(0.1)], key="r")
    for bad in ([], "abc", 3, [PureLoss(0.1), 2]):
        with pytest.raises(InvalidParameter):
            ledger.start(bad)
    assert ledger.spent["basic epsilon"] == pytest.approx(0.14)


@pytest.mark.parametrize("losses", [LAPLACE, [LAPLACE], [PureLoss(0.1), LAPLACE]])
def test_a_mechanism_in_the_place_of_its_loss_is_told_apart(losses):
    with pytest.raises(InvalidParameter, match=r"its \.loss"):
        opened().start(losses)


def test_slices_that_run_again_are_paid_again():
    ledger = opened()
    run = ledger.start(SLICES, key="k")
    for _ in range(5):
        run.begin()
    run.repeat(2)
    assert ledger.spent["basic epsilon"] == pytest.approx(0.042)
    assert run.begin().index == 3
    run.repeat(1)
    assert ledger.start(SLICES, key="k").position == 3
    assert [run.begin().index for _ in range(3)] == [3, 4, 5]
    paid = [entry.facts["paid"] for entry in ledger.entries() if entry.kind == "slice"]
    assert paid == ["2"] * 5 + ["8", "10", "8", "2"]
    assert ledger.spent["basic epsilon"] == pytest.approx(0.043)
    with pytest.raises(InvalidParameter, match="begun"):
        run.repeat(7)
    assert ledger.verify().underpriced == ()


def test_a_repeat_that_does_not_fit_moves_nothing():
    ledger = opened()
    run = ledger.start([PureLoss(0.4)] * 2, key="k")
    run.begin()
    with pytest.raises(BudgetExceeded):
        run.repeat(1)
    assert run.begin().index == 1


def test_a_slice_records_a_release_of_its_own(place):
    ledger = opened(place)
    run = ledger.start([LAPLACE.loss] * 3, key="k")
    first, second = run.begin(), run.begin()
    values = [slice.release(LAPLACE, 42).value for slice in (first, second)]
    stored = [entry for entry in ledger.entries() if entry.kind == "release"]
    assert [Release.from_json(entry.facts["release"]).value for entry in stored] == values
    assert first.record(Release(0.0, loss=LAPLACE.loss)).value == values[0], "the first record wins"
    with pytest.raises(LedgerError, match="Nothing was drawn"):
        first.release(LAPLACE, 42)
    with pytest.raises(LedgerError, match="Nothing was drawn"):
        run.begin().release(Laplace.for_budget(epsilon=0.02, sensitivity=1.0), 42)
    assert ledger.spent["basic epsilon"] == pytest.approx(0.03)
    assert ledger.verify().orphans == 0


def test_what_a_slice_pays_for_is_drawn_inside_it():
    ledger = opened()
    stream = AboveThreshold.for_budget(epsilon=0.1, sensitivity=1.0, threshold=10.0)
    run = ledger.start([Composed([LAPLACE.loss, LAPLACE.loss, stream.loss])] * 2, key="k")
    slice = run.begin()
    with slice:
        assert LAPLACE.release(1).paid == {"ledger": ledger.policy.ledger, "entry": 3}
        asked = stream.start()
        assert pv.ledger.current() is ledger
        LAPLACE.release(2)
        with pytest.raises(LedgerError, match="Nothing was drawn"):
            LAPLACE.release(3)
    assert asked.ask(-1000.0) is not None, "the stream goes on: it is paid for as a whole"
    assert ledger.spent["basic epsilon"] == pytest.approx(0.24)
    assert LAPLACE.release(1).paid is None, "the slice has ended"


def test_a_run_that_ends_is_answered_from_the_ledger(durable):
    ledger = opened(durable)
    run = ledger.start(SLICES, key="k")
    large = np.arange(20_000.0)
    run.record(Release(large, loss=Composed(SLICES), mechanism="training"))
    again = ledger.start(SLICES, key="k")
    assert again.release is not None
    assert again.release.value.tolist() == large.tolist()
    assert list(again) == []
    for late in (run, again):
        with pytest.raises(LedgerError, match="ended"):
            late.begin()
    with pytest.raises(LedgerError, match="composition"):
        run.record(Release(1.0, loss=PureLoss(0.1)))
    assert ledger.verify(values=True).values == 1


def test_copies_of_a_run_share_its_mark(tmp_path):
    ledger = opened(str(tmp_path / "a.ledger"))
    run = ledger.start(SLICES, key="k")
    copies = [run, copy.deepcopy(run), pickle.loads(pickle.dumps(run))]
    assert [each.begin().index for each in copies * 2] == list(range(6))
    slice = run.begin()
    assert copy.deepcopy(slice) is slice
    with pytest.raises(LedgerError, match="pickled"):
        pickle.dumps(slice)


def test_a_forked_slice_is_refused(tmp_path):
    ledger = opened(str(tmp_path / "a.ledger"))
    slice = ledger.start([LAPLACE.loss] * 2, key="k").begin()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            slice.release(LAPLACE, 1)
        except LedgerError:
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert slice.release(LAPLACE, 1).paid is not None


def test_a_restored_copy_of_the_file_begins_nothing(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = opened(str(path))
    run = ledger.start(SLICES, key="k")
    ledger.close()
    shutil.copy(path, tmp_path / "copy")
    run.begin()
    ledger.close()
    shutil.copy(tmp_path / "copy", tmp_path / "b.ledger")
    with pytest.raises(LedgerTampered):
        pv.Ledger.open(tmp_path / "b.ledger")
    content = (tmp_path / "copy").read_bytes()
    path.write_bytes(content)  # rolled back in place: the same file, an older state
    with pytest.raises(LedgerTampered):
        pv.Ledger.open(path).start(SLICES, key="k").begin()


def rolled_back(url: str, seq: int) -> None:
    """A server whose disk was put back to what it was after entry `seq`, by somebody who may do everything there."""
    dsn, schema = PostgresStore.schema_of(url)
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"ALTER TABLE {schema}.entry DISABLE TRIGGER ALL")
        server.execute(f"DELETE FROM {schema}.entry WHERE seq > {seq}")
        server.execute(f"ALTER TABLE {schema}.entry ENABLE TRIGGER ALL")


def test_a_server_that_was_rolled_back_begins_nothing(postgres_url, tmp_path):
    url, place = f"{postgres_url}#t{uuid.uuid4().hex[:20]}", AnchorFile(tmp_path / "a.anchor", every_reserve=True)
    ledger = pv.Ledger.create(url, budget=pv.Budget(1.0), anchor=place)
    run = ledger.start(SLICES, key="k")
    paid = ledger.entries()[-1].seq
    assert [run.begin().index, run.begin().index] == [0, 1]
    rolled_back(url, paid)
    with pytest.raises(LedgerTampered):
        run.begin()
    ledger.close()
    with pytest.raises(LedgerTampered, match="anchor"):
        pv.Ledger.open(url, anchor=place).start(SLICES, key="k")


def test_a_copy_of_a_servers_tables_shares_the_anchor(postgres_url, tmp_path):
    url, place = f"{postgres_url}#t{uuid.uuid4().hex[:20]}", AnchorFile(tmp_path / "a.anchor", every_reserve=True)
    run = pv.Ledger.create(url, budget=pv.Budget(1.0), anchor=place).start(SLICES, key="k")
    dsn, schema = PostgresStore.schema_of(url)
    other = f"{url}_copy"
    pv.Ledger.create(other, budget=pv.Budget(1.0)).close()
    with psycopg.connect(dsn, autocommit=True) as server:
        for table in ("entry", "balance"):
            server.execute(f"ALTER TABLE {schema}_copy.{table} DISABLE TRIGGER ALL")
            server.execute(f"DELETE FROM {schema}_copy.{table}")
            server.execute(f"INSERT INTO {schema}_copy.{table} SELECT * FROM {schema}.{table}")
    copy_of = pv.Ledger.open(other, anchor=place).start(SLICES, key="k")
    assert run.begin().index == 0
    with pytest.raises(LedgerTampered):
        copy_of.begin()


@pytest.mark.parametrize("every", [True, False])
def test_a_restored_backup_does_not_begin_what_may_have_run(durable, tmp_path, every):
    """Marks that were written after the backup are lost: no slice of a run from before it is begun on its payment."""
    place = AnchorFile(tmp_path / "a.anchor", every_reserve=every)
    ledger = pv.Ledger.create(durable, budget=pv.Budget(1.0), anchor=place)
    run, ended = ledger.start(SLICES[:10], key="k"), ledger.start(SLICES[:2], key="ended")
    ended.record(Release(1.0, loss=composed(tuple(SLICES[:2])), mechanism="training"))
    ledger.backup(tmp_path / "backup")
    assert [run.begin().index, run.begin().index] == [0, 1]
    ledger.checkpoint()
    ledger.close()
    target = f"{durable}_again"
    again = pv.Ledger.restore(target, source=tmp_path / "backup", reason="the disk died", anchor=place)
    copied = replace(run, ledger=again)
    for begin in (lambda: again.start(SLICES[:10], key="k"), copied.begin, lambda: copied.repeat(1)):
        with pytest.raises(LedgerError, match="restored from a backup"):
            begin()
    assert again.start(SLICES[:2], key="ended").release.value == 1.0
    if every:
        assert again.start(SLICES[:10], key="new").begin().index == 0
        assert again.spent["basic epsilon"] == pytest.approx(0.022), "paid for anew"
    else:
        with pytest.raises(BudgetExceeded):
            again.start(SLICES[:10], key="new")
    again.verify()


def test_a_backup_that_lacks_nothing_goes_on_with_its_runs(durable, tmp_path):
    ledger = opened(durable)
    run = ledger.start(SLICES, key="k")
    assert run.begin().index == 0
    ledger.backup(tmp_path / "backup")
    ledger.close()
    again = pv.Ledger.restore(f"{durable}_again", source=tmp_path / "backup", reason="a new disk", complete=True)
    assert again.start(SLICES, key="k").begin().index == 1
    assert again.spent["basic epsilon"] == pytest.approx(0.04)


def test_without_it_a_restored_backup_begins_slices_again(monkeypatch, tmp_path):
    """The planted bug: a mark of the backup is taken for the last one."""
    monkeypatch.setattr(runs, "refuse_restored", lambda policy, last: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_restored_backup_does_not_begin_what_may_have_run(str(tmp_path / "a.ledger"), tmp_path, True)


@pytest.mark.parametrize("way", ["to a server", "to a file"])
def test_a_run_moves_with_its_ledger(postgres_url, tmp_path, way):
    urls = [str(tmp_path / "a.ledger"), f"{postgres_url}#t{uuid.uuid4().hex[:20]}"]
    first, second = urls if way == "to a server" else urls[::-1]
    ledger = opened(first)
    run = ledger.start([LAPLACE.loss] * 3, key="k")
    large = np.arange(20_000.0)
    ledger.start(SLICES, key="ended").record(Release(large, loss=Composed(SLICES), mechanism="training"))
    run.begin().release(LAPLACE, 1)
    moved = ledger.migrate(second)
    with pytest.raises(LedgerError, match="moved"):
        run.begin()
    assert moved.start([LAPLACE.loss] * 3, key="k").begin().index == 1
    assert moved.start(SLICES, key="ended").release.value.tolist() == large.tolist()
    assert moved.verify(values=True).values == 1


def test_a_closed_ledger_begins_nothing():
    ledger = opened()
    run = ledger.start(SLICES, key="k")
    ledger.close_dataset("ended")
    with pytest.raises(LedgerError, match="closed"):
        run.begin()


# --- forged marks --------------------------------------------------------------------------------------------------------


def forged(ledger: pv.Ledger, change: Any) -> dict[str, Any]:
    """The same history with its last entry changed, and hashed anew."""
    document, entries = ledger.export(), ledger.entries()
    last = entries[-1]
    body = change(json.loads(last.body))
    made = linked(
        entries[-2],
        last.kind,
        body=canonical(body),
        key=last.key,
        loss=last.loss,
        amounts=last.amounts,
        analyst=last.analyst,
    )
    document["entries"][-1] = made.to_dict()
    document["head"] = {"seq": made.seq, "hash": made.hash.hex()}
    return document


CHANGES: dict[str, Any] = {
    "back": lambda body: {**body, "run": {**body["run"], "next": "1"}, "slice": "0"},
    "ahead": lambda body: {**body, "run": {**body["run"], "next": "4"}},
    "another payer": lambda body: {**body, "paid": "1"},
    "more paid": lambda body: {**body, "run": {**body["run"], "paid": [["2", "400"]]}},
    "another run": lambda body: {**body, "run": {**body["run"], "id": "1"}},
    "no mark": lambda body: {name: value for name, value in body.items() if name != "run"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_forged_mark_is_seen(change: Any):
    ledger = opened()
    run = ledger.start(SLICES, key="k")
    run.begin(), run.begin()
    assert verify_export(forged(ledger, lambda body: body)).entries == 4
    with pytest.raises(LedgerTampered, match="entry 4"):
        verify_export(forged(ledger, change))


def test_a_run_that_pays_for_fewer_slices_than_it_lists_is_seen():
    ledger = opened()
    ledger.start(SLICES, key="k")
    more = forged(ledger, lambda b: {**b, "run": {**b["run"], "slices": [["400", b["run"]["slices"][0][1]]]}})
    with pytest.raises(LedgerTampered, match="entry 2"):
        verify_export(more)


# --- crashes -------------------------------------------------------------------------------------------------------------


def check_once(indices: list[int], total: int) -> None:
    assert max(Counter(indices).values()) == 1, "a slice ran twice on one payment"
    assert set(indices) <= set(range(total))


@pytest.mark.parametrize("durable", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.parametrize("phases", [["after"], pytest.param(["before", "after"], marks=pytest.mark.slow)], ids="-".join)
@pytest.mark.parametrize("how", ["exit", pytest.param("raise", marks=pytest.mark.slow)])
def test_the_process_ends_at_every_step(durable, tmp_path, how, phases):
    url = durable
    opened(url).close()
    told = [
        each
        for phase in phases
        for each in elsewhere("fault_points", url=url, folder=str(tmp_path), how=how, phase=phase)
    ]
    assert len(told) >= 6 * len(phases), "hardly any statement was attacked"
    lost = 0
    for each in told:
        indices = [int(index) for index in each["seen"]]
        check_once(indices, 4)
        lost += 4 - len(indices)
    assert lost > 0, "no fault struck between a mark and its slice"
    ledger = pv.Ledger.open(url)
    ledger.verify()
    paid = [entry for entry in ledger.entries() if entry.kind == "reserve"]
    assert len(paid) == len({entry.key for entry in paid}), "a run was paid twice"


@pytest.mark.slow
def test_kills_while_several_processes_share_a_run(durable, tmp_path):
    url = durable
    opened(url).close()
    seen = elsewhere("kills", url=url, folder=str(tmp_path), workers=3, seed=7)
    pairs = [tuple(map(int, line.split())) for lines in seen for line in lines]
    check_once([index for index, _ in pairs], len(SLICES))
    ledger = pv.Ledger.open(url)
    begun = {int(e.facts["slice"]): e.seq for e in ledger.entries() if e.kind == "slice"}
    assert sorted(begun) == list(range(len(SLICES)))
    assert all(begun[index] == seq for index, seq in pairs), "a slice touched data before its mark was written"
    assert ledger.spent["basic epsilon"] == pytest.approx(0.04)


@pytest.mark.slow
def test_the_crash_tests_catch_a_mark_that_is_written_late(durable, tmp_path):
    url = durable
    opened(url).close()
    told = elsewhere("fault_points", twin=True, url=url, folder=str(tmp_path), how="exit", phase="before")
    twice = [each for each in told if len(set(each["seen"])) < len(each["seen"])]
    assert twice
    with pytest.raises(AssertionError, match="twice on one payment"):
        check_once([int(index) for index in twice[0]["seen"]], 4)


def test_a_run_made_by_hand_is_not_paid_for():
    ledger = opened()
    with pytest.raises(LedgerError, match="not in the ledger"):
        Run(ledger, tuple(SLICES), "k", 2, "", None).begin()
