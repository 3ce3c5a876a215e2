"""Small parts of the seams: values that must not leave, progress, and the loading of every room."""

import copy
import dataclasses
import importlib
import json
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import privet as pv
from privet import _progress, mechanisms, privacy, testing
from privet.errors import InvalidData, InvalidParameter, PrivetError, SerialisationError
from privet.testing import rooms

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Zaphod-73519482"


# --- Private --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Holder:
    inside: pv.Private


SHOWN = [
    repr,
    str,
    lambda x: f"{x}",
    lambda x: f"{x:>40}",
    lambda x: "{} {!r}".format(x, x),  # noqa: UP032
    lambda x: f"{[x]}{ {'a': x} }",
    lambda x: repr(Holder(x)),
    lambda x: repr(np.array([x], dtype=object)),
    lambda x: repr(dataclasses.asdict(Holder(x))),
    lambda x: repr(copy.copy(x)),
    lambda x: repr(copy.deepcopy(x)),
]


@pytest.mark.parametrize("show", SHOWN)
def test_nothing_shows_a_private_value(show):
    assert SECRET not in show(pv.Private(SECRET))
    assert "Private(...)" in show(pv.Private(SECRET))


@pytest.mark.parametrize(
    "store",
    [
        json.dumps,
        pickle.dumps,
        lambda x: pickle.dumps(x, protocol=0),
        lambda x: pickle.dumps([{"deep": x}]),
        lambda x: pickle.dumps(np.array([x], dtype=object)),
        lambda x: mechanisms.Release(x, privacy.PureLoss(1.0)).to_json(),
        lambda x: x.__reduce__(),
        lambda x: x.__getstate__(),
    ],
)
def test_nothing_stores_a_private_value(store):
    with pytest.raises((SerialisationError, TypeError)) as caught:
        store(pv.Private(SECRET))
    assert SECRET not in str(caught.value)


def test_comparison_and_hash_answer_no_question():
    one, other = pv.Private(5), pv.Private(5)
    assert one == copy.copy(one)
    assert one != other
    assert one != 5
    assert 5 not in [one]
    assert len({one, other}) == 2
    assert hash(one) != hash(5)
    assert hash(one) == object.__hash__(one)
    with pytest.raises(InvalidData):
        bool(pv.Private(0))
    for ask in (lambda: one < other, lambda: one + 1, lambda: len(pv.Private([1])), lambda: list(pv.Private([1]))):
        with pytest.raises(TypeError):
            ask()
    for ask in (float, int, lambda x: vars(x), lambda x: x[0]):
        with pytest.raises(TypeError):
            ask(one)
    assert sys.getsizeof(pv.Private("x" * 10_000)) == sys.getsizeof(pv.Private(0))


def test_it_comes_out_by_one_name_and_cannot_be_changed():
    value = pv.Private([1, 2])
    assert value.exact_value == [1, 2]
    assert [name for name in dir(value) if not name.startswith("_")] == ["exact_value"]
    with pytest.raises(AttributeError):
        value.exact_value = 3
    with pytest.raises(AttributeError):
        value.note = 3
    assert pv.Private[int] is not None


def test_a_traceback_of_a_failed_comparison_shows_nothing():
    one, other = pv.Private(SECRET), pv.Private("other")
    with pytest.raises(AssertionError) as caught:
        assert one == other
    assert SECRET not in str(caught.value)


# --- progress -------------------------------------------------------------------------------------------------------


def test_progress_is_silent_and_speaks_whole_numbers_only(capfd):
    work = _progress.track("steps", 3)
    work.advance(2)
    work.revise(4)
    assert capfd.readouterr() == ("", "")
    heard = []
    with _progress.listening(lambda *told: heard.append(told)):
        work = _progress.track("steps", np.int64(3))
        work.advance()
    assert heard == [("steps", 0, 3), ("steps", 1, 3)]
    assert all(type(told) in (str, int) for one in heard for told in one)


@pytest.mark.parametrize("number", [1.5, "3", pv.Private(3), np.array([1, 2]), None, -1, True, float("nan")])
def test_progress_refuses_what_is_no_count(number):
    with pytest.raises(InvalidParameter):
        _progress.track("rows", number)
    with pytest.raises(InvalidParameter):
        _progress.track("rows", 3).advance(number)
    with pytest.raises(InvalidParameter):
        _progress.track("rows", 3).revise(number)


def test_progress_names_work_by_a_text():
    with pytest.raises(InvalidParameter):
        _progress.track(pv.Private("rows"), 3)


# --- rooms ----------------------------------------------------------------------------------------------------------

NEW_MEMBER = """
from privet.mechanisms import Laplace, register
class Fresh(Laplace.__mro__[1]):
    name = "fresh_member_of_the_tests"
register(Fresh)
"""


@pytest.fixture
def a_room(tmp_path, monkeypatch):
    """A room with a module that nothing imports, and one that needs a package which is missing."""
    local = importlib.import_module("privet.local")
    monkeypatch.setattr(local, "__path__", [*local.__path__, str(tmp_path)])
    registry = importlib.import_module("privet.mechanisms.mechanism")._REGISTRY
    before, loaded = dict(registry), set(sys.modules)

    def write(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()

    yield write
    registry.clear()
    registry.update(before)
    for name in set(sys.modules) - loaded:  # classes of the room itself stay who they are
        if name.startswith("privet.local.") and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def test_a_member_that_nobody_imported_is_found(a_room):
    a_room(fresh=NEW_MEMBER, costly="import torch_of_another_world\n", extra="import pyspark.of_another_world\n")
    assert "fresh_member_of_the_tests" not in mechanisms.registered_mechanisms()
    with pytest.raises(ImportError):  # a mistake in a room is no missing extra
        rooms.load("privet.local")
    (Path(importlib.import_module("privet.local").__path__[-1]) / "costly.py").unlink()
    left_out = dict(rooms.load("privet.local"))
    assert "fresh_member_of_the_tests" in mechanisms.registered_mechanisms()
    assert list(left_out) == ["privet.local.extra"]


def test_a_room_that_says_what_it_needs_is_left_out(a_room):
    a_room(needy="from privet.errors import MissingExtra\nraise MissingExtra('install privet[torch]')\n")
    assert dict(rooms.load("privet.local")) == {"privet.local.needy": "install privet[torch]"}


def test_a_broken_room_is_an_error(a_room):
    a_room(broken="raise ValueError('planted')\n")
    with pytest.raises(ValueError, match="planted"):
        rooms.load("privet.local")


def test_every_room_is_loaded():
    testing.load_rooms()
    declared = set(pv.__all__) - {*pv._HOMES, "__version__", "errors", "report"}
    assert declared <= set(rooms.ROOMS)
    assert {f"privet.{room}" for room in rooms.ROOMS} <= set(sys.modules)


def test_laws_look_into_every_room(monkeypatch):
    asked = []
    for name in ("mechanisms", "losses", "audits"):
        monkeypatch.setattr(importlib.import_module(f"privet.testing.{name}"), "load_rooms", lambda: asked.append(1))
    next(testing.example_mechanisms())
    testing.example_losses()
    testing.assert_every_mechanism_has_examples()
    assert len(asked) == 3


def test_table_libraries_are_there_for_development():
    import tomllib

    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared, groups = whole["project"], whole["dependency-groups"]
    assert {"include-group": "test"} in groups["dev"]
    held = (ROOT / "constraints.txt").read_text()
    for package in ("pandas", "polars", "pyarrow"):
        assert any(re.match(package, entry) for entry in groups["test"])
        assert re.search(rf"^{package}==", held, re.MULTILINE)
        assert not any(re.match(package, entry) for entry in declared["dependencies"])


def test_the_errors_are_ours():
    assert issubclass(SerialisationError, PrivetError)
