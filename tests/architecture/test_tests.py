"""Tests of the tests: each asserts something, and their number does not fall."""

import ast

import pytest

from tests.architecture.source import TESTS, Function, suite_modules

ASSERTING_CALLS = ("raises", "warns", "fail", "deprecated_call")
ASSERTING_PREFIXES = ("assert_", "check_", "verify")


def called_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def asserts_something(function: Function) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = called_name(node)
            if name in ASSERTING_CALLS or name.startswith(ASSERTING_PREFIXES):
                return True
    return False


def whole_suite(config: pytest.Config) -> bool:
    """Whether this run collected everything (asked on a worker of xdist, it answers for the run)."""
    chosen = config.option
    narrowed = (
        chosen.file_or_dir,
        chosen.keyword,
        getattr(chosen, "lf", False),
        chosen.deselect,
        chosen.ignore,
        chosen.ignore_glob,
    )
    return not any(narrowed) and chosen.markexpr == "not slow"


def test_every_test_asserts_something():
    idle = [
        f"{module.where(function)} {function.name}"
        for module in suite_modules()
        if module.path.name.startswith("test_")
        for function in module.functions()
        if function.name.startswith("test_") and not asserts_something(function)
    ]
    assert idle == []


def test_an_idle_test_is_found():
    (idle,) = ast.parse("def test_nothing():\n    compute(1)\n").body
    assert not asserts_something(idle)
    (checked,) = ast.parse("def test_law():\n    laws.check_order(loss)\n").body
    assert asserts_something(checked)


def test_the_number_of_tests_does_not_fall(request):
    if not whole_suite(request.config):
        pytest.skip("only part of the suite was collected")
    floor = int((TESTS / "floor.txt").read_text(encoding="utf-8"))
    collected = len(request.session.items)
    assert collected >= floor, "tests went missing; bring them back, or lower tests/floor.txt by hand and say why"
