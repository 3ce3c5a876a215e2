"""Every door, found and not listed: what people type in the rooms, and the methods of their objects."""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, is_typeddict

import numpy as np

import privet as pv
from privet import accounting, audit, mechanisms, privacy, queries, report, tables, workloads

# The command line is tried by its own words (tests/cli); what runs laws is for those who write tests.
ELSEWHERE = {"cli", "server", "testing"}


def rooms() -> list[ModuleType]:
    """Every room and the sub-rooms that are reached by name."""
    found = [import_module(f"privet.{name}") for name in pv.__all__ if name not in {*pv._HOMES, "__version__"}]
    found = [room for room in found if inspect.ismodule(room) and room.__name__.split(".")[1] not in ELSEWHERE]
    inner = [getattr(room, name) for room in found for name in getattr(room, "__all__", ())]
    return found + [room for room in inner if inspect.ismodule(room)]


def functions_and_classes() -> dict[str, Callable[..., Any]]:
    """Name to callable, exceptions left out: they are raised by us and made by nobody else."""
    found: dict[str, Callable[..., Any]] = {}
    for room in rooms():
        for name in getattr(room, "__all__", ()):
            value = getattr(room, name)
            if (inspect.isroutine(value) or _is_made(value)) and is_door(value):
                found[f"{room.__name__.removeprefix('privet.')}.{name}"] = value
    return found


def _is_made(value: Any) -> bool:
    """A class of objects, not of exceptions; and no word for type checkers (a protocol, the keywords of a promise)."""
    for_checkers = is_typeddict(value) or getattr(value, "_is_protocol", False)
    return isinstance(value, type) and not issubclass(value, BaseException) and not for_checkers


def is_door(value: Any) -> bool:
    """Whether a wrong call is answered with a sentence; everything else is plain Python."""
    made = (value.__new__ if issubclass(value, tuple) else value.__init__) if isinstance(value, type) else value
    return getattr(made, "__door__", False)


def public() -> dict[str, Any]:
    """Every public name of every room."""
    return {f"{room.__name__}.{name}": getattr(room, name) for room in rooms() for name in getattr(room, "__all__", ())}


def made_from_classes() -> dict[str, Callable[..., Any]]:
    """Class methods and static methods, bound to their class."""
    found = {}
    for place, kind in public().items():
        if isinstance(kind, type):
            for name, member in inspect.getmembers_static(kind):
                if isinstance(member, classmethod | staticmethod) and is_door(member.__func__):
                    found[f"{place}.{name}"] = getattr(kind, name)
    return found


# What objects of ours ask of each other: stored prices and designs, parts of a plan, small ones for tests.
_PLUMBING = {"examples", "from_body", "planned", "worth_trying", "named", "taken_from"}
_ASKED = ("for_budget", "for_error", "candidates", "start", "release", "explain")


def typed_methods() -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """What people type of a class that is a door: name, function, and whether the class itself is asked for it.

    Whatever makes its objects, and the questions that newcomers put to the class where they mean an object of it.
    """
    for place, kind in public().items():
        if not isinstance(kind, type) or not is_door(kind):
            continue
        for name, member in inspect.getmembers_static(kind):
            of_class = isinstance(member, classmethod | staticmethod)
            known = not name.startswith("_") and name not in _PLUMBING
            if (of_class and known) or (name in _ASKED and inspect.isfunction(member)):
                yield f"{place}.{name}", getattr(kind, name), of_class


def ledger() -> pv.Ledger:
    """A small ledger in memory that has paid once."""
    made = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0, delta=1e-6))
    made.release(mechanisms.Count.for_budget(epsilon=0.25), [True, False])
    return made


def objects() -> dict[str, Any]:
    """One object of each kind that a newcomer holds in hand."""
    loss, book = privacy.GaussianLoss(2.0), ledger()
    people = pv.Table(
        {"age": np.arange(20.0), "ward": ["A", "B"] * 10},
        columns={"age": pv.Int(0, 110), "ward": pv.Category(["A", "B"])},
    )
    query = people.group_by("ward").agg(n=pv.count())
    ranges = workloads.RangeQueries(domain=8)
    release = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0).release(42)
    made: dict[str, Any] = {
        "bound": accounting.epsilon(loss, delta=1e-5),
        "budget": pv.Budget(1.0),
        "filter": accounting.BasicFilter(1.0),
        "state": accounting.BasicFilter(1.0).start(),
        "accountant": accounting.Tightest(),
        "guarantee": privacy.Guarantee(1.0),
        "unit": privacy.Unit(),
        "loss": loss,
        "repeated": privacy.Repeated(loss, 3),
        "variable": loss.variable("remove"),
        "release": release,
        "bar": release.error,
        "ledger": book,
        "spent": book.spent,
        "preview": book.preview(loss),
        "verified": book.verify(),
        "entry": book.entries()[0],
        "quote": report.quote(loss, delta=1e-5),
        "status": report.ledger_status(book),
        "table": people,
        "column": people["age"],
        "query": query,
        "query preview": query.preview(epsilon=0.5),
        "ranges": ranges,
        "range answer": ranges.release(np.ones(8), epsilon=1.0).value,
        "private": pv.Private(3),
        "exact check": audit.exact_pair({0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.5}, claim=privacy.PureLoss(1.0))
        if hasattr(audit, "exact_pair")
        else None,
        "person": tables.Person("id", max_rows=3),
        "aggregate": queries.count(),
    }
    for name, kind in mechanisms.registered_mechanisms().items():
        made[f"mechanism {name}"] = next(iter(kind.examples())).mechanism
    return {name: each for name, each in made.items() if each is not None}


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods of those objects, one of each kind."""
    seen = set()
    for name, thing in objects().items():
        for method, member in inspect.getmembers_static(type(thing)):
            if method.startswith("_") or not inspect.isfunction(member) or not is_door(member):
                continue
            if member not in seen:
                seen.add(member)
                yield f"{name}.{method}", getattr(thing, method)
