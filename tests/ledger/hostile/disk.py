"""A disk that remembers: SQLite's writes and syncs are recorded, so that any power cut can be replayed, or made to fail.

The default VFS of the process's own SQLite library gets another `xOpen`; the files it opens get other `xWrite`,
`xTruncate` and `xSync`, which note what they do, or refuse, and then call the real ones. A power cut after the first n
events leaves, for each file, what was synced plus *any* part of what was written later: none of it, all of it, or
some of it with one write torn in the middle. What is not modelled: a disk that lies about a sync, and directory entries
(a file exists from its first sync, a deletion is immediate).
"""

import ctypes
import os
import random
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

FULL, IO_SYNC = 13, 10 | (4 << 8)  # SQLITE_FULL, SQLITE_IOERR_FSYNC

_int, _pointer, _long, _text = ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
# The name of a file is handed on as the pointer that it is: SQLite keeps it, and a copy made by Python would not last.
_Open = ctypes.CFUNCTYPE(_int, _pointer, _pointer, _pointer, _int, ctypes.POINTER(_int))
_Delete = ctypes.CFUNCTYPE(_int, _pointer, _text, _int)
_Write = ctypes.CFUNCTYPE(_int, _pointer, _pointer, _int, _long)
_Truncate = ctypes.CFUNCTYPE(_int, _pointer, _long)
_Sync = ctypes.CFUNCTYPE(_int, _pointer, _int)


class _Vfs(ctypes.Structure):
    _fields_ = (
        ("version", _int),
        ("file_size", _int),
        ("max_path", _int),
        ("next", _pointer),
        ("name", _text),
        ("data", _pointer),
        ("open", _Open),
        ("delete", _Delete),
    )


class _Methods(ctypes.Structure):
    _fields_ = (
        ("version", _int),
        ("close", _pointer),
        ("read", _pointer),
        ("write", _Write),
        ("truncate", _Truncate),
        ("sync", _Sync),
        ("others", _pointer * 13),
    )


class Event(NamedTuple):
    """One step on one file; `data` is what was written, `at` an offset or a new size."""

    kind: str
    file: str
    at: int = 0
    data: bytes = b""


def library() -> ctypes.CDLL | None:
    """The SQLite library that Python's sqlite3 module is linked to, or None where it cannot be told."""
    import sqlite3  # loads it

    assert sqlite3.sqlite_version
    maps = Path("/proc/self/maps")
    names = {line.split()[-1] for line in maps.read_text().splitlines()} if maps.exists() else set()
    found = [name for name in names if "libsqlite3" in name]
    return ctypes.CDLL(found[0]) if found else None


class Disk:
    """The record of one folder. `fault(kind, file)` may return an SQLite error code to inject before a step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
        self.events: list[Event] = []
        self.marks: list[tuple[int, Any]] = []
        self.fault: Callable[[str, str], int | None] = lambda kind, file: None
        self._keep: list[Any] = []  # callbacks must outlive the files that call them
        self._names: dict[int, str] = {}
        self._real: dict[int, _Methods] = {}

    def mark(self, what: Any) -> None:
        """Remember that something was told to the outside at this moment."""
        self.marks.append((len(self.events), what))

    def pending(self, file_end: str) -> int:
        """Writes to files with this ending that no sync has made durable yet."""
        waiting = 0
        for event in self.events:
            if event.file.endswith(file_end):
                waiting = 0 if event.kind == "sync" else waiting + 1
        return waiting

    @contextmanager
    def recording(self) -> Any:
        sqlite = library()
        assert sqlite is not None
        sqlite.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        vfs = sqlite.sqlite3_vfs_find(None).contents
        real_open, real_delete = _copy(_Open, vfs.open), _copy(_Delete, vfs.delete)

        def opened(own: int, name: int | None, file: int, flags: int, out: Any) -> int:
            code = real_open(own, name, file, flags, out)
            path = "" if name is None else os.fsdecode(ctypes.string_at(name))
            if code == 0 and os.path.dirname(path) == str(self.folder):
                self._wrap(file, os.path.basename(path))
            return code

        def deleted(own: int, name: bytes, sync: int) -> int:
            if os.path.dirname(os.fsdecode(name)) == str(self.folder):
                self.events.append(Event("delete", os.path.basename(os.fsdecode(name))))
            return real_delete(own, name, sync)

        self._keep += [_Open(opened), _Delete(deleted)]
        vfs.open, vfs.delete = self._keep[-2:]
        try:
            yield self
        finally:
            vfs.open, vfs.delete = real_open, real_delete

    def _wrap(self, file: int, name: str) -> None:
        slot = ctypes.cast(file, ctypes.POINTER(ctypes.POINTER(_Methods)))
        table = _Methods.from_buffer_copy(slot.contents.contents)
        real = table.write, table.truncate, table.sync
        real = _copy(_Write, real[0]), _copy(_Truncate, real[1]), _copy(_Sync, real[2])

        def step(event: Event, call: Callable[[], int]) -> int:
            code = self.fault(event.kind, name) or call()
            if code == 0:
                self.events.append(event)
            return code

        def write(own: int, data: int, size: int, at: int) -> int:
            return step(Event("write", name, at, ctypes.string_at(data, size)), lambda: real[0](own, data, size, at))

        def truncate(own: int, size: int) -> int:
            return step(Event("truncate", name, size), lambda: real[1](own, size))

        def sync(own: int, flags: int) -> int:
            return step(Event("sync", name), lambda: real[2](own, flags))

        table.write, table.truncate, table.sync = _Write(write), _Truncate(truncate), _Sync(sync)
        self._keep += [table, table.write, table.truncate, table.sync]
        slot[0] = ctypes.pointer(table)

    def cut(self, moment: int, keep: str, dice: random.Random) -> dict[str, bytes]:
        """The files after a power cut before event `moment`; `keep` is "none", "all" or "some" of what is unsynced."""
        stable = {name: bytearray(content) for name, content in self.start.items()}
        waiting: dict[str, list[Event]] = {}
        for event in self.events[:moment]:
            if event.kind == "delete":
                stable.pop(event.file, None)
                waiting.pop(event.file, None)
                continue
            steps = waiting.setdefault(event.file, [])
            if event.kind != "sync":
                steps.append(event)
                continue
            content = stable.setdefault(event.file, bytearray())
            for step in steps:
                _apply(content, step)
            steps.clear()
        for name, steps in waiting.items():
            for step in _survivors(steps, keep, dice):
                _apply(stable.setdefault(name, bytearray()), step)
        return {name: bytes(content) for name, content in stable.items()}


def _copy(kind: Any, function: Any) -> Any:
    """The same C function through a pointer of its own: the field it was read from is about to change."""
    return kind(ctypes.cast(function, _pointer).value)


def _survivors(steps: list[Event], keep: str, dice: random.Random) -> list[Event]:
    if keep != "some":
        return steps if keep == "all" else []
    lucky = [step for step in steps if dice.random() < 0.5]
    if lucky and lucky[-1].kind == "write":
        torn = lucky.pop()
        lucky.append(torn._replace(data=torn.data[: dice.randrange(len(torn.data) + 1)]))
    return lucky


def _apply(content: bytearray, step: Event) -> None:
    if step.kind == "truncate":
        del content[step.at :]
        return
    content.extend(bytes(max(0, step.at - len(content))))
    content[step.at : step.at + len(step.data)] = step.data
