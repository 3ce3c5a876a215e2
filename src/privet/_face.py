"""The face of a room: its public names, read off its imports instead of written a second time."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def face(names: Mapping[str, Any], *rooms: str) -> tuple[list[str], Callable[[], list[str]]]:
    """The `__all__` and the `__dir__` of a room: every name that its `__init__` imports, and the sub-rooms in `rooms`.

    Files of a room become attributes of it when they are imported; they are not meant for users, so a module
    is public only when it is named.

    >>> import math
    >>> names, listing = face({"Unit": int, "math": math, "_hidden": 1, "filters": math}, "filters")
    >>> names == listing() == ["Unit", "filters"]
    True
    """
    public = sorted(
        name
        for name, value in names.items()
        if not name.startswith("_") and value is not face and (name in rooms or not isinstance(value, ModuleType))
    )
    return public, lambda: list(public)


def not_in_this_version(room: str) -> Callable[[str], Any]:
    """The `__getattr__` of a room that is planned and still empty: whatever is asked of it, that is the answer.

    >>> from privet import pate
    >>> pate.Teachers
    Traceback (most recent call last):
    ...
    AttributeError: privet.pate is not in this version of privet
    """

    def absent(name: str) -> Any:
        raise AttributeError(f"{room} is not in this version of privet")

    return absent
