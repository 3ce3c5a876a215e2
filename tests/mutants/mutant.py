"""One planted bug: a text of a source file, what it becomes, and the tests that must notice."""

from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "privet"


@dataclass(frozen=True)
class Mutant:
    """`old` stands exactly once in `file`; `new` is a mistake that somebody could make, and that costs privacy."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def key(self) -> str:
        """File and name: no two bugs share both."""
        return f"{self.file}: {self.name}"

    def text(self) -> str:
        """The file with the bug in it.

        Raises `LookupError` when the place is gone or is not the only one: then the table must follow the source.
        """
        healthy = (SOURCE / self.file).read_text(encoding="utf-8")
        found = healthy.count(self.old)
        if found != 1:
            raise LookupError(f"{self.name}: the text to change stands {found} times in {self.file}")
        return healthy.replace(self.old, self.new)


class Table:
    """Mutants of one room, listed by `plant(name, file, old, new)`; `tests` are tried in this order."""

    def __init__(self, *tests: str) -> None:
        self.tests = tests
        self.mutants: list[Mutant] = []

    def plant(self, name: str, file: str, old: str, new: str, *tests: str) -> None:
        self.mutants.append(Mutant(name, file, old, new, tests or self.tests))
