"""A file is one algorithm and a function fits on a screen."""

import ast

from tests.architecture.source import Module, body_lines, source_modules, suite_modules

FILE_CEILING = 500
FUNCTION_CEILING = 80


def long_files(modules: tuple[Module, ...]) -> list[str]:
    sizes = {module.path: len(module.path.read_text(encoding="utf-8").splitlines()) for module in modules}
    return [f"{path.name}: {size} lines" for path, size in sizes.items() if size > FILE_CEILING]


def long_functions(modules: tuple[Module, ...]) -> list[str]:
    return [
        f"{module.where(function)} {function.name}: {body_lines(function)} lines"
        for module in modules
        for function in module.functions()
        if body_lines(function) > FUNCTION_CEILING
    ]


def test_files_stay_under_the_ceiling():
    assert long_files(source_modules() + suite_modules()) == []


def test_functions_stay_under_the_ceiling():
    assert long_functions(source_modules() + suite_modules()) == []


def test_a_docstring_does_not_count_towards_the_ceiling():
    text = '"""' + "words\n" * 200 + '"""'
    tree = ast.parse(f"def documented():\n    {text}\n    return 1\n")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert body_lines(function) == 2
