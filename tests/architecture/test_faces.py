"""Rooms meet at their faces, and arguments have types: what is measured here may fall and does not rise."""

import ast
from pathlib import Path

from tests.architecture.source import Function, Module, absolute_origin, source_modules
from tests.architecture.test_public_names import rooms

PAST_FACES = 170  # names; 671 before faces had what neighbours need
BARE = 0.05  # of all arguments; 0.109 before `object` stood where any value is handed on


def past_faces(modules: tuple[Module, ...], faces: set[str]) -> list[str]:
    """Names that a file takes from inside another room, where a face of that room could hand them out."""
    rooms = {".".join(name.split(".")[:2]) for name in faces if name.count(".") >= 1}
    return [
        f"{module.name}: {origin}.{alias.name}"
        for module in modules
        for node in module.statements
        if isinstance(node, ast.ImportFrom)
        for origin in [absolute_origin(module, node)]
        for alias in node.names
        if origin not in faces and (room := ".".join(origin.split(".")[:2])) in rooms
        if room != ".".join(module.name.split(".")[:2])
    ]


def annotations(function: Function) -> list[str]:
    every = function.args
    given = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
    return [ast.unparse(each.annotation) for each in given if each is not None and each.annotation is not None]


def bare(modules: tuple[Module, ...]) -> float:
    """The share of arguments whose type is `Any` and nothing more."""
    found = [each for module in modules for function in module.functions() for each in annotations(function)]
    return found.count("Any") / len(found)


def module(name: str, code: str) -> Module:
    return Module(name, Path(f"{name.rpartition('.')[2]}.py"), ast.parse(code))


def test_rooms_take_names_from_the_faces_of_others():
    past = past_faces(source_modules(), set(rooms()))
    assert len(past) <= PAST_FACES, "\n".join(past)


def test_arguments_say_what_they_are():
    assert bare(source_modules()) <= BARE


def test_a_name_from_inside_another_room_is_seen():
    user = module("privet.ledger.x", "from privet.privacy.unit import Unit\nfrom privet.privacy import PureLoss")
    inside = module("privet.privacy.pure", "from privet.privacy.unit import Unit")
    found = past_faces((user, inside), {"privet.privacy", "privet.ledger"})
    assert found == ["privet.ledger.x: privet.privacy.unit.Unit"]


def test_a_bare_type_is_seen():
    assert bare((module("privet.x", "def f(a: Any, b: int, *c: Any, d: list[Any]) -> Any: ..."),)) == 0.5
