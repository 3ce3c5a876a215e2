"""Tests of the tests: each asserts something, and a whole run says what it left out."""

import ast

from privet import mechanisms, privacy, testing
from tests.architecture.source import ROOT, Function, suite_modules
from tests.whole_run import laws_not_run, modules_not_run

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


def test_a_law_that_did_not_run_is_named():
    loss_laws = testing.laws_of("loss")
    everything = {
        (law.__name__, member)
        for members, subjects in (
            (privacy.registered_kinds(), ("loss", "accountant")),
            (mechanisms.registered_mechanisms(), ("mechanism",)),
            ({"list": None}, ("losses",)),
        )
        for subject in subjects
        for law in testing.laws_of(subject)
        for member in members
    }
    assert laws_not_run(everything) == []
    assert laws_not_run(everything - {(loss_laws[0].__name__, "pure")}) == [f"{loss_laws[0].__name__} over pure"]
    lonely = testing.laws_of("losses")[0].__name__
    assert laws_not_run(everything - {(lonely, "list")}) == [f"{lonely} at all"]


def test_a_test_module_that_did_not_run_is_named():
    ran = {module.path.relative_to(ROOT).as_posix() for module in suite_modules()}
    here = "tests/architecture/test_tests.py"
    assert modules_not_run(ran) == []
    assert modules_not_run(ran - {here}) == [here]
