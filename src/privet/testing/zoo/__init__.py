"""The zoo: broken mechanisms, each one a real bug, with sound twins. A referee that misses one is blind to that bug.

Noise is drawn on the integer grid, so that no entry is caught by the low bits of float noise but those about floats.

>>> from privet.testing.zoo import run_entry, zoo
>>> entry = zoo()[19]
>>> entry.name, run_entry(entry, runs=20_000).caught
('zero counted twice', True)
"""

from privet.testing.zoo.card import (
    Outcome as Outcome,
    ScoreCard as ScoreCard,
    Verdicts as Verdicts,
    run_entry as run_entry,
    run_zoo as run_zoo,
    zoo as zoo,
)
from privet.testing.zoo.entry import Entry as Entry
