"""Algorithms in blocks as runs of a ledger: one payment, whatever stops in between, and the same body as in one go."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet.errors import (
    BudgetExceeded,
    InvalidCall,
    InvalidData,
    InvalidParameter,
    KeyConflict,
    LedgerError,
    ReleaseFailed,
)
from privet.mechanisms import Laplace
from tests.mechanisms.test_blocks import Months

DATA = [10, 20, 30]


def months(epsilon: float = 0.5) -> Months:
    return Months(part=Laplace.for_budget(epsilon=epsilon, sensitivity=1.0))


def fresh(epsilon: float = 10.0) -> pv.Ledger:
    return pv.Ledger.create("memory:", budget=pv.Budget(epsilon=epsilon))


def spent(ledger: pv.Ledger) -> float:
    return ledger.spent["basic epsilon"]


class Checkpoint:
    """The last state, and the number of blocks after which the power fails."""

    def __init__(self, stop_after: int | None = None, lose: bool = False) -> None:
        self.kept: tuple[int, Any] | None = None
        self.stop_after, self.lose = stop_after, lose

    def load(self) -> tuple[int, Any] | None:
        return self.kept

    def save(self, done: int, state: Any) -> None:
        if not self.lose:
            self.kept = (done, state)
        if done == self.stop_after:
            self.stop_after = None
            raise KeyboardInterrupt


def test_one_payment_and_one_result():
    ledger = fresh()
    made = ledger.run_blocks(months(), DATA, key="k")
    assert spent(ledger) == 1.5
    assert len(made.value) == 3
    assert made.paid is not None
    again = ledger.run_blocks(months(), DATA, key="k")
    assert again.value == made.value
    assert again.stored is not None
    assert spent(ledger) == 1.5


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_what_was_stopped_goes_on_for_nothing(stop: int):
    ledger, place = fresh(), Checkpoint(stop_after=stop)
    with pytest.raises(KeyboardInterrupt):
        ledger.run_blocks(months(), DATA, key="k", load=place.load, save=place.save)
    assert spent(ledger) == 1.5
    before = list(place.kept[1]) if place.kept else []
    made = ledger.run_blocks(months(), DATA, key="k", load=place.load, save=place.save)
    assert spent(ledger) == 1.5
    assert made.value[0] == before[0]
    assert place.kept is not None
    assert place.kept[0] == 3


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_blocks_that_were_lost_are_paid_again(stop: int):
    ledger, place = fresh(), Checkpoint(stop_after=stop, lose=True)
    with pytest.raises(KeyboardInterrupt):
        ledger.run_blocks(months(), DATA, key="k", load=place.load, save=place.save)
    ledger.run_blocks(months(), DATA, key="k", load=place.load, save=place.save)
    assert spent(ledger) == 1.5 + 0.5 * stop


@pytest.mark.parametrize("begun", [1, 2])
def test_whoever_comes_second_stops_where_the_other_has_begun(begun: int):
    """Another process takes the state of the first block and begins one of the two that are left, or both."""
    ledger = fresh()

    def other(done: int, state: Any) -> None:
        if done == 1:
            place = Checkpoint(stop_after=1 + begun)
            place.kept = (done, state)
            with pytest.raises(KeyboardInterrupt):
                ledger.run_blocks(months(), DATA, key="k", load=place.load, save=place.save)

    with pytest.raises(LedgerError, match="another process goes on with this run"):
        ledger.run_blocks(months(), DATA, key="k", save=other)
    assert spent(ledger) == 1.5


def test_blocks_that_cannot_be_paid_again_are_not_drawn():
    ledger, place = fresh(1.75), Checkpoint(stop_after=2, lose=True)
    with pytest.raises(KeyboardInterrupt):
        ledger.run_blocks(months(), DATA, key="k", load=place.load, save=place.save)
    with pytest.raises(BudgetExceeded):
        ledger.run_blocks(months(), DATA, key="k")
    assert spent(ledger) == 1.5


@pytest.mark.parametrize("loaded", [(4, []), (-1, []), (True, []), "state", 7, (1, [], 3)])
def test_nonsense_from_load_is_refused(loaded: Any):
    ledger = fresh()
    with pytest.raises(InvalidParameter, match="load must return"):
        ledger.run_blocks(months(), DATA, key="k", load=lambda: loaded)
    assert spent(ledger) == 0.0


@pytest.mark.parametrize("name", ["load", "save"])
def test_what_is_no_function_is_refused_before_the_charge(name: str):
    ledger = fresh()
    with pytest.raises((InvalidParameter, InvalidCall)):
        ledger.run_blocks(months(), DATA, key="k", **{name: 7})  # type: ignore[arg-type]
    assert spent(ledger) == 0.0


class Beginningless(Months):
    name = "beginningless"

    def _first(self) -> Any:
        raise InvalidParameter("no beginning")


def test_a_beginning_that_cannot_be_made_costs_nothing():
    ledger = fresh()
    with pytest.raises(InvalidParameter, match="no beginning"):
        ledger.run_blocks(Beginningless(part=months().part), DATA, key="k")
    assert spent(ledger) == 0.0


def test_a_failure_leaves_no_frame_that_holds_the_data():
    class Rows(list[Any]):
        """Data that are told apart by their type."""

    ledger = fresh()
    with pytest.raises(ReleaseFailed) as caught:
        ledger.run_blocks(Quoting(part=months().part), Rows([1, 4242, 3]), key="k")
    frame = caught.value.__traceback__
    while frame is not None:
        here = frame.tb_frame
        if here.f_code.co_filename != __file__:
            assert not any(isinstance(each, Rows) for each in here.f_locals.values()), here.f_code.co_name
        frame = frame.tb_next


def test_a_state_from_another_run_is_refused():
    ledger = fresh()
    with pytest.raises(LedgerError, match="belongs to another run"):
        ledger.run_blocks(months(), DATA, key="k", load=lambda: (2, [1.0, 2.0]))
    assert spent(ledger) == 0.0
    place = Checkpoint(stop_after=1)
    with pytest.raises(KeyboardInterrupt):
        ledger.run_blocks(months(), DATA, key="k", load=place.load, save=place.save)
    with pytest.raises(LedgerError, match="belongs to another run"):
        ledger.run_blocks(months(), DATA, key="k", load=lambda: (2, [1.0, 2.0]))


def test_another_algorithm_under_the_same_key_is_refused():
    """Also one whose blocks cost the same."""

    class Years(Months):
        name = "years"

    ledger = fresh()
    ledger.run_blocks(months(), DATA, key="k")
    with pytest.raises(KeyConflict):
        ledger.run_blocks(Years(part=months().part), DATA, key="k")
    with pytest.raises(KeyConflict):
        ledger.start(months().blocks, key="k")


@pytest.mark.parametrize("what", [42, None, "months", Laplace.for_budget(epsilon=1.0, sensitivity=1.0)])
def test_what_has_no_blocks_is_refused(what: Any):
    with pytest.raises(InvalidParameter, match="has no blocks"):
        fresh().run_blocks(what, DATA, key="k")


def test_data_of_the_wrong_shape_cost_nothing():
    ledger = fresh()
    with pytest.raises(InvalidData, match="three months"):
        ledger.run_blocks(months(), [1, 2], key="k")
    assert spent(ledger) == 0.0


class Quoting(Months):
    name = "quoting"

    def _block(self, index: int, state: Any, prepared: Any, source: Any) -> Any:
        if index == 1:
            raise ValueError(f"the secret is {prepared[1]}")
        return super()._block(index, state, prepared, source)


def test_a_block_that_fails_says_nothing_and_stays_paid():
    ledger = fresh()
    with pytest.raises(ReleaseFailed) as caught:
        ledger.run_blocks(Quoting(part=months().part), [1, 4242, 3], key="k")
    assert "4242" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert spent(ledger) == 1.5


def test_an_error_inside_a_slice_says_nothing_either():
    ledger = fresh()
    algorithm = Quoting(part=months().part)
    run = ledger.start([algorithm.loss])
    with pytest.raises(ReleaseFailed) as caught, run.begin():
        algorithm.release([1, 4242, 3])
    assert "4242" not in str(caught.value)


def _killed(url: str, folder: str, block: int) -> None:
    place = Path(folder) / "state"

    def save(done: int, state: Any) -> None:
        if done == block:
            os._exit(9)  # after the block was drawn, before its state is kept
        place.write_bytes(pickle.dumps((done, state)))

    pv.Ledger.open(url).run_blocks(months(), DATA, key="k", load=lambda: _kept(place), save=save)


def _kept(place: Path) -> Any:
    return pickle.loads(place.read_bytes()) if place.exists() else None


@pytest.mark.parametrize("block", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_killed_process_pays_for_one_block_more(tmp_path: Path, block: int):
    url = str(tmp_path / "visits.ledger")
    pv.Ledger.create(url, budget=pv.Budget(epsilon=10.0)).close()
    child = multiprocessing.get_context("spawn").Process(target=_killed, args=(url, str(tmp_path), block))
    child.start()
    child.join(120)
    assert child.exitcode == 9
    with pv.Ledger.open(url) as ledger:
        assert spent(ledger) == 1.5
    ledger = pv.Ledger.open(url)
    made = ledger.run_blocks(months(), DATA, key="k", load=lambda: _kept(tmp_path / "state"))
    assert spent(ledger) == 2.0
    assert len(made.value) == 3
    assert ledger.verify().entries > 0
