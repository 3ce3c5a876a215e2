"""Noise that was drawn once, before the audit began, and is held ever since."""

from dataclasses import replace
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.audit.search.copies import holds_an_iterator, nudged
from privet.audit.search.encoder import Encoder
from privet.audit.search.running import Subject


def held(subject: Subject, encoder: Encoder, pair: tuple[Any, Any], columns: list[dict[str, Array]]) -> str | None:
    """True if answers that never vary have noise in them all the same, in words.

    A number that the mechanism holds and that is added to its answers on either input may be such noise.

    >>> held(Subject(abs), Encoder((("", 0),)), (0, 1), [{"value[0]": np.zeros(3)}, {"value[0]": np.ones(3)}]) is None
    True
    """
    if any(len(np.unique(column[~np.isnan(column)])) > 1 for side in columns for column in side.values()):
        return None
    if holds_an_iterator(subject.mechanism):
        return "nothing varies from run to run, and it holds an iterator: something may have been drawn once and kept"
    for other in nudged(subject.mechanism):
        beside = replace(subject, mechanism=other, told=None, notes=[], ran={"release": 0, "simulate": 0})
        seen = [encoder.columns(world) for world in beside.both(*pair, 1, wanted=encoder.wanted)]
        moved = [
            [now[name][0] - before[name][0] for now, before in zip(seen, columns, strict=True)]
            for name in seen[0]
            if name.startswith("value") and name in columns[0] and " given " not in name
        ]
        if any(a == b and a != 0.0 for a, b in moved):
            return (
                "nothing varies from run to run, and a number that it holds is added to its answers: noise drawn once"
            )
    return None
