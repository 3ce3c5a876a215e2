"""More jobs for the nursery: what happens around the protocol. Each returns plain JSON: facts for the test to judge."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import privet as pv
from privet.errors import LedgerError
from privet.privacy import PureLoss
from tests.ledger.hostile.nursery import Seen, fork, join
from tests.ledger.hostile.probe import TINY, Coin


def spend_and_die(url: str, times: int) -> None:
    """Leave a log behind that needs recovery."""
    ledger = pv.Ledger.open(url)
    for _ in range(times):
        ledger.release(Coin(), None)
    os._exit(9)


def ends(script: str, arguments: list[str]) -> int:
    """The exit code of a process that runs a script and dies on the way."""

    def work() -> None:
        sys.argv = ["-c", *arguments]
        exec(script, {"__name__": "__main__"})

    return join(fork(work))[0]


def touch_the_file(path: str, folder: str, services: int, scripts: int, answers: int) -> Any:
    """Services copy the file between releases, which drops their process's locks on it; scripts open, release, close.
    A service that refuses is started again, as the error says. Everybody waits long: how soon a turn comes on a busy
    machine is not asked here.
    """
    context = multiprocessing.get_context("fork")
    total = context.Value("i", 0)

    def service(number: int) -> None:
        while total.value < answers:
            if join(fork(lambda: serve(number)))[0] not in (0, 3):
                os._exit(5)

    def serve(number: int) -> None:
        seen = Seen(Path(folder) / f"service-{number}-{os.getpid()}.seen")
        ledger = pv.Ledger.open(path, timeout=1000.0)
        try:
            while total.value < answers:
                for _ in range(2):
                    seen.add(ledger.release(Coin(), None).value)
                    with total.get_lock():
                        total.value += 1
                shutil.copy(path, Path(folder) / f"{number}.bak")
                Path(path).read_bytes()
        except LedgerError as problem:
            print(type(problem).__name__, problem, file=sys.stderr)
            os._exit(3)

    def script(number: int) -> None:
        seen = Seen(Path(folder) / f"script-{number}.seen")
        while total.value < answers:
            with closing(pv.Ledger.open(path, timeout=1000.0)) as ledger:
                seen.add(ledger.release(Coin(), None).value)
            with total.get_lock():
                total.value += 1

    pids = [fork(lambda number=number: service(number)) for number in range(services)]
    pids += [fork(lambda number=number: script(number)) for number in range(scripts)]
    return {"codes": join(*pids), "answers": total.value}


def storm(url: str, interrupts: int, seconds: float) -> Any:
    """Ctrl-C again and again while one process releases, until it was interrupted so many times, however many presses
    that takes; beside it another handle must get its turn all the time.
    """
    memory = url == "memory:"
    ledger = pv.Ledger.create(url, budget=pv.Budget(epsilon=1000.0)) if memory else pv.Ledger.open(url, timeout=60.0)
    other = ledger if memory else pv.Ledger.open(url, timeout=60.0)
    ended, stuck, returned, struck = threading.Event(), [0], [], [0]
    main, armed = os.getpid(), [False]

    def pressed(number: int, frame: Any) -> None:
        if armed[0]:  # only while the ledger is at work: the loop below is not under test
            armed[0] = False
            raise KeyboardInterrupt

    def press() -> None:
        dice, presses, end = random.Random(1), 0, time.monotonic() + seconds
        while struck[0] < interrupts and time.monotonic() < end:
            time.sleep(dice.uniform(0.0005, 0.01))
            os.kill(main, signal.SIGINT)
            presses += 1
            if presses % 20 == 0:
                try:
                    other.reserve(PureLoss(TINY))
                except LedgerError:
                    stuck[0] += 1
        ended.set()

    signal.signal(signal.SIGINT, pressed)
    thread = threading.Thread(target=press)
    thread.start()
    while not ended.is_set():
        try:
            armed[0] = True
            value = ledger.release(Coin(), None).value
            armed[0] = False
            returned.append(value)
        except (KeyboardInterrupt, pv.errors.ReleaseFailed):
            struck[0] += 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    thread.join()
    ledger.release(Coin(), None)
    other.release(Coin(), None)
    kept = {json.loads(entry.facts["release"])["value"] for entry in ledger.entries() if entry.kind == "release"}
    missing = sum(value not in kept for value in returned)
    verified = ledger.verify().entries > 0
    return {
        "interrupts": struck[0],
        "stuck": stuck[0],
        "missing": missing,
        "verified": verified,
        "values": len(returned),
    }


def read_without_rights(path: str, running: bool, modes: tuple[int, int]) -> Any:
    """Somebody who may not write reads a ledger, while a service has it open or not."""
    home = Path(tempfile.mkdtemp())
    home.chmod(0o755)
    folder, out = home / "inner", home / "told"
    folder.mkdir()
    names = [name for end in ("", ".head", ".lock") if (name := Path(path + end)).exists()]
    for name in names:
        name.rename(folder / name.name)
    target = str(folder / Path(path).name)
    out.touch()
    out.chmod(0o666)
    service = pv.Ledger.open(target)
    for _ in range(2):
        service.release(Coin(), None)
    service.verify()  # whatever is imported late is imported now, while it may be read
    service.export()
    if not running:
        service.close()

    def work() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        ledger = pv.Ledger.open(target)
        told = {"entries": len(ledger.entries()), "verified": ledger.verify().entries}
        told |= {"exported": len(ledger.export()["entries"]), "spent": ledger.spent["basic epsilon"]}
        try:
            ledger.release(Coin(), None)
            told["raised"] = "nothing"
        except LedgerError as problem:
            told["raised"] = type(problem).__name__
        out.write_text(json.dumps(told))

    for name in folder.iterdir():
        name.chmod(modes[0])
    folder.chmod(modes[1])
    code = join(fork(work))
    folder.chmod(0o755)
    told = json.loads(out.read_text() or "null") or {"code": code}
    service.close()
    for name in folder.iterdir():
        name.chmod(0o600)
        name.rename(Path(path).parent / name.name)
    shutil.rmtree(home)
    return told


def waits(url: str, workers: int, least: int, seconds: float) -> Any:
    """Everyone goes on reserving until everyone has had `least` turns: how many each got before the time was over.

    A slow or busy machine makes this take longer and changes nothing else: a writer that is passed over again and again
    is passed over while the others go on, however fast they are.
    """
    context = multiprocessing.get_context("fork")
    barrier, granted = context.Barrier(workers, timeout=200), context.Array("i", workers)

    def work(number: int) -> None:
        ledger = pv.Ledger.open(url)
        ledger.reserve(PureLoss(TINY))
        barrier.wait()
        end = time.monotonic() + seconds
        while min(granted) < least and time.monotonic() < end:
            ledger.reserve(PureLoss(TINY))
            granted[number] += 1

    codes = join(*[fork(lambda number=number: work(number)) for number in range(workers)])
    return {"codes": codes, "granted": list(granted)}


def return_twice(url: str, folder: str, key: str | None) -> Any:
    """A mechanism that forks and returns in both processes: two draws for one charge."""
    ledger = pv.Ledger.open(url)
    main = os.getpid()
    value = ledger.release(Coin(before=lambda data: fork_in_two()), None, key=key).value
    Seen(Path(folder) / f"{os.getpid()}.seen").add(value)
    if os.getpid() != main:
        os._exit(0)
    os.wait()
    return {"entries": ledger.verify().entries}


def fork_in_two() -> None:
    os.fork()
