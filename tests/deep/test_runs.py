"""Runs of a training: paid once whatever stops them, gone on with from a checkpoint, read back by their key."""

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import privet as pv
from privet.deep import Poisson, Trainer, Training
from privet.deep.checkpoint import Checkpoint
from privet.deep.records import Records
from privet.deep.start import Start
from privet.errors import InvalidParameter, KeyConflict, SerialisationError
from privet.noise import KeyedStream
from tests.deep.models import against, data, linear, plan_of, squared, trainer_of


def a_ledger() -> pv.Ledger:
    return pv.Ledger.create("memory:", budget=pv.Budget(epsilon=500.0, delta=1e-3))


def charges(ledger: pv.Ledger) -> int:
    return sum(entry.kind == "reserve" for entry in ledger.entries())


def marks(ledger: pv.Ledger) -> list[str]:
    return [entry.facts["slice"] for entry in ledger.entries() if entry.kind == "slice"]


def same(one, other) -> bool:
    return all(np.array_equal(one.release.value[name], other.release.value[name]) for name in one.release.value)


def test_a_training_is_one_charge_at_the_delta_of_its_plan():
    ledger, plan = a_ledger(), plan_of()
    made = trainer_of(plan).fit(data(), ledger=ledger)
    assert charges(ledger) == 1
    assert made.release.paid is not None
    assert ledger.spent["basic epsilon"] == pytest.approx(plan.price().upper, rel=1e-6)
    assert ledger.spent["basic delta"] == plan.delta


def test_two_trainings_of_one_key_give_one_release():
    ledger = a_ledger()
    first = trainer_of().fit(data(), ledger=ledger, key="May")
    again = trainer_of().fit(data(), ledger=ledger, key="May")
    assert same(first, again)
    assert again.release.stored is not None
    assert charges(ledger) == 1
    assert marks(ledger) == ["0", "1", "2"]


def test_another_start_plan_or_version_under_a_key_is_a_conflict():
    ledger = a_ledger()
    trainer_of().fit(data(), ledger=ledger, key="May", about="export of May")
    other = linear(seed=9)
    for wrong in (
        lambda: trainer_of().fit(data(), ledger=ledger, key="May", about="export of June"),
        lambda: trainer_of(plan_of(expected_batch=5)).fit(data(), ledger=ledger, key="May", about="export of May"),
        lambda: Trainer(other, torch.optim.SGD(other.parameters(), lr=0.05), squared, plan_of()).fit(
            data(), ledger=ledger, key="May", about="export of May"
        ),
    ):
        with pytest.raises(KeyConflict):
            wrong()
    assert charges(ledger) == 1


def test_how_many_records_are_computed_at_once_is_no_part_of_the_request():
    ledger = a_ledger()
    first = trainer_of(physical_batch=2).fit(data(), ledger=ledger, key="May")
    assert same(first, trainer_of(physical_batch=5, engine="vmapped").fit(data(), ledger=ledger, key="May"))


def test_how_many_records_there_are_is_no_part_of_the_request():
    """Whoever asks once more, with a record less, is told the same: no conflict says that the number has changed."""
    ledger = a_ledger()
    first = trainer_of().fit(data(8), ledger=ledger, key="May")
    assert same(first, trainer_of().fit(data(7), ledger=ledger, key="May"))


def test_starts_that_train_in_another_way_have_other_digests():
    sgd, frozen, plain = torch.optim.SGD, linear(), linear()
    frozen.bias.requires_grad_(False)
    starts = [
        Start(plain, sgd(plain.parameters(), lr=0.05), squared),
        Start(plain, sgd(plain.parameters(), lr=0.1), squared),
        Start(plain, torch.optim.RMSprop(plain.parameters(), lr=0.05), squared),
        Start(plain, sgd(plain.parameters(), lr=0.05), against),
        Start(frozen, sgd(frozen.parameters(), lr=0.05), squared),
    ]
    assert len({each.digest for each in starts}) == len(starts)
    again = linear()
    assert Start(again, sgd(again.parameters(), lr=0.05), squared).digest == starts[0].digest


def stopped_after(blocks: int, ledger: pv.Ledger, path: Path) -> None:
    def stop(progress):
        if progress.step == 20 * blocks:
            raise KeyboardInterrupt  # somebody cancels it

    with pytest.raises(KeyboardInterrupt):
        trainer_of().fit(data(), ledger=ledger, key="May", checkpoint=path, progress=stop)


def test_a_cancelled_run_goes_on_from_its_checkpoint(tmp_path):
    """A cancel within the second block: the checkpoint has one block, the second is paid again, the third is not."""
    ledger, path = a_ledger(), tmp_path / "run.pt"
    stopped_after(2, ledger, path)  # told at the end of the block, before it is kept
    spent = ledger.spent["basic epsilon"]
    made = trainer_of().fit(data(), ledger=ledger, key="May", checkpoint=path)
    assert marks(ledger) == ["0", "1", "1", "2"]
    assert charges(ledger) == 2
    assert ledger.spent["basic epsilon"] < 2.0 * spent
    assert same(made, trainer_of().fit(data(), ledger=ledger, key="May"))


def test_a_checkpoint_is_arrays_and_json_without_keys_or_noise(tmp_path):
    ledger, path = a_ledger(), tmp_path / "run.pt"
    trainer_of(optimizer=torch.optim.Adam, average=0.9).fit(data(), ledger=ledger, key="May", checkpoint=path)
    body = torch.load(path, weights_only=True)
    facts = json.loads(body["facts"])
    assert set(facts) == {"format", "run", "done", "state"}
    assert set(facts["run"]) == {"key", "plan", "start"}
    assert set(facts["state"]["dict"]) == {"average", "clip", "divisor", "optimizers", "step", "stopped", "weights"}
    assert facts["done"] == 3
    sizes = {tuple(each.shape) for each in body["arrays"].values()}
    assert sizes == {(1, 3), (1,), ()}  # weights and their moments, and how many steps: no vector of noise
    assert list(tmp_path.iterdir()) == [path]


def rewritten(body, facts, arrays):
    return {**body, "facts": json.dumps(facts), "arrays": arrays}


def without(mapping, name):
    return {each: value for each, value in mapping.items() if each != name}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that was stopped in the middle: its ledger, and what its checkpoint holds."""
    ledger, path = a_ledger(), tmp_path_factory.mktemp("stopped") / "run.pt"
    stopped_after(2, ledger, path)
    return ledger, path


@pytest.mark.parametrize("place", ["run", "done", "state", "format", "step", "weights", "divisor", "array 0", "digest"])
@pytest.mark.parametrize("how", ["lost", "other"])
def test_a_checkpoint_that_was_written_into_is_refused_before_a_block_is_marked(place, how, stopped, tmp_path):
    ledger, whole = stopped
    path = tmp_path / "run.pt"
    body = torch.load(whole, weights_only=True)
    facts, arrays = json.loads(body["facts"]), body["arrays"]
    state = facts["state"]["dict"]
    held = next(each for each in (facts, state, arrays, body) if place in each)
    other = torch.zeros(7) if place == "array 0" else {"value": "?"} if place in state else 0
    changed = without(held, place) if how == "lost" else {**held, place: other}
    if held is facts:
        body = rewritten(body, changed, arrays)
    elif held is state:
        body = rewritten(body, {**facts, "state": {"dict": changed}}, arrays)
    else:
        body = rewritten(body, facts, changed) if held is arrays else changed
    torch.save(body, path)
    before = ledger.entries()
    with pytest.raises(InvalidParameter, match="no checkpoint"):
        trainer_of().fit(data(), ledger=ledger, key="May", checkpoint=path)
    assert ledger.entries() == before


def test_a_checkpoint_of_another_run_is_refused_before_anything_is_paid(tmp_path):
    ledger, path = a_ledger(), tmp_path / "run.pt"
    trainer_of().fit(data(), ledger=ledger, key="May", checkpoint=path)
    before = charges(ledger)
    other = linear(seed=9)
    with pytest.raises(InvalidParameter, match="its key is another one"):
        trainer_of().fit(data(), ledger=ledger, key="June", checkpoint=path)
    with pytest.raises(InvalidParameter, match="its plan is another one"):
        trainer_of(plan_of(expected_batch=5)).fit(data(), ledger=ledger, key="May", checkpoint=path)
    with pytest.raises(InvalidParameter, match="seed the first weights"):
        Trainer(other, torch.optim.SGD(other.parameters(), lr=0.05), squared, plan_of()).fit(
            data(), ledger=ledger, key="May", checkpoint=path
        )
    path.write_bytes(pickle.dumps({"facts": "{}"}))
    with pytest.raises(InvalidParameter, match="no checkpoint"):
        trainer_of().fit(data(), ledger=ledger, key="May", checkpoint=path)
    with pytest.raises(InvalidParameter, match="folder"):
        Checkpoint(tmp_path / "nowhere" / "run.pt", {})
    assert charges(ledger) == before


def test_a_state_comes_back_from_a_file_bit_for_bit(tmp_path):
    file = Checkpoint(tmp_path / "run.pt", {"key": "May"})
    assert file.load() is None
    state = {"a": np.array([0.1, np.pi]), "b": [1, None, {"c": np.float32(0.1), "d": True}], "e": 1 / 3}
    file.save(4, state)
    done, found = file.load()
    assert done == 4
    assert np.array_equal(found["a"], state["a"])
    assert found["b"][2] == {"c": pytest.approx(0.1, abs=1e-8), "d": True}
    assert found["e"] == state["e"]


def test_a_checkpoint_that_is_half_written_leaves_the_one_before(tmp_path, monkeypatch):
    kept = Checkpoint(tmp_path / "run.pt", {"key": "May"})
    kept.save(1, {"step": 20})

    def breaks(body, file):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(torch, "save", breaks)
    with pytest.raises(OSError, match="no space"):
        kept.save(2, {"step": 40})
    assert kept.load() == (1, {"step": 20})


def test_fresh_noise_after_a_restore(tmp_path):
    """The same block from the same checkpoint twice: other noise each time, or the difference would show gradients."""
    model = linear()
    start = Start(model, torch.optim.SGD(model.parameters(), lr=0.1), squared)
    training = Training(plan=plan_of(), start=start, divisor=4.0)
    file = Checkpoint(tmp_path / "run.pt", {})
    file.save(1, training.block(0, training._first()).release(Records(data())).value)
    once, twice = (training.block(1, file.load()[1]).release(Records(data())).value for _ in range(2))
    assert once["step"] == twice["step"] == 40
    assert not np.array_equal(once["weights"]["weight"], twice["weights"]["weight"])


def test_a_block_that_is_run_again_has_another_key(tmp_path, monkeypatch):
    """Coins of a resumed run are fresh too; no key is part of a state, a checkpoint or what is shown."""
    keys, drawn = [], []
    fresh, plain = KeyedStream.fresh_key, Poisson.drawn
    monkeypatch.setattr(
        KeyedStream, "fresh_key", staticmethod(lambda source=None: keys.append(fresh(source)) or keys[-1])
    )

    def watched(self, size, stream, step):
        made = plain(self, size, stream, step)
        drawn.append((step, *made[0].tolist()))
        return made

    monkeypatch.setattr(Poisson, "drawn", watched)
    model = linear()
    start = Start(model, torch.optim.SGD(model.parameters(), lr=0.1), squared)
    training = Training(plan=plan_of(), start=start, divisor=4.0)
    path = tmp_path / "run.pt"
    file = Checkpoint(path, {})
    state = training.block(0, training._first()).release(Records(data())).value
    file.save(1, state)
    for _ in range(2):
        training.block(1, file.load()[1]).release(Records(data()))
    assert len(set(keys)) == len(keys) == 3  # one a block, none of them twice
    once, twice = drawn[20:40], drawn[40:60]
    assert [each[0] for each in once] == [each[0] for each in twice] == list(range(20, 40))
    assert once != twice
    kept = path.read_bytes() + repr(state).encode() + repr(training.to_dict()).encode()
    assert not any(key in kept or key.hex().encode() in kept for key in keys)


def test_copies_of_a_trainer_share_no_budget():
    ledger, trainer = a_ledger(), trainer_of()
    twin = copy.deepcopy(trainer)
    first = trainer.fit(data(), ledger=ledger, key="May")
    assert same(first, twin.fit(data(), ledger=ledger, key="May"))  # one payment, one release
    assert charges(ledger) == 1
    other = copy.deepcopy(trainer).fit(data(), ledger=ledger, key="June")
    assert charges(ledger) == 2  # another run is paid for, and has noise of its own
    assert not same(first, other)
    with pytest.raises(SerialisationError):
        pickle.dumps(trainer)


SCRIPT = """
import os, signal, sys
import torch
torch.set_num_threads(1)
import privet as pv
from tests.deep.models import against, data, trainer_of

url, path, victim = sys.argv[1], sys.argv[2], int(sys.argv[3])
ledger = pv.Ledger.open(url)
from privet.deep import checkpoint
save = checkpoint.Checkpoint.save
def saved(self, done, state):
    save(self, done, state)
    if done == victim:
        os.kill(os.getpid(), signal.SIGKILL)
checkpoint.Checkpoint.save = saved
made = trainer_of().fit(data(), ledger=ledger, key="May", checkpoint=path)
print(sorted(made.release.value))
"""


@pytest.mark.slow
def test_a_process_that_is_killed_at_every_block_pays_once(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    ledger = pv.Ledger.create(url, budget=pv.Budget(epsilon=500.0, delta=1e-3))
    call = [sys.executable, "-c", SCRIPT, url, str(tmp_path / "run.pt")]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for victim in (1, 2, 3):
        ended = subprocess.run([*call, str(victim)], env=surroundings, capture_output=True, text=True, check=False)
        assert ended.returncode == -9, ended.stderr
    ended = subprocess.run([*call, "0"], env=surroundings, capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "['bias', 'weight']", ended.stderr
    assert charges(ledger) == 1
    assert marks(ledger) == ["0", "1", "2"]  # no block twice


WITHIN = """
import os, signal, sys
import torch
torch.set_num_threads(1)
import privet as pv
from tests.deep.models import against, data, plan_of, trainer_of
from privet.deep import BandedPoisson, Poisson, step_noise

url, path, victim, kind = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
samplers = {"poisson": Poisson(q=0.5), "banded": BandedPoisson(q=0.25, bands=4, restart=20)}
steps = [0]
release = step_noise.StepNoise.release
def released(self, value, *, source=None):
    made = release(self, value, source=source)
    steps[0] += 1
    if steps[0] == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    return made
step_noise.StepNoise.release = released
plan = plan_of(sampling=samplers[kind])
made = trainer_of(plan).fit(data(), ledger=pv.Ledger.open(url), key="May", checkpoint=path)
print(sorted(made.release.value))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["poisson", "banded"])
def test_a_process_that_is_killed_within_every_block_pays_again_for_that_block_alone(tmp_path, kind):
    """Killed after a release of each of the three blocks, whose state is lost then: each is marked, and paid, twice."""
    url, path = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "run.pt"
    ledger = pv.Ledger.create(url, budget=pv.Budget(epsilon=500.0, delta=1e-3))
    call = [sys.executable, "-c", WITHIN, url, str(path)]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for victim in (7, 20 + 7, 20 + 7):  # counted from where the run goes on: within block 0, 1 and 2
        ended = subprocess.run(
            [*call, str(victim), kind], env=surroundings, capture_output=True, text=True, check=False
        )
        assert ended.returncode == -9, ended.stderr
    ended = subprocess.run([*call, "0", kind], env=surroundings, capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "['bias', 'weight']", ended.stderr
    assert marks(ledger) == ["0", "0", "1", "1", "2", "2"]
    assert charges(ledger) == 1 + 3  # the run, and each lost block once more
    assert list(tmp_path.glob("*.part")) == []


@pytest.mark.slow
def test_an_older_copy_of_a_checkpoint_is_no_second_run(tmp_path):
    """A copy that is put back after the run went on: its blocks are charged again, or the release is read back."""
    ledger, path = a_ledger(), tmp_path / "run.pt"
    stopped_after(2, ledger, path)
    older = path.read_bytes()
    stopped_after(3, ledger, path)  # went on: block 1 again, and block 2
    before = charges(ledger)
    path.write_bytes(older)
    made = trainer_of().fit(data(), ledger=ledger, key="May", checkpoint=path)
    assert marks(ledger) == ["0", "1", "1", "2", "1", "2"]
    assert charges(ledger) == before + 1  # both blocks that are run again, in one entry
    path.write_bytes(older)
    assert same(made, trainer_of().fit(data(), ledger=ledger, key="May", checkpoint=path))
    assert charges(ledger) == before + 1


@pytest.mark.slow
def test_two_processes_with_one_key_run_no_block_twice_for_one_payment(tmp_path):
    """Copies of a process, with copies of its checkpoint: whatever is run more often than once is paid more often."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    ledger = pv.Ledger.create(url, budget=pv.Budget(epsilon=500.0, delta=1e-3))
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def begin(number):
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, url, str(tmp_path / f"run{number}.pt"), "0"],
            env=surroundings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    begun = [begin(0), begin(1)]
    told = [each.communicate() for each in begun]
    for process, (_, errors) in zip(begun, told, strict=True):
        assert process.returncode == 0 or "LedgerError: another process goes on with this run" in errors, errors
    # each of them may have stopped for the other; whoever comes after them goes on, or reads back what is there
    after = begin(0)
    assert after.communicate()[0].strip() == "['bias', 'weight']"
    assert set(marks(ledger)) == {"0", "1", "2"}
    assert len(marks(ledger)) == 3 or charges(ledger) > 1
