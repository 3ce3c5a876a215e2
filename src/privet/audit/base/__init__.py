"""What every audit shares: counts, coins, events, and results that say "violated" or "not refuted"."""

from privet.audit.base.coins import Coins
from privet.audit.base.counts import Counts, Guesses
from privet.audit.base.datasets import extended, selected
from privet.audit.base.explain import delta_of, explained
from privet.audit.base.result import ADD_REMOVE, CredibleBound, CurveTest, LowerBound, Result, Verdict, same_neighbours
from privet.audit.base.sample import AtLeast, Event, Sample
from privet.audit.base.statistic import R, Statistic
from privet.audit.base.watch import Ending, differing, followed, lane, run_watched, text_of

__all__ = [
    "ADD_REMOVE",
    "AtLeast",
    "Coins",
    "Counts",
    "CredibleBound",
    "CurveTest",
    "Ending",
    "Event",
    "Guesses",
    "LowerBound",
    "R",
    "Result",
    "Sample",
    "Statistic",
    "Verdict",
    "delta_of",
    "differing",
    "explained",
    "extended",
    "followed",
    "lane",
    "run_watched",
    "same_neighbours",
    "selected",
    "text_of",
]
