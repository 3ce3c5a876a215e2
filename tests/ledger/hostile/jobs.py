"""What runs in the nursery. Each job returns plain JSON: facts for the test to judge."""

import multiprocessing
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import privet as pv
from privet.errors import BudgetExceeded, LedgerBusy, LedgerError
from privet.privacy import PureLoss
from tests.ledger.hostile.disk import Disk
from tests.ledger.hostile.faults import Faults
from tests.ledger.hostile.nursery import Seen, fork, join, kill, read_seen
from tests.ledger.hostile.probe import TINY, Coin


def kill_fuzz(
    url: str, folder: str, workers: int, kills: int, pause: tuple[float, float], to_the_end: bool, least: int
) -> Any:
    """Workers pay, draw, record and write down what they saw; one is killed every few milliseconds and replaced.
    After the last kill the others are killed too, or work `to_the_end` of the budget. A slow machine may not get a worker
    to its first value between two kills: the last ones are given the time to see `least` values.
    """
    dice = random.SystemRandom()
    ended, serial = 0, 0

    def work(number: int) -> None:
        seen = Seen(Path(folder) / f"{number}.seen")
        ledger = pv.Ledger.open(url)
        while True:
            try:
                seen.add(ledger.release(Coin(), None).value)
            except BudgetExceeded:
                return
            except LedgerBusy:
                continue

    def start() -> int:
        nonlocal serial
        serial += 1
        number = serial
        return fork(lambda: work(number))

    running = [start() for _ in range(workers)]
    done, failed = 0, []
    while done < kills and running:
        time.sleep(dice.uniform(*pause))
        victim = running.pop(dice.randrange(len(running)))
        code = kill(victim)
        if code == 0:
            ended += 1  # it had met the cap by itself
            continue
        failed += [code] if code > 0 else []
        done += 1
        running.append(start())
    end = time.monotonic() + 300.0
    while not to_the_end and len(read_seen(folder)) < least and time.monotonic() < end:
        time.sleep(0.05)
    codes = join(*running) if to_the_end else [kill(pid) for pid in running]
    failed += [code for code in codes if code > 0]
    return {"kills": done, "ended": ended, "failed": failed, "seen": len(read_seen(folder))}


def race(url: str, workers: int, spends: int, epsilon: float) -> Any:
    """Everyone spends as fast as possible; the answer is how many were granted and refused."""
    context = multiprocessing.get_context("fork")
    barrier, tally = context.Barrier(workers), context.Array("i", 2 * workers)

    def work(number: int) -> None:
        ledger = pv.Ledger.open(url)
        barrier.wait()
        for _ in range(spends):
            try:
                ledger.reserve(PureLoss(epsilon))
                tally[number] += 1
            except BudgetExceeded:
                tally[workers + number] += 1

    codes = join(*[fork(lambda number=number: work(number)) for number in range(workers)])
    return {"codes": codes, "granted": sum(tally[:workers]), "refused": sum(tally[workers:])}


def begin_together(urls: list[str], workers: int, epsilon: float) -> list[int]:
    """As `one_wins`, but nobody has begun the ledgers yet: all do, with the same budget."""
    return one_wins(urls, workers, epsilon, budget=pv.Budget(epsilon=epsilon))


def one_wins(urls: list[str], workers: int, epsilon: float, budget: pv.Budget | None = None) -> list[int]:
    """Per ledger, all released by a barrier: how many got the only spend that fits."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(workers, timeout=200)  # a worker that dies ends the race for all
    wins = context.Array("i", len(urls))

    def work() -> None:
        for round_, url in enumerate(urls):
            if budget is None:
                ledger = pv.Ledger.open(url)
            barrier.wait()
            if budget is not None:
                ledger = pv.Ledger.create(url, budget=budget)
            with closing(ledger):  # else sixty rounds of eight would need more connections than a server grants
                try:
                    ledger.release(Coin(epsilon), None)
                except BudgetExceeded:
                    continue
            with wins.get_lock():
                wins[round_] += 1

    codes = join(*[fork(work) for _ in range(workers)])
    assert set(codes) == {0}, codes
    return list(wins)


def fault_points(url: str, folder: str, how: str, phase: str) -> list[dict[str, Any]]:
    """Release with a new key each time, with a fault before or after the n-th statement; n = 0, 1, 2, ..."""
    told: list[dict[str, Any]] = []
    for number in range(100):
        key = f"{how}-{phase}-{number}"
        path = Path(folder) / f"{key}.seen"

        def work(number: int = number, key: str = key, path: Path = path) -> None:
            faults = Faults(number, how=how, phase=phase)
            with faults.planted():
                ledger = pv.Ledger.open(url)
                faults.armed = True
                try:
                    Seen(path).add(ledger.release(Coin(), None, key=key).value)
                except LedgerError:
                    os._exit(3)
            os._exit(0 if faults.fired else 4)

        code = join(fork(work))[0]
        if code == 4:
            break
        told.append({"key": key, "code": code, "seen": path.read_text().split() if path.exists() else []})
    return told


def file_size_limit(url: str, folder: str, limit: int) -> Any:
    """No file may grow beyond `limit` bytes: release until the store says no, then once more."""
    names: list[str] = []

    def work() -> None:
        ledger = pv.Ledger.open(url)
        seen = Seen(Path(folder) / "limit.seen")
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        for _ in range(5000):
            draws: list[Any] = []
            try:
                seen.add(ledger.release(Coin(before=draws.append), None).value)
            except LedgerError as problem:
                names.append(type(problem).__name__)
                Path(folder, "names").write_text(" ".join(names))  # far below the limit
                if len(names) == 2:
                    return

    codes = join(fork(work))
    return {"codes": codes, "names": Path(folder, "names").read_text().split()}


def fork_in_the_middle(url: str) -> Any:
    """Fork while a release is running, and go on in both processes with the handle that both inherited."""
    ledger = pv.Ledger.open(url)
    ledger.reserve(PureLoss(TINY))
    children: list[int] = []

    def spend() -> None:
        for _ in range(5):
            ledger.release(Coin(), None)

    def harm(data: Any) -> None:
        children.extend(fork(spend) for _ in range(3))

    ledger.release(Coin(before=harm), None)
    spend()
    codes = join(*children)
    spend()
    return {"codes": codes, "paid": 1 + 1 + 3 * 5 + 5 + 5}


def fork_in_a_transaction(url: str) -> Any:
    """Fork while another thread of the parent is inside a write transaction; the child must neither hang nor harm."""
    ledger = pv.Ledger.open(url)
    stop = threading.Event()
    paid = []

    def spend() -> None:
        while not stop.is_set():
            ledger.release(Coin(), None)
            paid.append(1)

    threads = [threading.Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = []
    for _ in range(10):
        time.sleep(0.005)
        codes += join(fork(lambda: [ledger.release(Coin(), None) for _ in range(2)]))
    stop.set()
    for thread in threads:
        thread.join()
    return {"codes": codes, "paid": len(paid) + 2 * len(codes)}


def power_cuts(path: str, releases: int, cuts: int, seed: int) -> Any:
    """Record every write and sync of some releases, then rebuild the disk after power cuts; see `disk`."""
    dice = random.Random(seed)
    disk = Disk(Path(path).parent)
    undurable = 0

    def looked(data: Any) -> None:
        nonlocal undurable
        undurable += disk.pending("-wal") > 0  # data is touched while the charge may still be lost

    with disk.recording():
        ledger = pv.Ledger.open(path)
        for number in range(releases):
            disk.mark(ledger.release(Coin(before=looked), None, key=f"k{number}").value.hex())
            if number == releases // 2:
                with sqlite3.connect(path) as other:
                    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        told = []
        syncs = [i for i, event in enumerate(disk.events) if event.kind == "sync"]
        moments = [*syncs, *(i + 1 for i in syncs), len(disk.events)]
        moments += [dice.randrange(len(disk.events)) for _ in range(cuts)]
        moments = dice.sample(moments, min(cuts, len(moments)))
        for number, moment in enumerate(moments):
            folder = Path(path).parent.parent / f"cut-{number}"
            folder.mkdir()
            for name, content in disk.cut(moment, dice.choice(["none", "all", "some"]), dice).items():
                (folder / name).write_bytes(content)
            told.append({"url": str(folder / Path(path).name), "before": [v for at, v in disk.marks if at <= moment]})
    return {"cuts": told, "undurable": undurable, "syncs": len(syncs), "events": len(disk.events)}


def disk_errors(path: str, code: int, kind: str) -> Any:
    """Let the n-th write (or sync) of a release fail, for every n: what was raised, and whether anything was drawn."""
    told = []
    for number in range(200):
        disk = Disk(Path(path).parent)
        draws: list[Any] = []
        steps = 0

        def fault(what: str, file: str) -> int | None:
            nonlocal steps
            steps += what == kind
            return code if what == kind and steps == number + 1 else None  # noqa: B023 - used within the round

        with disk.recording():
            ledger = pv.Ledger.open(path)
            disk.fault = fault
            try:
                ledger.release(Coin(before=draws.append), None)
                raised = None
            except LedgerError as problem:
                raised = type(problem).__name__
            disk.fault = lambda what, file: None
            ledger.close()
        told.append({"raised": raised, "drawn": len(draws)})
        if steps <= number:
            break
    return told


def without_rights(path: str, modes: list[tuple[int, int]]) -> Any:
    """A user without rights to write tries to release, under several modes of the file and its folder."""
    home = Path(tempfile.mkdtemp())
    home.chmod(0o755)
    target, out = home / "inner" / Path(path).name, home / "told"
    target.parent.mkdir()
    Path(path).rename(target)
    out.touch()
    out.chmod(0o666)
    spare = pv.Ledger.create(str(home / "spare"), budget=pv.Budget(epsilon=1.0))
    spare.release(Coin(), None)  # whatever is imported late is imported now, while it may be read
    spare.close()

    def work() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        draws: list[Any] = []
        raised = "nothing"
        try:
            pv.Ledger.open(str(target)).release(Coin(before=draws.append), None)
        except LedgerError as problem:
            raised = type(problem).__name__
        out.write_text(f"{raised} {len(draws)}")

    told = []
    for file_mode, folder_mode in modes:
        target.chmod(file_mode)
        target.parent.chmod(folder_mode)
        assert join(fork(work)) == [0]
        raised, drawn = out.read_text().split()
        told.append({"raised": raised, "drawn": int(drawn)})
    target.parent.chmod(0o755)
    target.chmod(0o644)
    target.rename(path)
    shutil.rmtree(home)
    return told


def fork_and_close(url: str, folder: str) -> Any:
    """A forked child goes on while its parent closes: locks do not pass a fork, and the last to close removes the log."""
    ledger = pv.Ledger.open(url)
    ledger.release(Coin(), None)
    to_child, from_parent = os.pipe()[::-1]
    to_parent, from_child = os.pipe()[::-1]

    def work() -> None:
        seen = Seen(Path(folder) / "child.seen")
        seen.add(ledger.release(Coin(), None).value)
        os.write(to_parent, b".")
        os.read(from_parent, 1)
        for _ in range(5):
            seen.add(ledger.release(Coin(), None).value)

    child = fork(work)
    os.read(from_child, 1)
    ledger.close()
    os.write(to_child, b".")
    return {"codes": join(child)}


def read_the_file_meanwhile(url: str, folder: str) -> Any:
    """Reading a file and closing it drops the process's locks on it: then another process thinks that it is alone."""
    ledger = pv.Ledger.open(url)
    seen = Seen(Path(folder) / "reader.seen")
    seen.add(ledger.release(Coin(), None).value)
    Path(url).read_bytes()
    command = f"from tests.ledger.hostile import jobs; jobs.spend_once({url!r})"
    code = subprocess.run([sys.executable, "-c", command]).returncode
    refused = 0
    for _ in range(5):
        try:
            seen.add(ledger.release(Coin(), None).value)
        except LedgerError:
            refused += 1
    return {"codes": [code], "refused": refused}


def spend_once(url: str) -> None:
    ledger = pv.Ledger.open(url)
    ledger.release(Coin(), None)
    ledger.close()
