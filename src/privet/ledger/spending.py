"""Payment by a ledger: reserve, release, record; and what `with ledger:` does for every release inside it."""

import contextlib
import hashlib
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

from privet._calls import door
from privet.errors import (
    PrivetError,
)
from privet.ledger.blocks import Load, Save, foreign_to_a_new_run, go_on, refuse_other_algorithms, restored
from privet.ledger.questions import MISSING, made_for, words_of
from privet.ledger.requests import (
    Asked,
    Reservation,
    priced,
    question_of,
    record_in,
    recorded,
    refuse_insecure,
    reserve_in,
)
from privet.ledger.running import Within, check_input, opened_stream, problem_with, run
from privet.ledger.runs import Run, fresh_key, start_in
from privet.ledger.session import Tip, Writing
from privet.ledger.slices import slices_of
from privet.ledger.store import Store
from privet.ledger.values import loaded
from privet.mechanisms import STREAM, BlockAlgorithm, Outside, Release
from privet.mechanisms.blocks import composed
from privet.mechanisms.payment import Payer
from privet.mechanisms.stored import unpack
from privet.privacy import PrivacyLoss, Promise, Unit


class Spending(Payer):
    """The ways to spend, as a ledger offers them.

    >>> from privet.ledger import Ledger
    >>> issubclass(Ledger, Spending)
    True
    """

    _store: Store
    _tip: Tip | None
    _priced: PrivacyLoss | None

    @property
    def charged(self) -> Payer:
        """This ledger."""
        return self

    @abstractmethod
    def _writing(self, *, durable: bool = True) -> Writing: ...

    @abstractmethod
    def _look(self) -> Tip: ...

    @door
    def reserve(
        self,
        loss: Any,
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        key: str | None = None,
        part: object = None,
        at: float | None = None,
        about: str | None = None,
    ) -> Reservation:
        """Pay for a release that you make yourself. When this returns the charge is on the disk; there is no refund.

        Takes a loss, or a mechanism: then its loss is charged, at its own `at` where it has one.

        `at`: charge the loss as one point, its epsilon at this delta; for plans and whatever has no epsilon of its own.
        `about`: the version of the data, a public word that belongs to the request.

        **Guarantee:** refuses (`BudgetExceeded`) exactly when no rule of the budget would hold with it.
        """
        if at is None and isinstance(getattr(loss, "loss", None), PrivacyLoss):
            at = getattr(loss, "at", None)
        loss = getattr(loss, "loss", loss)
        asked = Asked.of(analyst, purpose, key, part, at=at, about=about)
        self._foresee(loss, asked)
        with self._writing() as session:
            made = reserve_in(session, loss, asked, self)
        return self._answered(made)

    @door(prices=("losses",))
    def reserve_many(
        self,
        losses: Iterable[PrivacyLoss],
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        key: str | None = None,
        part: object = None,
        at: float | None = None,
        about: str | None = None,
    ) -> list[Reservation]:
        """Pay for several in one commit: all of them or none. With a `key`, the i-th has the key "key/i"."""
        wanted = list(losses)
        asked = Asked.of(analyst, purpose, key, part, at=at, about=about)
        for loss in wanted:
            self._foresee(loss, asked)
        with self._writing() as session:
            many = [reserve_in(session, loss, asked.numbered(i), self) for i, loss in enumerate(wanted)]
        return [
            each if each.release is None else each._replace(release=self._whole(each.release, each.seq))
            for each in many
        ]

    @door
    def release(
        self,
        mechanism: object,
        data: object = MISSING,
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        key: str | None = None,
        part: object = None,
        at: float | None = None,
        about: str | None = None,
        **promise: Unpack[Promise],
    ) -> "Release[Any]":
        """Pay, run `mechanism.release(data)`, record, return. With a `key` that was answered before: the stored answer,
        free of charge and marked with the number of its entry (`release.stored`).

        A `Question` knows its data and becomes a mechanism: `ledger.release(question, epsilon=0.5)`.

        A key names a public question: the mechanism, the data set and `about`, the version of the data in public words.
        Another question under a used key is a `KeyConflict`. The data that are handed in are never compared, and a used
        key is answered whatever they are: a new version of them needs another key or another `about`.
        `at`: charge the loss as one point, its epsilon at this delta; the mechanism's own `at` where it has one.

        **Guarantee:** nothing is read or drawn before the charge is on the disk. If the mechanism fails, that has been
        paid for, and the error says nothing about the data. **Reference:** docs/proofs/ledger/keys.
        """
        question = words_of(mechanism)
        mechanism, data = made_for(mechanism, data, dict(promise), self._unit_for(promise))
        try:
            problem = problem_with(mechanism, data)
            if problem is not None and key is None:
                raise problem
            loss = priced(mechanism, durable=self._store.durable)
            of = None if key is None else question_of(data)
            asked = Asked.of(analyst, purpose, key, part, mechanism, at=at, about=about, of=of)
            asked = asked if question is None else asked._replace(question=question)
            self._foresee(loss, asked)
            with self._writing() as session:
                reservation = reserve_in(session, loss, asked, self, problem)
            if reservation.release is not None:
                return self._whole(reservation.release, reservation.seq)
            return self._record(reservation, *run(mechanism, data, reservation))
        finally:
            del mechanism, data  # frames outlive an error: collectors of errors record what they hold

    @door
    def start(
        self,
        losses: object,
        *,
        at: float | None = None,
        key: str | None = None,
        analyst: str | None = None,
        purpose: str | None = None,
        part: object = None,
        about: str | None = None,
    ) -> Run:
        """Pay once for a run: a public list of slices (their losses, or one composition, whose parts are the slices).

        The whole list is charged as what it composes to, at the delta `at` where that is given. With the `key` of a run
        that was started before, for the same slices, that one goes on from its mark, free of charge.

        **Guarantee:** each slice is begun at most once on this payment, across copies, crashes and processes.
        """
        slices = slices_of(losses)
        asked = Asked.of(analyst, purpose, fresh_key(slices) if key is None else key, part, at=at, about=about)
        self._foresee(composed(slices), asked)
        with self._writing() as session:
            run = start_in(session, slices, asked, self)
        return run if run.release is None else replace(run, release=self._whole(run.release, run.seq))

    @door
    def run_blocks(
        self,
        algorithm: "BlockAlgorithm[Any, Any]",
        data: object,
        *,
        key: str,
        load: Load = None,
        save: Save = None,
        analyst: str | None = None,
        purpose: str | None = None,
        part: object = None,
        at: float | None = None,
        about: str | None = None,
    ) -> "Release[Any]":
        """Pay once for an algorithm in blocks, run them as slices, record the result, return it. After a stop the same
        call goes on; once it is done, the same key is answered with the stored result.

        `save(blocks done, state)` is called after every block, `load()` at the beginning: it returns the last such pair,
        or None. Blocks that were begun and are not in the state have to run again, and are paid again.

        **Guarantee:** that of `start`: no block runs twice on one payment. An error in a block says nothing about the data.
        **Reference:** docs/proofs/ledger/runs.
        """
        try:
            refuse_other_algorithms(algorithm)
            problem, begun = problem_with(algorithm, data), restored(algorithm, load, save)
            asked = Asked.of(analyst, purpose, key, part, algorithm, at=at, about=about, of=question_of(data))
            priced(algorithm, durable=self._store.durable)
            self._foresee(algorithm.loss, asked)
            with self._writing() as session:
                run = start_in(session, algorithm.blocks, asked, self, problem, foreign_to_a_new_run(begun))
            if run.release is not None:
                return self._whole(run.release, run.seq)
            return go_on(run, algorithm, data, begun, save)
        finally:
            del algorithm, data

    def _unit_for(self, promise: object) -> Unit | None:
        policy = self._look().policy if promise else None
        return None if policy is None else policy.unit

    def _record(
        self,
        reservation: Reservation,
        made: "Release[Any]",
        text: str,
        raw: bytes | None,
        *,
        by_hand: bool = False,
        known: bool = False,
    ) -> "Release[Any]":
        """Write down what a reservation has released. `by_hand`: it may have been before, by this very process. `known`:
        its entry was looked at.
        """
        if self._store.durable and made.insecure:
            refuse_insecure()
        if raw is not None:  # before the entry that names it, and without the lock: it may take a while
            self._store.keep_value(hashlib.sha256(raw).hexdigest(), raw)
        with self._writing(durable=False) as session:  # only the charge must be on the disk for privacy
            alone = session.head is not None and session.head.seq == reservation.seq  # nobody can have been first
            before = None if known or (alone and not by_hand) else recorded(self._store, reservation)
            kept = before or record_in(session, reservation, made, text)
        return kept if kept is made else self._whole(kept, reservation.seq)

    def _answered(self, made: Reservation) -> Reservation:
        return made if made.release is None else made._replace(release=self._whole(made.release, made.seq))

    def _whole(self, kept: "Release[Any]", seq: int) -> "Release[Any]":
        """A stored release with its value, wherever that lies."""
        if not isinstance(kept.value, Outside):
            return kept
        return replace(kept, value=unpack(loaded(self._store, kept.value, seq)))

    def pay_for(self, mechanism: Any, value: object, run: object, source: object = None) -> "Release[Any]":
        """The payment by `with ledger:` for every release inside it: pay, draw, record. Parts of a whole are paid with
        it.

        >>> import privet as pv
        >>> with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0)) as ledger:
        ...     release = pv.mechanisms.Laplace.for_budget(epsilon=0.25, sensitivity=1.0).release(42)
        >>> ledger.spent["basic epsilon"], release.paid["entry"]
        (0.25, 2)
        """
        within = Within(mechanism, run, source)
        try:
            if value is not STREAM:
                check_input(mechanism, value)
                return self.release(within, value)
            priced(within, durable=self._store.durable)
            return opened_stream(within, self.reserve(mechanism.loss, at=within.at))
        finally:
            del value, run, within  # as in `release`

    def _foresee(self, loss: PrivacyLoss, asked: Asked) -> None:
        """Price a loss before the lock is taken: a long plan takes a while, and others would wait."""
        tip = self._tip
        if loss is self._priced or tip is None or tip.policy is None or not isinstance(loss, PrivacyLoss):
            return
        for at in asked.ats(loss):
            with contextlib.suppress(PrivetError):  # whatever is wrong is said under the lock
                tip.policy.account.offers(loss, at)
        self._priced = loss
