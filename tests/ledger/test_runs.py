"""Runs: what is paid for which slices, what may be begun after a restore, and what a slice may release."""

import copy
import os
import pickle
from dataclasses import replace

import pytest

import privet as pv
from privet import noise
from privet.errors import BudgetExceeded, InvalidParameter, KeyConflict, LedgerError, NotPrivate
from privet.ledger import AnchorFile
from privet.mechanisms import Laplace, Release
from privet.mechanisms.blocks import composed
from privet.privacy import PureLoss

UNEQUAL = [PureLoss(share / 64.0) for share in (1, 2, 4, 8)]  # every sum of some of them is another number
LAPLACE = Laplace.for_budget(epsilon=0.125, sensitivity=1.0)


def spent(ledger: pv.Ledger) -> float:
    return 64.0 * ledger.spent["basic epsilon"]


def begun(run, times: int) -> list[int]:
    return [run.begin().index for _ in range(times)]


@pytest.mark.parametrize(
    ("before", "times", "price"), [(4, 1, 8), (4, 2, 12), (3, 1, 4), (3, 2, 6), (2, 2, 3), (4, 4, 15)]
)
def test_a_repeat_pays_for_the_slices_that_run_again(place, before, times, price):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    run = ledger.start(UNEQUAL, key="k")
    assert spent(ledger) == 15
    assert begun(run, before) == list(range(before))
    run.repeat(times)
    assert spent(ledger) == 15 + price
    assert ledger.entries()[-1].facts["run"]["next"] == str(before - times)
    assert begun(run, times) == list(range(before - times, before))
    assert ledger.verify().underpriced == ()
    assert spent(ledger) == 15 + price


def test_a_repeat_of_a_repeat_pays_once_more():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    run = ledger.start(UNEQUAL, key="k")
    begun(run, 3)
    run.repeat(2)
    assert begun(run, 1) == [1]
    run.repeat(2)
    assert spent(ledger) == 15 + 6 + 3
    assert begun(run, 4) == [0, 1, 2, 3]
    with pytest.raises(LedgerError, match="every slice"):
        run.begin()
    ledger.verify()


@pytest.mark.parametrize("times", [0, -1, 3, True, 1.5])
def test_what_was_not_begun_is_not_repeated(times):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    run = ledger.start(UNEQUAL, key="k")
    begun(run, 2)
    with pytest.raises(InvalidParameter):
        run.repeat(times)
    assert spent(ledger) == 15
    assert run.position == 2


def test_a_repeat_that_does_not_fit_is_refused_and_moves_nothing():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(0.25))
    run = ledger.start(UNEQUAL, key="k")
    begun(run, 4)
    with pytest.raises(BudgetExceeded):
        run.repeat(2)
    assert (run.position, ledger.length) == (4, 6)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("every", [True, False])
def test_a_run_from_before_a_backup_goes_no_further_after_a_restore(sqlite, tmp_path, before, every, repeated):
    """However far it was when the backup was made: marks that were written since are lost."""
    place = AnchorFile(tmp_path / "a.anchor", every_reserve=every)
    ledger = pv.Ledger.create(sqlite, budget=pv.Budget(1.0), anchor=place)
    run = ledger.start(UNEQUAL, key="k")
    begun(run, before)
    if repeated and before:
        run.repeat(1)  # then the last entry of the run is a charge
    ledger.backup(tmp_path / "backup")
    at = run.position
    assert begun(run, 1) == [at]
    ledger.checkpoint()
    ledger.close()
    again = pv.Ledger.restore(f"{sqlite}_again", source=tmp_path / "backup", reason="the disk died", anchor=place)
    length, copied = again.length, replace(run, ledger=again)
    for begin in (lambda: again.start(UNEQUAL, key="k"), copied.begin, lambda: copied.repeat(1)):
        with pytest.raises(LedgerError, match="restored from a backup"):
            begin()
    assert again.length == length
    again.verify()
    again.close()


def test_a_run_that_was_started_after_the_restore_goes_on(sqlite, tmp_path):
    place = AnchorFile(tmp_path / "a.anchor", every_reserve=True)
    ledger = pv.Ledger.create(sqlite, budget=pv.Budget(1.0), anchor=place)
    ledger.backup(tmp_path / "backup")
    ledger.close()
    again = pv.Ledger.restore(f"{sqlite}_again", source=tmp_path / "backup", reason="the disk died", anchor=place)
    run = again.start(UNEQUAL, key="k")
    assert begun(run, 2) == [0, 1]
    assert begun(again.start(UNEQUAL, key="k"), 1) == [2]
    again.close()


def test_seeded_noise_that_is_recorded_by_hand_is_refused(durable):
    """`ledger.release` asks the mechanism; who draws by themselves must be asked about the release."""
    ledger = pv.Ledger.create(durable, budget=pv.Budget(1.0))
    run = ledger.start([LAPLACE.loss], key="run")
    begun_slice = run.begin()
    seeded = Release(1.0, loss=LAPLACE.loss, mechanism="laplace", insecure=True)
    whole = replace(seeded, loss=composed((LAPLACE.loss,)))
    for record in (
        lambda: ledger.reserve(LAPLACE.loss).record(seeded),
        lambda: ledger.reserve(LAPLACE.loss, key="k").record(seeded),
        lambda: begun_slice.record(seeded),
        lambda: run.record(whole),
    ):
        with pytest.raises(NotPrivate):
            record()
    assert not [entry for entry in ledger.entries() if entry.kind == "release"]
    assert ledger.reserve(LAPLACE.loss, key="k").release is None
    ledger.close()


def test_seeded_noise_inside_of_a_slice_is_refused(durable):
    ledger = pv.Ledger.create(durable, budget=pv.Budget(1.0))
    with ledger.start([LAPLACE.loss], key="run").begin():
        with pytest.raises(LedgerError, match="seeded noise"):
            LAPLACE.release(1, source=noise.Seeded(7))
        assert LAPLACE.release(1).paid["entry"] == 3
    ledger.close()


def test_a_slice_is_used_by_the_process_that_began_it():
    piece = pv.Ledger.create("memory:", budget=pv.Budget(1.0)).start([LAPLACE.loss], key="run").begin()
    child = os.fork()
    if not child:
        try:
            piece.release(LAPLACE, 1)
        except LedgerError as refused:
            os._exit(0 if "another process" in str(refused) else 2)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with pytest.raises(LedgerError, match="cannot be pickled"):
        pickle.dumps(piece)
    assert copy.deepcopy(piece) is piece
    piece.release(LAPLACE, 1)


def test_a_slice_pays_for_its_own_loss_and_once():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    other = Laplace.for_budget(epsilon=0.25, sensitivity=1.0)
    piece = ledger.start([LAPLACE.loss, other.loss], key="k").begin()
    for dear in (other, Laplace.for_budget(epsilon=0.126, sensitivity=1.0)):
        with pytest.raises(LedgerError, match="pays for"):
            piece.release(dear, 1)
        with piece, pytest.raises(LedgerError, match="pays for"):
            dear.release(1)
    piece.release(LAPLACE, 1)
    with pytest.raises(LedgerError, match="pays for"):
        piece.release(LAPLACE, 1)
    with piece, pytest.raises(LedgerError, match="pays for"):
        LAPLACE.release(1)
    assert [entry.kind for entry in ledger.entries()] == ["open", "reserve", "slice", "release"]


def test_inside_of_a_slice_parts_are_paid_one_by_one():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    with ledger.start([pv.privacy.Repeated(LAPLACE.loss, 2)], key="k").begin():
        LAPLACE.release(1)
        LAPLACE.release(1)
        with pytest.raises(LedgerError, match="pays for"):
            LAPLACE.release(1)


def test_a_run_is_answered_once_it_is_recorded(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    run = ledger.start(UNEQUAL, key="k")
    begun(run, 4)
    run.record(Release(7.0, loss=composed(tuple(UNEQUAL)), mechanism="training"))
    again = ledger.start(UNEQUAL, key="k")
    assert (again.release.value, again.release.stored) == (7.0, ledger.length)
    with pytest.raises(LedgerError, match="has ended"):
        again.begin()
    with pytest.raises(LedgerError, match="has ended"):
        run.repeat(1)
    for other in (UNEQUAL[:3], UNEQUAL[::-1]):
        with pytest.raises(KeyConflict):
            ledger.start(other, key="k")
    assert spent(ledger) == 15


def test_what_a_run_records_has_its_price():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    run = ledger.start(UNEQUAL, key="k")
    piece = run.begin()
    for record in (run.record, piece.record):
        with pytest.raises(LedgerError, match="loss"):
            record(Release(1.0, loss=PureLoss(0.5), mechanism="training"))
    assert [entry.kind for entry in ledger.entries()] == ["open", "reserve", "slice"]


@pytest.mark.parametrize("act", ["suspend", "remove", "close"])
def test_nobody_who_may_not_spend_begins_a_slice(act):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    ledger.add_analyst("ann")
    run = ledger.start(UNEQUAL, key="k", analyst="ann")
    if act == "suspend":
        ledger.suspend(analyst="ann", reason="on leave")
    elif act == "remove":
        ledger.remove_analyst("ann", reason="has left")
    else:
        ledger.close_dataset("ended")
    for begin in (run.begin, lambda: run.repeat(1)):
        with pytest.raises(LedgerError):
            begin()
    assert [entry.kind for entry in ledger.entries()].count("slice") == 0
