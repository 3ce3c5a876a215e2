"""Coins come from `noise`: no other room that answers about data brings randomness of its own."""

import ast
import re

import pytest

from tests.architecture.source import source_modules

# `noise` makes it; an audit shuffles made-up data and `testing` plants bugs; a ledger names files and keys.
ELSEWHERE = ("privet.noise", "privet.audit", "privet.testing", "privet.ledger")
FORBIDDEN = ("random", "secrets", "numpy.random", "os.urandom", "torch.random", "torch.distributions")
# of torch, of torch.cuda and of a tensor: also those that begin with `rand`
TORCH = ("normal", "bernoulli", "multinomial", "poisson", "binomial", "manual_seed", "manual_seed_all", "seed",
         "seed_all", "initial_seed", "Generator", "default_generator", "set_rng_state", "get_rng_state")  # fmt: skip
IN_PLACE = ("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_", "geometric_", "log_normal_")
# Whatever is found has one of these words in its text; the trees of files without them need no look.
WORDS = re.compile("|".join(("random", "secrets", "torch", *IN_PLACE)))


def foreign_coins(tree: ast.Module) -> list[int]:
    """Lines that import a generator of randomness, or reach for that of numpy, torch or the operating system."""
    nodes = list(ast.walk(tree))
    known = {
        alias.asname: alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.asname is not None
    }
    return [node.lineno for node in nodes if any(map(_is_coin, _names(node, known)))]


def _names(node: ast.AST, known: dict[str, str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    if not isinstance(node, ast.Attribute):
        return []
    tail, root = node.attr, node.value
    while isinstance(root, ast.Attribute):
        tail, root = f"{root.attr}.{tail}", root.value
    if not isinstance(root, ast.Name):
        return [f"?.{node.attr}"]  # of a value: only what a tensor does in place is told from others by its name
    return [f"{known.get(root.id, root.id)}.{tail}"]


def _is_coin(name: str) -> bool:
    first, _, last = name.partition(".")[0], ".", name.rpartition(".")[2]
    if first == "torch" and (last in TORCH or last.startswith("rand")):
        return True
    written_by_hand = "." in name and last in IN_PLACE
    return written_by_hand or any(name == bad or name.startswith(f"{bad}.") for bad in FORBIDDEN)


def test_no_room_has_coins_of_its_own():
    found = [
        f"{module.path}:{line}"
        for module in source_modules()
        if not module.name.startswith(ELSEWHERE) and WORDS.search(module.path.read_text(encoding="utf-8"))
        for line in foreign_coins(module.tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    ["import random", "from random import random", "from numpy import random", "import numpy.random as r",
     "import numpy as np\nx = np.random.normal()", "import os\nx = os.urandom(8)", "from secrets import token_bytes",
     "import torch\nx = torch.randn(3)", "import torch\nx = torch.rand_like(y)", "from torch import randperm",
     "import torch\nx = torch.normal(0.0, 1.0, (3,))", "import torch as t\nt.manual_seed(1)",
     "import torch\ng = torch.Generator()", "x = torch.zeros(3).normal_()", "from torch.distributions import Normal",
     "import torch\ntorch.cuda.manual_seed_all(1)", "noise = empty.bernoulli_(0.5)",
     "import torch\nx = torch.nn.init.normal_(w)"],
)  # fmt: skip
def test_every_way_to_coins_is_seen(text):
    assert WORDS.search(text)
    assert foreign_coins(ast.parse(text))


def test_what_only_sounds_alike_is_not():
    assert not foreign_coins(ast.parse("from privet.mechanisms import randomized_response\nx = self.random"))
    assert not foreign_coins(ast.parse("import torch\nx = torch.nn.Linear(3, 4)\ny = torch.arange(3)\nself.seed = 4"))
    assert not foreign_coins(ast.parse("uniform_ = 3\nplan.normal(x)"))
