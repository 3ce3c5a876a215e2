"""Numbers with a name: a word beside each says why it is what it is, or that it changes speed only."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import Module, source_modules

# A half is a half: these names say their whole value.
SPELT_OUT = frozenset({"HALF", "ONE", "ZERO", "ZEROS", "NOTHING", "NONE", "EMPTY"})
# What makes numbers of numbers: `Fraction(1, 2)`, `math.sqrt(2.0)`, `np.arange(5)`.
MAKERS = frozenset({"Fraction", "Decimal", "float", "int", "range", "math", "np"})
# Constants that stood without a word when this rule came, in files of the GPU engines: to be emptied, never added to.
WAITING = frozenset(
    {
        "batches._MOST",
        "ranked._LEADER",
        "step_noise._QUICK",
        "stream._CONSTANTS",
        "stream._MASK",
        "stream._LOWEST",
    }
)


def bare_constants(module: Module, lines: list[str]) -> list[str]:
    """The numeric constants of a module without a comment on their lines or above their group."""
    return [
        f"{module.where(node)} {name}"
        for name, node in _constants(module.tree.body)
        if name.strip("_") not in SPELT_OUT and not _has_a_word(node, lines)
    ]


def _constants(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """The names in capitals that a module or a class in it gives to numbers."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _constants(node.body)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]  # `_A, _B = 1, 2` has two
            if names and all(name.isupper() for name in names) and _is_numeric(node.value):
                yield ",".join(names), node


def _is_numeric(value: ast.expr) -> bool:
    """Whether somebody chose a number here: literals, and what arithmetic makes of them and of other constants."""
    leaves = [node for node in ast.walk(value) if isinstance(node, ast.Constant)]
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    chosen = [leaf for leaf in leaves if isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool)]
    return bool(chosen) and len(chosen) == len(leaves) and all(name in MAKERS or name.isupper() for name in names)


def _has_a_word(node: ast.stmt, lines: list[str]) -> bool:
    """A comment on the lines of the constant, one above the block of lines that it stands in, or a text below it."""
    first = node.lineno - 1
    below = lines[node.end_lineno or first].lstrip() if len(lines) > (node.end_lineno or first) else ""
    if below.startswith('"""') or any("#" in line for line in lines[first : node.end_lineno]):
        return True
    while lines[first].strip() and not lines[first].lstrip().startswith("#"):
        first -= 1
    return lines[first].lstrip().startswith("#")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_every_number_with_a_name_has_a_word():
    bare = [each for module in source_modules() for each in bare_constants(module, _lines(module.path))]
    assert [each for each in bare if _short(each) not in WAITING] == []


def _short(found: str) -> str:
    """The file and the name: `stream._MASK`."""
    where, name = found.split()
    return f"{Path(where.partition(':')[0]).stem}.{name}"


def test_a_number_without_a_word_is_noticed():
    text = (
        "import math\n\n# Of both.\n_FIRST = 1\n_SECOND = 2\n\n_ROUNDS = 6\n_FEW = 7  # pages\n_HALF = 0.5\n"
        "_WIDE = math.sqrt(3.0)\n_TWICE = 2 * _FEW\n_TEXT = 'a'\n\nclass A:\n    _MOST = 1 << 3\n    size = 4\n\n"
        "_LEFT, _RIGHT = 0.25, 0.5\n"
    )
    module = Module("twin", source_modules()[0].path, ast.parse(text))
    bare = [each.split()[-1] for each in bare_constants(module, text.splitlines())]
    assert bare == ["_ROUNDS", "_WIDE", "_TWICE", "_MOST", "_LEFT,_RIGHT"]
