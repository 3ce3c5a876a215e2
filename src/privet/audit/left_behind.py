"""Places where a run leaves something and no audit looks: files, the environment, other programs, the network.

Python tells a hook of every file that is opened for writing and of every program that is started. The hook stays for the
life of the process (Python takes none back) and notes nothing except while somebody watches.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_PLACES = {
    "os.putenv": "the environment",
    "os.unsetenv": "the environment",
    "os.system": "another program",
    "subprocess.Popen": "another program",
    "socket.connect": "the network",
    "socket.sendto": "the network",
    "sqlite3.connect": "a file",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_watching: list[set[str]] = []


@contextmanager
def left_behind() -> Iterator[set[str]]:
    """The kinds of places that something was left in meanwhile, by this process.

    >>> import os
    >>> with left_behind() as places:
    ...     os.environ["PRIVET_EXAMPLE"] = "3"
    >>> places
    {'the environment'}
    """
    _hooked()
    places: set[str] = set()
    _watching.append(places)
    try:
        yield places
    finally:
        _watching[:] = [each for each in _watching if each is not places]


def said_of(places: set[str]) -> list[str]:
    """A note for a report, or none.

    >>> said_of({"a file"})
    ['something was written to a file: what was left there was not compared; return it, and it is']
    """
    where = " and ".join(sorted(places))
    return [f"something was written to {where}: what was left there was not compared; return it, and it is"] * bool(
        places
    )


@lru_cache(maxsize=1)
def _hooked() -> None:
    sys.addaudithook(_noticed)


def _noticed(event: str, given: tuple[Any, ...]) -> None:
    if not _watching:
        return
    place = "a file" if event == "open" and _for_writing(*given) else _PLACES.get(event)
    if place is not None:
        for places in _watching:
            places.add(place)


def _for_writing(path: object, mode: object, flags: object) -> bool:
    text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if not text or text == os.devnull or "__pycache__" in text:  # Python's own compiled files are nobody's output
        return False
    wanted = bool(set(mode) & set("wax+")) if isinstance(mode, str) else False
    return wanted or (isinstance(flags, int) and bool(flags & _WRITING))
