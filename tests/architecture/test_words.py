"""The first words of docstrings: a plain noun, or what is returned; no question."""

import ast
import re

from tests.architecture.source import Module, source_modules

# "What a release costs" is a question with its answer left out: "The price of a release" says what there is.
QUESTIONS = frozenset({"What", "How", "Whether"})


def questions(modules: tuple[Module, ...]) -> list[str]:
    """The docstrings that begin as a question does."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        f"{module.where(node)} {text.splitlines()[0]}"
        for module in modules
        for node in (module.tree, *module.statements)
        if isinstance(node, documented) and (text := ast.get_docstring(node)) and _first_word(text) in QUESTIONS
    ]


def _first_word(text: str) -> str:
    found = re.match(r"\W*(\w+)", text)
    return found[1] if found else ""


def test_docstrings_begin_with_a_noun():
    assert questions(source_modules()) == []


def test_a_question_is_noticed():
    text = (
        '"""How far."""\nclass A:\n    """What it is."""\ndef f():\n    """Whether."""\ndef g():\n    """A noun."""\n'
    )
    module = Module("twin", source_modules()[0].path, ast.parse(text))
    assert len(questions((module,))) == 3
