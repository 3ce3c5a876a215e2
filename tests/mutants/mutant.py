"""One planted bug: a function, a piece of its text, what it becomes, and the tests that must notice."""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "privet"
_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER)


class Span(NamedTuple):
    """A definition of the source: its file below `privet`, its full name there, its first and last line."""

    file: str
    name: str
    first: int
    last: int


class Token(NamedTuple):
    """A word of Python with the line and column at which it begins and ends."""

    text: str
    begin: tuple[int, int]
    end: tuple[int, int]


def _defined(tree: ast.AST, file: str, prefix: str, *, local: bool = False) -> Iterator[Span]:
    """Functions and classes with their decorators, and the values that modules and classes name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}"
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield Span(file, name, first, node.end_lineno or first)
            yield from _defined(node, file, name, local=local or not isinstance(node, ast.ClassDef))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not local:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield Span(file, f"{prefix}.{target.id}", node.lineno, node.end_lineno or node.lineno)
        else:
            yield from _defined(node, file, prefix, local=local)


@cache
def definitions(room: str) -> tuple[Span, ...]:
    """Everything that a room defines; a single file at the top, such as `errors`, is a room too."""
    folder = SOURCE / room
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    found: list[Span] = []
    for path in files:
        file = path.relative_to(SOURCE).as_posix()
        prefix = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        found += _defined(ast.parse(path.read_text(encoding="utf-8")), file, prefix)
    return tuple(found)


def find(place: str) -> Span:
    """The one definition that `room:name` names; `name` may be shortened from the left as long as it stays the only one.

    Raises `LookupError` when it is gone or is not the only one: then the table must follow the source.
    """
    room, _, name = place.partition(":")
    found = [each for each in definitions(room) if f".{each.name}".endswith(f".{name}")]
    if len(found) != 1:
        raise LookupError(f"{place} names {len(found)} definitions")
    return found[0]


def stem(place: str) -> str:
    """The name of the file in which a place lies, or the last part of the place where it is gone."""
    try:
        return Path(find(place).file).stem
    except LookupError:  # `Mutant.text` says so; choosing tests does not need the source
        return place.rpartition(".")[2].rpartition(":")[2]


def _tokens(text: str) -> list[Token]:
    """The words of a piece of Python, which need not be a whole statement; layout and comments are left out."""
    found: list[Token] = []
    try:
        for each in tokenize.generate_tokens(io.StringIO(text).readline):
            if each.type not in _LAYOUT:
                found.append(Token(each.string, each.start, each.end))
    except (tokenize.TokenError, IndentationError):  # a piece may end inside brackets
        pass
    return found


def _by_tokens(body: str, old: str, new: str) -> tuple[int, str]:
    """How often the words of `old` stand in `body`, and `body` with the first of these places changed."""
    words, sought = _tokens(body), [each.text for each in _tokens(old)]
    size = len(sought)
    starts = [i for i in range(len(words) - size + 1) if [w.text for w in words[i : i + size]] == sought]
    if not size or not starts:
        return 0, body
    lines = body.splitlines(keepends=True)

    def offset(place: tuple[int, int]) -> int:
        return sum(len(line) for line in lines[: place[0] - 1]) + place[1]

    begin, end = offset(words[starts[0]].begin), offset(words[starts[0] + size - 1].end)
    return len(starts), body[:begin] + new.strip() + body[end:]


@dataclass(frozen=True)
class Mutant:
    """`old` stands exactly once in the definition `place`; `new` is a mistake that somebody could make.

    The place is a name (`ledger:Run.repeat`), so code may move between the files of a room, and be laid out anew: where
    the text is not found letter by letter, its words are sought.
    """

    name: str
    place: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def key(self) -> str:
        """Place and name: no two bugs share both."""
        return f"{self.place}: {self.name}"

    @property
    def file(self) -> str:
        """The file in which the place lies, below `privet`."""
        return find(self.place).file

    def text(self) -> str:
        """The file with the bug in it.

        Raises `LookupError` when the place is gone or is not the only one: then the table must follow the source.
        """
        span = find(self.place)
        lines = (SOURCE / span.file).read_text(encoding="utf-8").splitlines(keepends=True)
        body = "".join(lines[span.first - 1 : span.last])
        found, changed = body.count(self.old), body.replace(self.old, self.new)
        if not found:
            found, changed = _by_tokens(body, self.old, self.new)
        if found != 1:
            raise LookupError(f"{self.name}: the text to change stands {found} times in {self.place}")
        return "".join([*lines[: span.first - 1], changed, *lines[span.last :]])


class Table:
    """Mutants of one room, listed by `plant(name, place, old, new)`; `tests` are tried in this order."""

    def __init__(self, *tests: str) -> None:
        self.tests = tests
        self.mutants: list[Mutant] = []

    def plant(self, name: str, place: str, old: str, new: str, *tests: str) -> None:
        self.mutants.append(Mutant(name, place, old, new, tests or self.tests))
