"""Releases of an example: those of a costly one are made once, shared by the laws, and can be saved and loaded again."""

import json
import weakref
from pathlib import Path
from typing import Any

from privet.errors import InvalidData
from privet.mechanisms import Example, Release
from privet.noise import Seeded

_FORMAT = 1  # the version of the file: another one is refused
_SEED = 7  # any number serves


class Worlds:
    """The releases of one example: on its left input, on its right input, and two with the same seed.

    They are made when they are first asked for. `save` writes what there is, `load` reads it back for the same mechanism;
    what was saved is on made-up data and need not be kept secret.

    >>> from privet.mechanisms import Laplace
    >>> example = next(iter(Laplace.examples()))
    >>> worlds = Worlds(example)
    >>> len(worlds.left(3)), worlds.left(2)[0] is worlds.left(3)[0], worlds.made
    (3, True, 3)
    """

    def __init__(self, example: Example) -> None:
        # `_KNOWN` keeps worlds as long as their example lives: a strong reference from here would keep both for ever.
        self._example = weakref.ref(example)
        self._left: list[Release[Any]] = []
        self._right: list[Release[Any]] = []
        self._seeded: list[Release[Any]] = []
        self.made = 0  # releases that were run here, without those that were loaded

    def left(self, many: int) -> list[Release[Any]]:
        """`many` releases on the left input; those that were made before come first."""
        return self._up_to(self._left, many, "left")

    def right(self, many: int) -> list[Release[Any]]:
        """`many` releases on the right input; those that were made before come first."""
        return self._up_to(self._right, many, "right")

    def seeded(self) -> tuple[Release[Any], Release[Any]]:
        """Two releases on the left input, each from the start of one and the same seed."""
        while len(self._seeded) < 2:
            self._seeded.append(self._of("left", Seeded(_SEED)))
        return self._seeded[0], self._seeded[1]

    def _up_to(self, held: list[Release[Any]], many: int, side: str) -> list[Release[Any]]:
        while len(held) < many:
            held.append(self._of(side, None))
        return held[:many]

    def _of(self, side: str, source: Seeded | None) -> Release[Any]:
        """A new release."""
        example = self._example()
        if example is None:
            raise InvalidData("the example of these worlds is gone; keep it while you use them")
        self.made += 1
        return example.mechanism.release(getattr(example, side), source=source)

    def save(self, path: str | Path) -> None:
        """Write the releases that were made."""
        example = self._example()
        if example is None:
            raise InvalidData("the example of these worlds is gone; keep it while you use them")
        sides = {"left": self._left, "right": self._right, "seeded": self._seeded}
        text = {side: [release.to_json() for release in held] for side, held in sides.items()}
        document = {"privet_worlds": _FORMAT, "mechanism": example.mechanism.to_dict(), **text}
        Path(path).write_text(json.dumps(document), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path, example: Example) -> "Worlds":
        """The worlds in a file; those of another mechanism are refused. From now on the laws use them for this example, if
        its `cost` is "costly": others are run anew by each law."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            if document["privet_worlds"] != _FORMAT:
                raise InvalidData("these worlds were written by another version of privet; run them again")
            own = json.loads(json.dumps(example.mechanism.to_dict()))
            if document["mechanism"] != own:
                raise InvalidData("these worlds belong to another mechanism, or to other parameters; run them again")
            worlds = cls(example)
            for side in ("left", "right", "seeded"):
                getattr(worlds, f"_{side}").extend(Release.from_json(text) for text in document[side])
        except (KeyError, TypeError, json.JSONDecodeError):
            raise InvalidData("this file holds no worlds of privet") from None
        _KNOWN[example] = worlds
        return worlds


# The worlds that laws share, as long as their example lives.
_KNOWN: "weakref.WeakKeyDictionary[Example, Worlds]" = weakref.WeakKeyDictionary()


def worlds_of(example: Example) -> Worlds:
    """The worlds of this example: for a costly one always the same, which the laws share; for any other one new ones.

    >>> from privet.mechanisms import Laplace
    >>> example = next(iter(Laplace.examples()))
    >>> worlds_of(example) is worlds_of(example)
    False
    """
    if example.cost != "costly":
        return Worlds(example)
    return _KNOWN.setdefault(example, Worlds(example))
