"""An audit in words: what was found, what was looked at, and what so many runs cannot show."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from privet._numerics import Array

_FLOATS = "lowest bit"
_ZERO_BELOW = -1_100  # the lowest bit of 0 is marked as less than that of any double
_FINE = -20  # values that people round on purpose have no bit below 2^-20
_SCALE = frozenset(("threshold", "projection", "difference", "exponent"))  # kinds that speak of how much noise there is
_STOPPED = "bets refuted the claim and ended the runs early"
_BITS = (
    "the lowest bits of its floating-point numbers give the input away, whatever the scale of the noise "
    "(docs/explanation/exact-noise.md)"
)


def name_of(made: object) -> str:
    """The name of what is audited; of a lambda, where it stands.

    >>> name_of(abs), name_of(partial(sorted, reverse=True))
    ('abs', 'sorted')
    """
    while isinstance(made, partial):
        made = made.func
    name = str(getattr(made, "name", getattr(made, "__name__", type(made).__name__)))
    code = getattr(made, "__code__", None)
    if name != "<lambda>" or code is None:
        return name
    return f"lambda in {Path(code.co_filename).name}, line {code.co_firstlineno}"


def all_equal(columns: list[dict[str, Array]]) -> list[str]:
    """A note where every run of both worlds showed the same, times aside: the audit had nothing to compare.

    >>> all_equal([{"form": np.zeros(2)}, {"form": np.zeros(3)}])[0].partition(":")[0]
    'all 5 outputs are equal'
    >>> all_equal([{"form": np.zeros(2)}, {"form": np.ones(3)}])
    []
    """
    for name in columns[0].keys() & columns[1].keys():
        if name.startswith("time"):
            continue
        both = np.concatenate((columns[0][name], columns[1][name]))
        if both.size and not (np.isnan(both).all() or bool((both == both[0]).all())):
            return []
    runs = sum(len(side["form"]) for side in columns)
    return [f"all {runs:,} outputs are equal: nothing was compared (is the answer returned?)"]


def never_answered(encoder: Any) -> list[str]:
    """A note where every run that was looked at first raised something.

    >>> from types import SimpleNamespace
    >>> never_answered(SimpleNamespace(vocabulary={"raises KeyError": 0, "raises TypeError": 1}))
    ['every scouting run raised something (KeyError, TypeError)']
    """
    forms = list(encoder.vocabulary)
    if not forms or not all(form.startswith("raises ") for form in forms):
        return []
    return [f"every scouting run raised something ({', '.join(form.removeprefix('raises ') for form in forms)})"]


def cause_of(audit: Any) -> str:
    """The probable cause of a refuted claim, in words: too little noise, floating-point numbers, or something else.

    Every tested event that refutes the claim on its own counts, not only the one with the smallest p-value: that is often a
    leak through the lowest bits, which would hide that the scale is wrong, too.
    """
    tested = audit.tests or ((audit.test, audit.witness),)
    kinds = {_kind_of(witness.event) for test, witness in tested if test.verdict == "violated"}
    others = sorted(kinds - _SCALE - {_FLOATS})
    said = []
    if kinds & _SCALE:
        said.append("its values tell the inputs apart more than claimed: too little noise, or too small a sensitivity")
    if others:
        said.append(f"what gives the input away is of the kind: {', '.join(others)}")
    if _FLOATS in kinds:
        alone = "; no other event that was tested speaks against its scale"
        said.append(f"besides, {_BITS}" if said else _BITS + alone)
    return "; ".join(said)


def _kind_of(event: Any) -> str:
    """The kind of an event; the lowest bit of whole numbers, and of 0, tells no more than their value."""
    if event.kind != _FLOATS:
        return str(event.kind)
    return _FLOATS if _ZERO_BELOW < event.threshold <= _FINE else "threshold"


def headline(audit: Any) -> str:
    """The outcome of an audit of a mechanism in one line: verdict and its reason first, then the bound, then the runs."""
    if audit.depends is not None:
        said = f"{audit.name}: {audit.verdict} ({audit.depends}; give fresh=, a function that makes a new instance)"
    else:
        said = f"{audit.name}: {audit.verdict} at level {audit.alpha:g} "
        said += f"(p-value {audit.test.p_value:.3g}; event: {audit.witness})"
        said += f"; {cause_of(audit)}" if audit.verdict == "violated" else ""
    measured = audit.tests[-1][1] if len(audit.tests) > 1 else audit.witness
    by = "" if audit.lower.lower == 0.0 else f" (measured by: {measured.question})"
    pairs = "1 pair" if audit.pairs_tried == 1 else f"{audit.pairs_tried} pairs"
    bound, made = f"bound: epsilon >= {audit.lower.lower:.4g} at delta {audit.lower.delta:g}{by}", f"{audit.runs:,}"
    beyond = f"; claims above epsilon {audit.lower.ceiling:.3g} are out of reach of so many runs"
    if audit.stopped:
        bound, made, beyond = f"no bound: {_STOPPED}", f"at most {audit.runs:,}", ""
    return said + (
        f"; {bound}; {pairs} of neighbours, {made} runs a world, {audit.calls:,} in all, scouting included "
        f"({audit.released:,} of the tested ones by release); {audit.claim.unit.describe()}{beyond}"
        + "".join(f"; {note}" for note in audit.notes)
        + "; explain() says more"
    )


def explained(audit: Any) -> str:
    """Every finding of an audit of a mechanism, by kind and pair, and the limits of what it could see."""
    tests = audit.tests or ((audit.test, audit.witness),)
    lines = [f"{audit.name}: {audit.verdict} at level {audit.alpha:g}."]
    if audit.depends is not None:
        lines.append(
            f"The output depends on more than its input: {audit.depends}. No test of these runs means anything."
        )
    elif audit.verdict == "violated":
        lines.append(f"Why: {cause_of(audit)}.")
    told = dict.fromkeys(_tested(test, witness) for test, witness in tests)  # one event may be tested more than once
    lines += list(told)
    n = tests[0][0].counts.n
    # so likely an event is that all n runs miss it with a quarter of the level, the share of the event that measures
    rare = 1.0 - (audit.alpha / 4.0) ** (1.0 / n)
    bound = f"Bound: epsilon >= {audit.lower.lower:.4g} at delta {audit.lower.delta:g}, by the last of these events."
    beyond = f"claims above epsilon {audit.lower.ceiling:.3g}, "
    if audit.stopped:
        bound, beyond = f"No bound: {_STOPPED}.", ""
    lines += [
        f"Looked at: {audit.pairs_tried} pairs of neighbours and {audit.events_tried:,} events in {audit.calls:,} runs; "
        f"{audit.released:,} of the tested runs came from release, {audit.simulated:,} were simulated.",
        bound,
        f"Cannot be seen by so many runs: {beyond}events rarer than {rare:.2g}, "
        "other inputs, what a run leaves in files, variables or other programs, and joint behaviour of several releases. "
        "Not refuted is not private.",
        *audit.notes,
    ]
    return "\n".join(lines)


def _tested(test: Any, witness: Any) -> str:
    """One tested event: what it is, on which inputs, how often it was seen."""
    where = f"{witness.left!r} and {witness.right!r}"[:160]
    counts = f"{test.counts.tp:,} of {test.counts.n:,} runs against {test.counts.fp:,} of {test.counts.n_out:,}"
    return f"Tested ({witness.event.kind}): {witness}; inputs {where}; {counts}; p-value {test.p_value:.3g}."
