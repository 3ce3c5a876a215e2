"""The synthesizer that public facts speak for."""

import math
from typing import Any, NamedTuple, Unpack

from privet._calls import door
from privet._validate import count
from privet.errors import InvalidParameter
from privet.privacy import Guarantee, Promise, spelt_out
from privet.synth.aim import AIM
from privet.synth.independent import Independent
from privet.synth.mst import MST
from privet.synth.synthesizer import Synthesizer

_ENOUGH = 4.5  # the logarithm, base 10, of rows times epsilon from which on rounds of choices pay


class Best(NamedTuple):
    """A synthesizer and why it was chosen.

    >>> Best(Independent(), "one column").why
    'one column'
    """

    synthesizer: Synthesizer
    why: str


@door
@spelt_out
def best(
    schema: Any, *, rows: int | None = None, workload: Any = 3, options: Any = None, **promise: Unpack[Promise]
) -> Best:
    """The synthesizer for a table, from public facts alone: its schema, the promise, and the number of rows where that is
    public (`rows`; say roughly). `options` are keywords of every synthesizer (`bins`, `columns`, ...).

    AIM where there are many rows for the budget and the workload fits, else MST; `Independent` for a single column.

    >>> from privet.tables import Int
    >>> best({"a": Int(0, 1), "b": Int(0, 1)}, rows=100_000, epsilon=1.0, delta=1e-6).why
    'AIM: 1e+05 rows at epsilon 1 are enough for rounds of choices'
    """
    given, promised = dict(options or {}), Guarantee(**promise)
    if rows is not None:
        given["rows"] = count("rows", rows, 1)
    task = MST(**given).task(schema)
    if len(task.sizes) == 1:
        return Best(Independent(**given), "Independent: there is one column only")
    epsilon = promised.epsilon or (promised.mu or math.sqrt(2.0 * (promised.rho or 0.0))) * 4.0
    if rows is None:
        return Best(MST(**given), "MST: the number of rows is not public (rows=), and MST is good at every size")
    if math.log10(rows * epsilon) < _ENOUGH:
        return Best(MST(**given), f"MST: {rows:.3g} rows at epsilon {epsilon:.3g} are too few for rounds of choices")
    made = AIM(workload=workload, **given)
    try:
        made._plan(task, promised)
    except InvalidParameter as problem:
        return Best(MST(**given), f"MST: AIM does not fit ({problem})")
    return Best(made, f"AIM: {rows:.3g} rows at epsilon {epsilon:.3g} are enough for rounds of choices")
