"""Coins come from `noise`: no other room that answers about data brings randomness of its own."""

import ast

import pytest

from tests.architecture.source import source_modules

# `noise` makes it; an audit shuffles made-up data and `testing` plants bugs; a ledger names files and keys.
ELSEWHERE = ("privet.noise", "privet.audit", "privet.testing", "privet.ledger")
FORBIDDEN = ("random", "secrets", "numpy.random")


def foreign_coins(tree: ast.Module) -> list[int]:
    """Lines that import a generator of randomness, or reach for numpy's or the operating system's."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [{"np.random": "numpy.random", "os.urandom": "random"}.get(f"{node.value.id}.{node.attr}", "")]
        else:
            continue
        if any(name == bad or name.startswith(f"{bad}.") for name in names for bad in FORBIDDEN):
            lines.append(node.lineno)
    return lines


def test_no_room_has_coins_of_its_own():
    found = [
        f"{module.path}:{line}"
        for module in source_modules()
        if not module.name.startswith(ELSEWHERE)
        for line in foreign_coins(module.tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    ["import random", "from random import random", "from numpy import random", "import numpy.random as r",
     "import numpy as np\nx = np.random.normal()", "import os\nx = os.urandom(8)", "from secrets import token_bytes"],
)  # fmt: skip
def test_every_way_to_coins_is_seen(text):
    assert foreign_coins(ast.parse(text))


def test_what_only_sounds_alike_is_not():
    assert not foreign_coins(ast.parse("from privet.mechanisms import randomized_response\nx = self.random"))
