"""Scouting: which pair of inputs, and which events, the tested runs are held against."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.audit.counts import Counts
from privet.audit.explain import all_equal
from privet.audit.search import (
    Candidate,
    Crew,
    Encoder,
    Learned,
    Strain,
    Subject,
    Tallies,
    World,
    crossed,
    direction_of,
    fit,
    learn,
    learnable,
    targets_of,
)
from privet.audit.statistics.clopper_pearson import point_epsilon
from privet.audit.witness import Columns, Witness, encoded
from privet.errors import InvalidParameter

# None of these can make an honest mechanism look broken: what is chosen here is tested on other runs. They decide how soon
# a broken one is seen.
_SCOUTS = 4_000  # runs that judge a pair of inputs, at most
_FINALISTS = 4  # pairs that are judged twice, the second time in more runs
_FEW = 400  # runs below which no rule is learned at all
_SOME = 1_000  # runs below which none is learned about outputs of many numbers
_MANY = 10_000  # runs from which on the runs that rules are learned from need not choose among events as well
_LEARNING, _CHOOSING = 0.15, 0.25  # shares of the runs that rules are learned from, and that then choose among events
_MOST_LEARNING = 20_000  # runs that rules are learned from, at most
_SCOUTING = 0.25  # the share that chooses where there is nothing to learn first
_RELEASED = 40  # scouting runs through `release`, which takes longer: time, and what can be seen of it
_SAID = 400  # characters of an exception that are shown
_CAUTION = 1e-3  # level of the intervals by which the measuring event is chosen


@dataclass(frozen=True, eq=False)
class Search:
    """The decisions of the scouting runs: everything that the tested runs are then held against.

    `testing` is the number of runs of each world that are left to be tested, `scouted` how often the first event was seen.
    """

    encoder: Encoder
    learned: dict[str, Learned]
    witnesses: tuple[Witness, ...]
    testing: int
    events: int
    scouted: Counts


@dataclass(frozen=True, eq=False)
class Scout:
    """A search for events: the subject that is run, the processes that run it, the kinds of events that are looked at, and
    the measure of how far counts lie outside the claim (`strain`)."""

    subject: Subject
    crew: Crew
    kinds: frozenset[str]
    delta: float
    strain: Strain

    def observed(
        self, left: object, right: object, runs: int, encoder: Encoder, *, released: float | None = None
    ) -> Iterator[tuple[World, World]]:
        """Fresh runs on both inputs, some at a time."""
        return self.crew.batches(self.subject, left, right, runs, wanted=encoder.wanted, released=released)

    def most_telling(self, pairs: list[tuple[Any, Any]], runs: int) -> tuple[Any, Any]:
        """The pair whose worlds lie furthest outside the claim: all in a few runs, the best ones in more."""
        subject = self.subject
        each = max(min(_SCOUTS, runs // (2 * len(pairs))), min(runs, 50))
        while len(pairs) > 1:
            scores = []
            for left, right in pairs:
                subject.wants_rows = (targets := targets_of(left, right, subject.marks)) is not None
                worlds = self.crew.both(subject, left, right, each, released=0)
                encoder = fit(*worlds, self.strain, targets=targets, direction=direction_of(left, right))
                tallies = Tallies(
                    encoder.columns(worlds[0]), encoder.columns(worlds[1]), self.kinds, strain=self.strain
                )
                scores.append(tallies.suspects(self.strain, 1)[0].score)
            keep = 1 if len(pairs) <= _FINALISTS else _FINALISTS
            best = np.argsort(-np.array(scores), kind="stable")[:keep]
            pairs, each = [pairs[int(i)] for i in best], max(min(_SCOUTS, runs // (2 * keep)), min(runs, 50))
        return pairs[0]

    def search(self, left: object, right: object, runs: int, *, suspects: int) -> Search:
        """Choose so many suspects, and an event that measures epsilon, on a share of the runs."""
        encoder, learned, scouts, spent = self._scouted(left, right, runs)
        tallies = Tallies(scouts[0], scouts[1], self.kinds, learned if _crosswise(encoder, runs) else (), self.strain)
        chosen: list[Candidate] = tallies.suspects(self.strain, suspects)
        if chosen[0].score <= 0.0:  # nothing that can be read speaks against the claim: no need for the other runs
            self.refuse_unanswered(encoder, left, scouts)
        chosen += [chosen[0]] * (suspects - len(chosen))
        chosen.append(tallies.best(lambda tp, fp, n, m: point_epsilon(tp, fp, n, m, delta=self.delta, alpha=_CAUTION)))
        witnesses = tuple(
            Witness(left, right, each.event, each.swapped, encoder, learned, self.subject) for each in chosen
        )
        one, other = witnesses[0].hits(*scouts)
        scouted = Counts(tp=int(one.sum()), fp=int(other.sum()), n=len(one), n_out=len(other))
        return Search(encoder, learned, witnesses, runs - spent, tallies.events, scouted)

    def refuse_unanswered(self, encoder: Encoder, left: object, columns: list[Columns]) -> None:
        """Refuse to say "not refuted" of outputs that were not read, or of a mechanism that raised the same in every run.
        What it raised is shown: to whoever owns the mechanism and both inputs.
        """
        if encoder.unread is not None:
            raise unreadable(encoder)
        if not raised_alike(encoder, columns):
            return
        problem = self.subject.problem(left)
        said = next(iter(encoder.vocabulary)).removeprefix("raises ")
        if problem is not None:
            said = f"{type(problem).__name__}: {problem}"[:_SAID]
        raise InvalidParameter(
            f"there is nothing to audit: it raised in every run of both worlds ({said}); an audit needs a mechanism that "
            "answers"
        ) from problem

    def _scouted(
        self, left: object, right: object, runs: int
    ) -> tuple[Encoder, dict[str, Learned], list[Columns], int]:
        """Fit the encoder, learn, and make the columns that choose; and how many runs of a world that took.

        What was learned flatters the runs that it was learned from. Where runs are many, others choose; where they are
        few, every run chooses by rules that were learned without it.
        """
        subject, kinds = self.subject, self.kinds
        targets = targets_of(left, right, subject.marks)
        subject.wants_rows = targets is not None
        first = max(int(runs * _SCOUTING) if runs < _SOME else min(int(runs * _LEARNING), _MOST_LEARNING), 1)
        worlds = self.crew.both(subject, left, right, first, released=_RELEASED)
        encoder = fit(*worlds, self.strain, targets=targets, direction=direction_of(left, right))
        scouts = [encoder.columns(world) for world in worlds]
        crosswise = _crosswise(encoder, runs)
        if runs < _FEW or (runs < _SOME and not crosswise):
            return encoder, {}, scouts, first
        learned = {} if crosswise else learn(*scouts, kinds=kinds)
        more = learnable(*scouts, kinds=kinds) if crosswise else bool(learned)
        choosing = (
            int(runs * _CHOOSING) if learned else int(runs * (_LEARNING + _CHOOSING if more else _SCOUTING)) - first
        )
        if not choosing:
            return encoder, {}, scouts, first
        fresh = self._fresh(left, right, choosing, encoder, learned)
        if learned:
            return encoder, learned, fresh, first + choosing
        scouts = _joined(scouts, fresh)
        if crosswise and more:
            learned, scouts = crossed(*scouts, kinds=kinds)
        return encoder, learned, scouts, first + choosing

    def _fresh(
        self, left: object, right: object, runs: int, encoder: Encoder, learned: dict[str, Learned]
    ) -> list[Columns]:
        pairs = self.observed(left, right, runs, encoder, released=_RELEASED)
        return encoded(pairs, encoder, learned).columns


def unreadable(encoder: Encoder) -> InvalidParameter:
    """The refusal to say "not refuted" of outputs that were not read.

    >>> str(unreadable(Encoder((), unread="they are locked")))
    'I cannot read these outputs (pass view=, a function that turns an output into numbers): they are locked'
    """
    way = "pass view=, a function that turns an output into numbers"
    return InvalidParameter(f"I cannot read these outputs ({way}): {encoder.unread}")


def raised_alike(encoder: Encoder, columns: list[Columns]) -> bool:
    """True if every run of both worlds raised one and the same exception.

    >>> raised_alike(Encoder((), vocabulary={"raises TypeError": 0}), [{"form": np.zeros(2)}, {"form": np.zeros(2)}])
    True
    """
    if [form.startswith("raises ") for form in encoder.vocabulary] != [True]:
        return False
    return bool(all_equal(columns))


def _crosswise(encoder: Encoder, runs: int) -> bool:
    """Few runs, of few numbers: of many numbers the encoder itself has learned which count, from its scouting runs."""
    return runs < _MANY and not encoder.sides


def _joined(some: list[Columns], more: list[Columns]) -> list[Columns]:
    return [
        {name: np.concatenate((column, other[name])) for name, column in one.items() if name in other}
        for one, other in zip(some, more, strict=True)
    ]
