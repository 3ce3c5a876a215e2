"""The counts of an audit, as whole numbers: everything a bound is recomputed from."""

from dataclasses import dataclass

from privet._validate import count, flag, open_fraction, set_frozen
from privet.errors import InvalidParameter


@dataclass(frozen=True)
class Counts:
    """One event in two worlds: it happened in `tp` of `n` runs on D and in `fp` of `n_out` runs on its neighbour D'.

    The attacker who answers "D" when the event happens has `tp` true and `fp` false positives. Without `n_out` both
    worlds were run equally often.

    >>> Counts(tp=400, fp=100, n=1000).fn
    600
    """

    tp: int
    fp: int
    n: int
    n_out: int = -1  # as often as on D

    def __post_init__(self) -> None:
        n = count("n", self.n, 1)
        n_out = n if self.n_out == -1 else count("n_out", self.n_out, 1)
        values = {"tp": count("tp", self.tp), "fp": count("fp", self.fp), "n": n, "n_out": n_out}
        if values["tp"] > n or values["fp"] > n_out:
            raise InvalidParameter(
                f"an event cannot happen more often than it was tried: got tp={self.tp} of {n}, fp={self.fp} of {n_out}"
            )
        for name, value in values.items():
            set_frozen(self, **{name: value})

    @property
    def fn(self) -> int:
        """Runs on D in which the event did not happen."""
        return self.n - self.tp

    @property
    def tn(self) -> int:
        """Runs on D' in which the event did not happen."""
        return self.n_out - self.fp

    def swapped(self) -> "Counts":
        """The same event with the worlds exchanged.

        >>> Counts(tp=9, fp=1, n=10).swapped().tp
        1
        """
        return Counts(tp=self.fp, fp=self.tp, n=self.n_out, n_out=self.n)


@dataclass(frozen=True)
class Guesses:
    """One training run: of `canaries` independent coins `made` were guessed, `correct` of them rightly.

    `commitment` names the coins, where they were committed to before the run.

    >>> Guesses(correct=95, made=100, canaries=1000).correct
    95
    """

    correct: int
    made: int
    canaries: int
    commitment: str | None = None

    def __post_init__(self) -> None:
        canaries = count("canaries", self.canaries, 1)
        made, correct = count("made", self.made), count("correct", self.correct)
        if not correct <= made <= canaries:
            raise InvalidParameter(
                "correct guesses are some of the guesses made, and these are about some of the canaries: "
                f"got {correct} correct, {made} made, {canaries} canaries"
            )
        for name, value in (("canaries", canaries), ("made", made), ("correct", correct)):
            set_frozen(self, **{name: value})


@dataclass(frozen=True)
class Hits:
    """Secrets that were hit by an event whose `chance` is known where they were not in: `hits` of `secrets`.

    `one_run` says that all of them were in one training; else each had a training of its own. `estimated` says that the
    chance is an upper confidence bound at half of the level. Each secret was put in `copies` times.

    >>> Hits(hits=3, secrets=10, chance=0.25).hits
    3
    """

    hits: int
    secrets: int
    chance: float
    one_run: bool = False
    estimated: bool = False
    copies: int = 1

    def __post_init__(self) -> None:
        set_frozen(self, copies=count("copies", self.copies, 1))
        secrets, hits = count("secrets", self.secrets, 1), count("hits", self.hits)
        if hits > secrets:
            raise InvalidParameter(f"more hits than secrets: got {hits} of {secrets}")
        set_frozen(self, secrets=secrets, hits=hits, chance=open_fraction("chance", self.chance))
        flag("one_run", self.one_run)
        flag("estimated", self.estimated)
