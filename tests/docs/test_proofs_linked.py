"""Docstrings name their proof by path, and the proof is there."""

import ast
import re

import pytest

from tests.docs.markdown import ROOT

SOURCES = sorted((ROOT / "src" / "privet").rglob("*.py"))
PRICES = [
    path for path in sorted((ROOT / "src" / "privet" / "privacy").glob("*.py")) if "@register" in path.read_text()
]


def proofs_in(text: str) -> list[str]:
    return re.findall(r"docs/proofs/[\w/]+\.md", text)


def registered(code: str) -> list[ast.ClassDef]:
    classes = [node for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    return [node for node in classes if any(ast.unparse(mark) == "register" for mark in node.decorator_list)]


def unproved(code: str) -> list[str]:
    return [node.name for node in registered(code) if not proofs_in(ast.get_docstring(node) or "")]


def test_every_proof_that_is_named_exists():
    named = {(path.name, proof) for path in SOURCES for proof in proofs_in(path.read_text(encoding="utf-8"))}
    assert len(named) > 30
    assert [pair for pair in sorted(named) if not (ROOT / pair[1]).is_file()] == []


@pytest.mark.parametrize("path", PRICES, ids=lambda path: path.stem)
def test_every_price_names_its_proof(path):
    assert unproved(path.read_text(encoding="utf-8")) == []


def test_a_price_without_a_proof_is_noticed():
    code = '@register\n@dataclass\nclass Loss:\n    """A price."""\n'
    assert unproved(code) == ["Loss"]
    assert unproved(code.replace("A price.", "A price. **Proof:** docs/proofs/privacy/pure.md.")) == []
