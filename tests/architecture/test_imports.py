"""Which file may import which: no cycle, and no short cut between the files of one room.

The direction between rooms is import-linter's work (see pyproject.toml). Inside a room, files know the
room's contract and families, and nothing else of each other unless a `layers` contract names both and orders them.
A sub-room (a package inside a room) counts as one algorithm: its own files are free, but acyclic.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.architecture.source import (
    SRC,
    Module,
    import_graph,
    imports_of,
    open_modules,
    ordered_subrooms,
    resolved_graph,
    source_modules,
)

LONGEST_CHAIN = 30  # files, imports inside functions counted; one through a face leads to the file behind it


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def short_cuts(graph: dict[str, set[str]], ordered: dict[str, set[str]], open_to_all: dict[str, set[str]]) -> list[str]:
    """Imports between two files of one room that nothing allows."""
    found = []
    for importer, targets in graph.items():
        for target in targets:
            here, there = importer.split("."), target.split(".")
            same_room = len(here) > 2 and len(there) > 2 and here[:2] == there[:2]
            if not same_room or here[2] == there[2] or there[2] in open_to_all.get(".".join(here[:2]), set()):
                continue
            if not {here[2], there[2]} <= ordered.get(".".join(here[:2]), set()):
                found.append(f"{importer} imports {target}")
    return sorted(found)


def longest_chain(graph: dict[str, set[str]]) -> list[str]:
    """The files that import each other one after the other, as many as there are."""
    chains: dict[str, list[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        below = max((chains[each] for each in graph.get(name, ())), key=len, default=[])
        chains[name] = [name, *below]
    return max(chains.values(), key=len)


def module(name: str, code: str) -> Module:
    return Module(name, Path(f"{name.rpartition('.')[2]}.py"), ast.parse(code))


def test_there_is_no_import_cycle():
    assert find_cycle(import_graph(source_modules())) == []


def test_the_longest_chain_of_imports_does_not_grow():
    chain = longest_chain(resolved_graph(source_modules()))
    assert len(chain) <= LONGEST_CHAIN, " > ".join(chain)


def test_a_chain_is_measured_along_its_longest_way():
    assert longest_chain({"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}) == ["a", "b", "c", "d"]


def test_a_face_is_no_step_of_a_chain_and_a_module_behind_it_is():
    face = Module("p.room", Path("room/__init__.py"), ast.parse("from p.room.file import Name as Name"))
    file, user = module("p.room.file", "import p.low"), module("p.user", "from p.room import Name")
    graph = resolved_graph((face, file, user, module("p.low", "")))
    assert graph["p.user"] == {"p.room.file"}
    assert len(longest_chain(graph)) == 3


def test_files_of_one_room_do_not_import_each_other():
    assert short_cuts(import_graph(source_modules()), ordered_subrooms(), open_modules()) == []


def test_every_folder_of_the_package_is_a_package():
    folders = {path.parent for path in SRC.rglob("*.py")} - {SRC}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_the_cycle_finder_sees_lazy_and_relative_imports():
    lazy = module("p.a", "def f():\n    from p import b\n")
    relative = module("p.b", "from . import a\n")
    assert set(find_cycle(import_graph((lazy, relative)))) == {"p.a", "p.b"}


def test_the_cycle_finder_leaves_type_checking_imports_alone():
    typed = module("p.a", "if TYPE_CHECKING:\n    import p.b\n")
    assert imports_of(typed, frozenset({"p.b"})) == set()


def test_short_cuts_are_found_and_orders_respected():
    graph = {"p.room.one": {"p.room.two", "p.room.families.x", "p.other.file"}}
    assert short_cuts(graph, {}, {"p.room": {"families"}}) == ["p.room.one imports p.room.two"]
    assert short_cuts(graph, {"p.room": {"one", "two"}}, {"p.room": {"families"}}) == []
