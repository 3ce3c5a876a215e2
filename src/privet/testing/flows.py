"""The static law of exact quantities: inside `_run` they flow into a `.release(...)` and nowhere else.

The source of `_run` is read, and of every function of the house that it hands an exact quantity to. What is computed from
one is exact too, also what a branch on one sets; what a `.release(...)` returns is not. Exact must not be: what comes back,
and the mechanism that is asked. What is not followed: attributes that a method sets, and the number of turns of a loop,
which a replay compares.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

from privet.mechanisms import Algorithm, Example
from privet.testing.law import law_of

_DEEPEST = 6  # calls of calls that are read: what lies deeper counts as exact where something exact goes in
_DOORS = ("release", "_run", "_coins")  # what they return is protected: parts, strategies (which have this law), coins
_PUBLIC = ("isinstance", "type")  # what these say is public, whatever they are asked about

Taint = dict[str, bool]

# Functions whose result is public although they are handed exact quantities, and why.
TRUSTED = {
    "known_rows": "the number of records is public where they are exchanged for others, else it is released",
    "TableAnswers._noisy": "whether there are groups at all is public: it is released, or asked",
}


@law_of("mechanism")
def check_exact_numbers_stay_inside(example: Example) -> None:
    """In the source of an algorithm no exact quantity reaches what it returns, or the choice of a mechanism.

    >>> from privet.mechanisms import Laplace
    >>> check_exact_numbers_stay_inside(next(iter(Laplace.examples())))
    """
    algorithm: Any = example.mechanism
    if isinstance(algorithm, Algorithm):
        found = exact_flows(type(algorithm)._run, algorithm)
        assert not found, f"{algorithm.name}: {'; '.join(found)}"


def exact_flows(run: Callable[..., Any], algorithm: object) -> list[str]:
    """The faults of a `_run(self, prepared, source)`: a line for each exact quantity that leaves."""
    reader = _Reader(algorithm)
    if any(reader.returns(run, {"prepared": True, "cells": True}, 0)):
        reader.found.append(f"what {run.__qualname__} returns is computed from exact quantities")
    return sorted(set(reader.found))


class _Reader:
    """Follows exact quantities through functions whose source is known."""

    def __init__(self, algorithm: object) -> None:
        self.algorithm = algorithm
        self.found: list[str] = []
        self._known: dict[Any, list[bool]] = {}

    def returns(self, function: Callable[..., Any], exact: Taint, depth: int) -> list[bool]:
        """True if what a function returns is exact, given which arguments are: once, or for each entry of a tuple."""
        key = (function, tuple(sorted(exact.items())))
        if function.__qualname__ in TRUSTED:
            return [False]
        if key not in self._known:
            self._known[key] = [any(exact.values())]  # until it is known: it may call itself
            tree = _tree(function)
            if tree is not None and depth <= _DEEPEST:
                self._known[key] = _Body(self, function, depth).read(tree, exact)
        return self._known[key]


class _Body:
    """One function: which of its names are exact, statement after statement, until nothing changes."""

    def __init__(self, reader: _Reader, function: Callable[..., Any], depth: int) -> None:
        self.reader, self.depth, self.function = reader, depth, function
        self.names: dict[str, Any] = dict(getattr(function, "__globals__", {}))
        self.exact: Taint = {}
        self.result: list[bool] = []

    def read(self, tree: ast.FunctionDef, exact: Taint) -> list[bool]:
        self.exact = dict(exact)
        for _ in range(3):  # names that a loop sets at its end are read at its beginning
            before = dict(self.exact)
            self._block(tree.body, False)
            if self.exact == before:
                break
        return self.result

    def _block(self, body: list[ast.stmt], inside: bool) -> None:
        for each in body:
            self._statement(each, inside)

    def _statement(self, node: ast.stmt, inside: bool) -> None:
        """`inside` a branch on an exact quantity everything that is set is exact."""
        if isinstance(node, ast.Return):
            each = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] if node.value else []
            marks = [inside or self._exact(part) for part in each]
            if self.result and len(marks) != len(self.result):
                self.result = [any([*marks, *self.result])]
            else:
                self.result = [a or b for a, b in zip(marks, self.result or marks, strict=True)]
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._set(target, node.value, inside, add=isinstance(node, ast.AugAssign))
        elif isinstance(node, ast.If | ast.While):
            branch = inside or self._exact(node.test)
            self._block(node.body, branch)
            self._block(node.orelse, branch)
        elif isinstance(node, ast.For):
            self._mark(node.target, self._exact(node.iter) or inside)
            self._block(node.body, inside)
        elif isinstance(node, ast.With):
            for item in node.items:
                self._exact(item.context_expr)
            self._block(node.body, inside)
        elif isinstance(node, ast.Expr):
            self._exact(node.value)

    def _set(self, target: ast.expr, value: ast.expr | None, inside: bool, *, add: bool) -> None:
        if value is None:
            return
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            marks = [inside or self._exact(each) for each in value.elts]  # before any of them is set
            for each, mark in zip(target.elts, marks, strict=True):
                self._mark(each, mark)
            return
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            marks = self._call(value)
            if len(marks) == len(target.elts):
                for each, mark in zip(target.elts, marks, strict=True):
                    self._mark(each, mark or inside)
                return
        mark = inside or self._exact(value)
        self._mark(target, mark or (add and self._exact(target)))

    def _mark(self, target: ast.expr, exact: bool) -> None:
        if isinstance(target, ast.Name):
            self.exact[target.id] = exact
        elif isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                self._mark(each, exact)
        elif isinstance(target, ast.Starred):
            self._mark(target.value, exact)
        elif isinstance(target, ast.Subscript | ast.Attribute) and exact:
            self._mark(target.value, True)  # one exact entry makes the whole exact

    def _exact(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return self.exact.get(node.id, False)
        if isinstance(node, ast.Call):
            return any(self._call(node))
        if isinstance(node, ast.Lambda):
            return self._exact(node.body)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for each in node.generators:
                self._mark(each.target, self._exact(each.iter))
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            parts += [test for each in node.generators for test in each.ifs]
            return max(self._exact(each) for each in parts)
        if isinstance(node, ast.Compare) and all(isinstance(each, ast.Is | ast.IsNot) for each in node.ops):
            return False  # whether something is there at all is decided by public facts
        # `max` and not `any`: each part is read, for what it asks
        return max(
            (self._exact(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)), default=False
        )

    def _call(self, node: ast.Call) -> list[bool]:
        arguments = [*node.args, *(each.value for each in node.keywords)]
        marks = [self._exact(each) for each in arguments]
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _PUBLIC:
            return [False]
        if name in _DOORS:
            if isinstance(node.func, ast.Attribute) and self._exact(node.func.value):
                place = f"{self.function.__qualname__}, line {node.lineno}"
                self.reader.found.append(f"an exact quantity chooses the mechanism that is asked ({place})")
            return [False]
        if self._exact(node.func):
            return [True]  # a method of exact data, or a function made from them
        if not any(marks):
            return [False]
        function = self._resolved(node.func)
        if function is None:
            return [True]
        return self.reader.returns(function, _bound(function, node, marks), self.depth + 1)

    def _resolved(self, node: ast.expr) -> Callable[..., Any] | None:
        """The function of the house that is called, where that can be said without running anything."""
        found: Any = None
        if isinstance(node, ast.Name):
            found = self.names.get(node.id)
        elif isinstance(node, ast.Attribute):  # of the algorithm itself, or of another one of its kind
            found = inspect.getattr_static(type(self.reader.algorithm), node.attr, None)
        found = inspect.unwrap(found) if callable(found) else None
        where = getattr(found, "__module__", "") or ""
        mine = where == type(self.reader.algorithm).__module__  # an author's own, wherever it stands
        return found if inspect.isfunction(found) and (mine or where.startswith(("privet.", "tests."))) else None


def _bound(function: Callable[..., Any], node: ast.Call, marks: list[bool]) -> Taint:
    """Which parameters get an exact argument."""
    names = list(inspect.signature(function).parameters)
    if names and names[0] == "self" and isinstance(node.func, ast.Attribute):
        names = names[1:]
    exact: Taint = {}
    for i, (argument, mark) in enumerate(zip(node.args, marks, strict=False)):
        if isinstance(argument, ast.Starred):
            exact |= dict.fromkeys(names[i:], mark)
        elif i < len(names):
            exact[names[i]] = mark
    for keyword, mark in zip(node.keywords, marks[len(node.args) :], strict=True):
        exact |= dict.fromkeys(names, mark) if keyword.arg is None else {keyword.arg: mark}
    return exact


@cache
def _tree(function: Callable[..., Any]) -> ast.FunctionDef | None:
    try:
        made = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    return made if isinstance(made, ast.FunctionDef) else None
