"""The help of every option: one word for what it takes, and an example. New commands get both by themselves."""

from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

# One example for each option, by its name in Python; `tests/cli/test_help.py` holds that none is missing.
EXAMPLES = {
    "accountant": "pld",
    "advantage": "0.1",
    "alpha": "0.001",
    "analyst": "ann",
    "anchor": "visits.anchor",
    "answers": "286",
    "at": "1e-9",
    "beta": "0.01",
    "bottom": "500",
    "bugs": "1,5,36",
    "certificate": "laplace.json",
    "claim": "price.json",
    "classes": "10",
    "commitment": "3fa9...",
    "confidence": "0.99",
    "custodian": "custodian.key",
    "dataset": "visits",
    "delta": "1e-6",
    "delta0": "1e-6",
    "dimension": "10",
    "decimal": "comma",
    "domain": "1024",
    "epsilon": "0.5",
    "epsilon0": "0.1",
    "find": "steps",
    "fpr": "0.01",
    "group": "clinic",
    "group_size": "3",
    "head": "9c1b...",
    "html": "report.html",
    "jobs": "2",
    "json_loss": "price.json",
    "k": "10",
    "key": "anchor.key",
    "known": "visits.anchor",
    "ledger": "visits.ledger",
    "left": "[1, 0]",
    "majority": "200",
    "margin": "1.6",
    "max_bytes": "8",
    "mu": "0.5",
    "n": "1000000",
    "name": "visits",
    "neighbours": "mine:pairs",
    "noise_multiplier": "4",
    "out": "visits.json",
    "page": "visits.html",
    "part": "north",
    "per_person": "1",
    "person": "patient_id",
    "picture": "tradeoff",
    "plot": "price.png",
    "population": "60000",
    "positives": "5",
    "public": "wards.csv",
    "public_key": "d75a...",
    "protocol": "protocol.json",
    "purpose": "'weekly report'",
    "q": "0.01",
    "queries": "640",
    "ratio": "0.5",
    "reason": "'board of 3 May'",
    "relation": "replace",
    "rho": "0.1",
    "right": "[1, 1]",
    "runs": "20000",
    "sample_size": "256",
    "scale": "10",
    "schema": "visits.toml",
    "seconds": "60",
    "sensitivity": "1",
    "separator": "semicolon",
    "shape": "0.5",
    "share": "0.5",
    "shuffled": "10000",
    "sigma": "10",
    "sigma1": "150",
    "sign": "audit.key",
    "source": "backup.ledger",
    "sql": "'SELECT ward, COUNT(*) FROM visits GROUP BY ward'",
    "steps": "10000",
    "steps0": "100",
    "teachers": "250",
    "threshold": "200",
    "table": "public.visits",
    "tol": "1e-3",
    "top": "500",
    "total": "1e-6",
    "tpr": "0.05",
    "variance": "100",
    "workload": "prefix",
}
_METAVARS = {float: "NUMBER", int: "INTEGER", str: "TEXT", Path: "FILE"}
_ARGUMENTS = {
    "url": "LEDGER",
    "to": "LEDGER",
    "seq": "ENTRY",
    "path": "FILE",
    "parts": "PART",
}  # what has a place instead of a name is called by what it is


def described(function: object) -> Any:
    """The function, its options with an example in their help and one word for what each takes.

    >>> import typer
    >>> def price(delta: Annotated[float | None, typer.Option(help="Ask for epsilon at this delta.")] = None) -> None: ...
    >>> info = described(price).__annotations__["delta"].__metadata__[0]
    >>> info.help, info.metavar
    ('Ask for epsilon at this delta, e.g. 1e-6.', 'NUMBER')
    """
    for name, hint in function.__annotations__.items():
        if get_origin(hint) is not Annotated:
            continue
        kind, info = hint.__origin__, hint.__metadata__[0]
        held = _held(kind)
        if held is bool:
            info.metavar = ""  # a flag takes nothing
        elif info.metavar is None and not hasattr(info, "prompt"):
            info.metavar = _ARGUMENTS.get(name, name.upper())
        elif info.metavar is None and held in _METAVARS:
            info.metavar = _METAVARS[held]
        if held is not bool and hasattr(info, "prompt") and not hasattr(info, "described"):
            info.help = _with_example(info.help or "", EXAMPLES.get(name))
            info.described = True
    return function


def _with_example(told: str, example: str | None) -> str:
    if example is None or "e.g." in told or "such as" in told:
        return told
    ellipsis = told.endswith("...")
    return f"{told} e.g. {example}" if ellipsis or not told else f"{told.removesuffix('.')}, e.g. {example}."


def _held(kind: object) -> Any:
    """The type that an option holds, where it may be left out or given again."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    return _held(get_args(kind)[0]) if get_origin(kind) is list else kind
