"""The repository as syntax trees: what the architecture tests ask questions of."""

import ast
import gc
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file: its dotted name, its path and its tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        """Every statement, of functions and classes too: a tenth of all nodes, and listed once for all tests."""
        return tuple(statements(self.tree.body))

    @cached_property
    def run_time_imports(self) -> tuple[ast.Import | ast.ImportFrom, ...]:
        """The imports that are executed: not those that only a type checker sees."""
        seen = statements(self.tree.body, enter=lambda block: not _for_type_checkers(block))
        return tuple(node for node in seen if isinstance(node, ast.Import | ast.ImportFrom))

    def functions(self) -> Iterator[Function]:
        return (node for node in self.statements if isinstance(node, Function))

    def where(self, node: ast.AST) -> str:
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def statements(body: list[ast.stmt], enter: Callable[[ast.stmt], bool] = lambda block: True) -> Iterator[ast.stmt]:
    """The statements of a body and those inside of them; of what is not entered, its `else` alone."""
    for node in body:
        yield node
        inner = ("body", "handlers", "cases", "orelse", "finalbody") if enter(node) else ("orelse",)
        for name in inner:
            for each in getattr(node, name, ()):
                if isinstance(each, ast.stmt):
                    yield from statements([each], enter)
                else:  # a handler of errors, a case of a match
                    yield from statements(each.body, enter)


def _for_type_checkers(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def read(path: Path, base: Path) -> Module:
    parts = path.relative_to(base).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, ast.parse(path.read_text(encoding="utf-8")))


def read_all(paths: Iterable[Path], base: Path) -> tuple[Module, ...]:
    """Trees hold millions of nodes, none of them garbage: a collector that looks takes longer than the parser."""
    gc.disable()
    try:
        return tuple(read(path, base) for path in sorted(paths))
    finally:
        gc.freeze()
        gc.enable()


@cache
def source_modules() -> tuple[Module, ...]:
    return read_all(SRC.rglob("*.py"), SRC)


@cache
def suite_modules() -> tuple[Module, ...]:
    return read_all(TESTS.rglob("*.py"), ROOT)


def imports_of(module: Module, names: frozenset[str]) -> set[str]:
    """The modules among `names` that `module` imports at run time, anywhere in its file."""
    found: set[str] = set()
    for node in module.run_time_imports:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & names
        else:
            origin = absolute_origin(module, node)
            for alias in node.names:
                # `from a import b` means module a.b where there is one, else something inside a.
                target = f"{origin}.{alias.name}"
                found |= {target if target in names else origin} & names
    return found - {module.name}


def absolute_origin(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    stem = parts[: len(parts) - node.level + 1]
    return ".".join([*stem, node.module] if node.module else stem)


def import_graph(modules: tuple[Module, ...]) -> dict[str, set[str]]:
    names = frozenset(module.name for module in modules)
    return {module.name: imports_of(module, names) for module in modules}


def resolved_graph(modules: tuple[Module, ...]) -> dict[str, set[str]]:
    """As `import_graph`, with a name that is imported through a face counted as one of the file that defines it: a face is
    a list of such imports, and a reader of the name goes on there.
    """
    names = frozenset(module.name for module in modules)
    listed = {
        (face.name, alias.asname or alias.name): (absolute_origin(face, node), alias.name)
        for face in modules
        if face.is_package
        for node in face.run_time_imports
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def home(origin: str, name: str) -> str:
        while f"{origin}.{name}" not in names and (origin, name) in listed:
            origin, name = listed[origin, name]
        return f"{origin}.{name}" if f"{origin}.{name}" in names else origin

    graph = {module.name: imports_of(module, names) for module in modules}
    for module in modules:
        for node in module.run_time_imports:
            if isinstance(node, ast.ImportFrom):
                origin = absolute_origin(module, node)
                graph[module.name] -= {origin}
                graph[module.name] |= {home(origin, alias.name) for alias in node.names} & names - {module.name}
    return graph


@cache
def ordered_subrooms() -> dict[str, set[str]]:
    """Per room, the files and sub-rooms that an import-linter `layers` contract puts in order."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    ordered: dict[str, set[str]] = {}
    for contract in config["tool"]["importlinter"]["contracts"]:
        for container in contract.get("containers", []):
            for layer in contract["layers"]:
                units = layer.replace("|", ":").split(":")
                ordered.setdefault(container, set()).update(unit.strip(" ()") for unit in units)
    return ordered


@cache
def open_modules() -> dict[str, set[str]]:
    """Per room, what each of its files may import: its families and the contract below them, else its lowest layer."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    for contract in config["tool"]["importlinter"]["contracts"]:
        layers = contract.get("layers", [])
        lowest = layers[layers.index("families") :] if "families" in layers else layers[-1:]
        for container in contract.get("containers", []):
            names = (unit.strip(" ()") for layer in lowest for unit in layer.replace("|", ":").split(":"))
            found.setdefault(container, set()).update(names)
    return found


def body_lines(function: Function) -> int:
    """Lines from `def` to the end, the docstring not counted."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is None:
        return total
    docstring = function.body[0]
    return total - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)
