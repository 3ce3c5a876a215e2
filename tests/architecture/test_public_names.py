"""What is public is so on purpose, exists, is annotated and is documented."""

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

from tests.architecture.source import Function, Module, source_modules


def unannotated(function: Function) -> list[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [
        argument.arg
        for argument in every
        if argument is not None and argument.annotation is None and argument.arg not in ("self", "cls")
    ]


def undocumented(module: ModuleType) -> list[str]:
    """Classes and functions of `__all__` without a docstring of their own."""
    missing = []
    for name in getattr(module, "__all__", []):
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        text = value.__doc__ or ""
        # A dataclass without a docstring is given its signature as one.
        if not text.strip() or text.startswith(f"{name}("):
            missing.append(name)
    return missing


def declares_all(module: Module) -> bool:
    targets = [
        target
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    targets = [leaf for target in targets for leaf in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


# those that users reach by name
SUB_ROOMS = {
    "privet.accounting.filters",
    "privet.learn.estimators",
    "privet.learn.losses",
    "privet.learn.problem",
    "privet.learn.search",
    "privet.learn.solvers",
    "privet.synth.graph",
    "privet.workloads.adaptive",
    "privet.workloads.inference",
    "privet.workloads.strategies",
    "privet.workloads.streams",
}


def is_room(module: Module) -> bool:
    return module.is_package and (module.name.count(".") <= 1 or module.name in SUB_ROOMS)


@cache
def rooms() -> tuple[str, ...]:
    """The rooms, read when a test asks for them: to parse all files takes longer than to collect most folders."""
    return tuple(module.name for module in source_modules() if is_room(module))


def test_rooms_say_what_they_export_and_nothing_else_does():
    declared = {module.name for module in source_modules() if declares_all(module)}
    assert declared == set(rooms())


def test_every_module_has_a_docstring():
    assert [m.name for m in source_modules() if not ast.get_docstring(m.tree)] == []


def test_every_argument_is_annotated():
    missing = [
        f"{module.where(function)} {function.name}({', '.join(unannotated(function))})"
        for module in source_modules()
        for function in module.functions()
        if unannotated(function)
    ]
    assert missing == []


def test_everything_exported_exists_once():
    for name in rooms():
        module = import_module(name)
        assert len(set(module.__all__)) == len(module.__all__), name
        assert [entry for entry in module.__all__ if not hasattr(module, entry)] == [], name


def test_everything_exported_is_documented():
    assert {name: missing for name in rooms() if (missing := undocumented(import_module(name)))} == {}


def test_the_signature_that_dataclass_writes_is_no_docstring():
    @dataclass
    class Bare:
        field: int

    Bare.__qualname__ = "Bare"
    fake = ModuleType("fake")
    fake.Bare = Bare
    fake.__all__ = ["Bare"]
    assert undocumented(fake) == ["Bare"]
