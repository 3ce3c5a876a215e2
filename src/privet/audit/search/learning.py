"""Learning to tell the worlds apart: all rules at once, and rules for runs that they were not learned from."""

import numpy as np

from privet._numerics import Array
from privet.audit.search.atoms import flags_of, odds_of
from privet.audit.search.classifier import Learned, alone, classifiers, time_given_value, tree
from privet.audit.search.independence import drifts

Columns = dict[str, Array]
_FOLDS = 4  # so that no run is judged by what was learned from it


def learn(left: Columns, right: Columns, *, kinds: frozenset[str]) -> dict[str, Learned]:
    """Learn to tell the worlds apart from some runs, which must not be tested on; the new features by name.

    Columns that change as time goes by (serial numbers, clocks) are left out: later runs are not like those learned from.

    >>> learn({"value[0]": np.zeros(200)}, {"value[0]": np.ones(200)}, kinds=frozenset({"projection"}))
    {}
    """
    return _learn(*_steady(left, right), kinds)


def learnable(left: Columns, right: Columns, *, kinds: frozenset[str]) -> bool:
    """True if there is more to an output than one number, which thresholds, windows and atoms see all of.

    >>> learnable({"value[0]": np.zeros(200)}, {"value[0]": np.ones(200)}, kinds=frozenset({"projection"}))
    False
    """
    shared = [name for name in left if name in right]
    return ("projection" in kinds and not alone(shared)) or ("time" in kinds and "time" in shared)


def crossed(left: Columns, right: Columns, *, kinds: frozenset[str]) -> tuple[dict[str, Learned], list[Columns]]:
    """The same, and the columns with the new features beside them, as rules learned without each run see it.

    The rules learned from all runs would flatter them, and events would be chosen for luck. Each run is therefore judged
    by rules that were learned from the other three quarters; a feature that some quarter lacks is left out.

    >>> rng = np.random.default_rng(1)
    >>> sides = [{"form": np.zeros(400), "value[0]": rng.normal(size=400), "value[1]": rng.normal(size=400)} for _ in "ab"]
    >>> rules, columns = crossed(*sides, kinds=frozenset({"projection"}))
    >>> sorted(rules) == sorted(set(columns[0]) - set(sides[0]))
    True
    """
    steady = _steady(left, right)
    rules = _learn(*steady, kinds)
    added: list[Columns] = [{name: np.zeros(len(side["form"])) for name in rules} for side in (left, right)]
    for fold in range(_FOLDS):
        held = [np.arange(len(side["form"])) % _FOLDS == fold for side in (left, right)]
        others = [{name: column[~out] for name, column in side.items()} for side, out in zip(steady, held, strict=True)]
        found = _learn(others[0], others[1], kinds)
        rules = {name: rule for name, rule in rules.items() if name in found}
        for new, side, out in zip(added, steady, held, strict=True):
            inside = {name: column[out] for name, column in side.items()}
            for name in rules:
                new[name][out] = found[name](inside)
    columns = [side | {name: new[name] for name in rules} for side, new in zip((left, right), added, strict=True)]
    return rules, columns


def _steady(left: Columns, right: Columns) -> tuple[Columns, Columns]:
    drifting = {name for side in (left, right) for name, column in side.items() if name != "form" and drifts(column)}
    kept = [{name: side[name] for name in side if name not in drifting} for side in (left, right)]
    return kept[0], kept[1]


def _learn(left: Columns, right: Columns, kinds: frozenset[str]) -> dict[str, Learned]:
    found: dict[str, Learned | None] = {}
    if "projection" in kinds:
        found["classifier"], found["classifier of sides"] = classifiers(left, right)
        found["classifier of values"] = flags_of(left, right)
        found["score of the whole answer"] = odds_of(left, right)
        found["tree"] = tree(left, right)
    if "time" in kinds:
        found["time given value"] = time_given_value(left, right)
    return {name: model for name, model in found.items() if model is not None}
