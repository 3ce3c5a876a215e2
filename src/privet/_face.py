"""The face of a room: its public names, read off its imports instead of written a second time.

A name that a room does not have brings the nearest one that it has.
"""

import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from privet._calls import nearest
from privet.errors import MissingExtra, UnknownName


def face(
    names: dict[str, Any], *rooms: str, extra: str | None = None, partly: Mapping[str, str] | None = None
) -> tuple[list[str], Callable[[], list[str]]]:
    """The `__all__` and the `__dir__` of a room: every name that its `__init__` imports, and the sub-rooms in `rooms`.

    `extra` is the optional package without which the room has no names: where it is missing, whoever asks for one is told.
    `partly` names those that need a package which the rest of the room does not.

    Files of a room become attributes of it when they are imported; they are not meant for users, so a module
    is public only when it is named. `names` are the globals of the room: a `__getattr__` is added that says what was
    probably meant.

    >>> import math
    >>> names, listing = face({"Unit": int, "math": math, "_hidden": 1, "filters": math}, "filters")
    >>> names == listing() == ["Unit", "filters"]
    True
    """
    public = sorted(
        name
        for name, value in names.items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") != __name__  # the tools of this file
        and (name in rooms or not isinstance(value, ModuleType))
    )
    room = str(names.get("__name__", "this room"))
    absent = extra is not None and not installed(extra)
    lacking = {name: package for name, package in (partly or {}).items() if name not in names}
    names.setdefault("__getattr__", _without(room, str(extra)) if absent else unknown_in(room, public, lacking))
    return public, lambda: list(public)


def installed(package: str) -> bool:
    """True if an optional package is there, without loading it.

    >>> installed("numpy"), installed("a_package_of_another_world")
    (True, False)
    """
    return find_spec(package) is not None


def needs(package: str, *, room: str) -> None:
    """Refuse to import a room whose optional package is missing; the package is not loaded.

    >>> needs("numpy", room="privet.noise")
    """
    if not installed(package):
        raise _missing(room, package)


def _without(room: str, extra: str) -> Callable[[str], Any]:
    """The `__getattr__` of a room whose package is missing: the room can be looked at, and nothing can be taken out."""

    def missing(name: str) -> Any:
        if name.startswith("_"):  # asked by tools
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        raise _missing(room, extra)

    return missing


def _missing(what: str, extra: str) -> MissingExtra:
    return MissingExtra(f"{what} needs {extra}, which is not installed; run: pip install 'privet[{extra}]'")


def unknown_in(room: str, public: list[str], lacking: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """The `__getattr__` of a room: what it does not have is refused with the nearest name, here or in another room.

    >>> from privet import accounting
    >>> accounting.epsilom
    Traceback (most recent call last):
    privet.errors.UnknownName: privet.accounting has no 'epsilom': did you mean epsilon?
    """

    def unknown(name: str) -> Any:
        if name.startswith("_"):  # asked by tools, which want no suggestion
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        if lacking and name in lacking:
            raise _missing(f"{room}.{name}", lacking[name])
        raise UnknownName(f"{room} has no {name!r}{_suggestion(room, name, public)}")

    return unknown


def _suggestion(room: str, name: str, public: list[str]) -> str:
    loaded = [module for key, module in sys.modules.items() if key.startswith("privet.") and key.count(".") == 1]
    for other in loaded:
        if other.__name__ != room and name in (getattr(other, "__all__", None) or ()):
            return f": it is {other.__name__.removeprefix('privet.')}.{name}"
    near = nearest(name, public, 0.7)
    return (
        f": did you mean {near}?" if near else f". It has {', '.join(public[:8])}{', ...' if len(public) > 8 else ''}"
    )


def not_in_this_version(room: str) -> Callable[[str], Any]:
    """The `__getattr__` of a room that is planned and still empty: whatever is asked of it, that is the answer.

    >>> from privet import server
    >>> server.serve
    Traceback (most recent call last):
    ...
    privet.errors.UnknownName: privet.server is not in this version of privet
    """

    def absent(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        raise UnknownName(f"{room} is not in this version of privet")

    return absent
