"""Running a mechanism that is paid for: in silence, as one whole, and without a word about why it failed."""

import warnings
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from privet._locks import ProcessLock
from privet.errors import PrivetError, ReleaseFailed
from privet.mechanisms import Mechanism, Release
from privet.mechanisms.payment import paid_for

if TYPE_CHECKING:
    from privet.ledger.requests import Reservation

_lock = ProcessLock()
_running = 0
_IGNORE = ("ignore", None, Warning, None, 0)


@contextmanager
def quiet() -> Iterator[None]:
    """No warning is shown, recorded or turned into an error while a mechanism runs.

    Filters belong to the process, so warnings of other threads are silent in that time too. The filter is added when the
    first mechanism begins and removed when the last one ends: `warnings.catch_warnings` would, with several threads, put
    back the filters of another one.

    >>> import warnings
    >>> with quiet():
    ...     warnings.warn("nobody hears this", UserWarning)
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _running
    with _lock.held:
        _running += 1
        if warnings.filters[:1] != [_IGNORE]:
            warnings.simplefilter("ignore")


def _leave() -> None:
    global _running
    with _lock.held:
        _running -= 1
        if _running == 0 and _IGNORE in warnings.filters:
            warnings.filters.remove(_IGNORE)  # type: ignore[attr-defined]


_FAILED = (
    "the release failed after it had been paid for; why is not said, since the reason may depend on private data. "
    "There is no refund. Test the mechanism on made-up data"
)


_TOLD: dict[type[BaseException], tuple[int, ...]] = {SystemExit: (1,)}  # whatever code or text the mechanism chose


def run(mechanism: object, data: object, reservation: "Reservation") -> "tuple[Release[Any], str, bytes | None]":
    """Run a mechanism that is paid for, and write out what it made. Whatever goes wrong in it, the caller sees one constant
    error, no trace of where it came from, and no frame that holds the data.
    """
    try:
        made, kept = _attempt(mechanism, data, reservation, written=True)
        return made, *kept
    finally:
        del mechanism, data


def run_unwritten(mechanism: object, data: object, reservation: "Reservation") -> "Release[Any]":
    """The same for what no ledger stores: a block of a run, whose state its owner keeps."""
    try:
        made: Release[Any] = _attempt(mechanism, data, reservation, written=False)[0]
        return made
    finally:
        del mechanism, data


def _attempt(mechanism: object, data: object, reservation: "Reservation", *, written: bool) -> tuple[Any, Any]:
    """The release and its texts. An interruption is passed on, but without its text."""
    made: Any = None
    kept = stop = None
    try:
        with quiet():
            made = drawn(mechanism, data, reservation)
            if isinstance(made, Release) and made.loss == reservation.loss:
                kept = made.kept() if written else ()
    except BaseException as error:
        kept, stop = None, _stop_of(error)
    del mechanism, data
    if stop is not None:  # outside the handler, so that the error carries no context
        made = None
        raise stop(*_TOLD.get(stop, ()))
    if kept is None:
        made = None
        raise ReleaseFailed(_FAILED, seq=reservation.seq)
    return made, kept


def _stop_of(error: BaseException) -> type[BaseException] | None:
    """The stop that a person or an event loop asks for, which is obeyed; everything else is a failure of the
    mechanism."""
    for kind in (KeyboardInterrupt, CancelledError, SystemExit):
        if isinstance(error, kind):
            return kind
    return None


def drawn(mechanism: Any, data: Any, reservation: "Reservation") -> Any:
    """The release, as the one whole that is paid for: its parts cost nothing more."""
    with paid_for():
        made = mechanism.release(data)
    return replace(made, paid=payment_of(reservation)) if isinstance(made, Release) else made


def payment_of(reservation: "Reservation") -> dict[str, Any] | None:
    """Which entry of which ledger paid."""
    tip = getattr(reservation.ledger, "_tip", None)
    return None if tip is None else {"ledger": tip.policy.ledger, "entry": reservation.seq}


def check_input(mechanism: object, data: object) -> None:
    """A refusal of what a mechanism cannot take by its type or shape, before anything is paid, without the data."""
    problem = problem_with(mechanism, data)
    del data
    if problem is not None:
        raise problem


def problem_with(mechanism: object, data: object) -> PrivetError | None:
    """Why a mechanism cannot take these data, by their type or shape; None where it can.

    >>> from privet.mechanisms import Laplace
    >>> problem_with(Laplace.for_budget(epsilon=1.0, sensitivity=1.0), 3) is None
    True
    """
    problem = None
    if isinstance(mechanism, Mechanism):
        try:
            mechanism.check(data)
        except PrivetError as error:
            problem = error.with_traceback(None)
    del data
    return problem


@dataclass(frozen=True)
class Within:
    """A mechanism whose release is under way: priced as the mechanism, drawn by going on with it.

    >>> from privet.mechanisms import Laplace
    >>> mechanism = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> Within(mechanism, lambda: "drawn", None).release(None)
    'drawn'
    """

    mechanism: Any
    run: Any
    source: Any = None

    @property
    def loss(self) -> Any:
        """The price of the mechanism."""
        return self.mechanism.loss

    @property
    def at(self) -> Any:
        """Where an (epsilon, delta) rule charges it."""
        return getattr(self.mechanism, "at", None)

    @property
    def form(self) -> Any:
        """The form of its outputs."""
        return self.mechanism.form

    @property
    def insecure(self) -> bool:
        """Would the noise protect nobody?"""
        return self.source is not None and bool(getattr(self.source, "insecure", True))

    def release(self, data: object) -> Any:
        """Go on with the release that was under way."""
        return self.run()

    def to_dict(self) -> Any:
        """The public parameters of the mechanism."""
        return self.mechanism.to_dict()


def opened_stream(within: Within, reservation: Any) -> "Release[Any]":
    """A stream that is paid for as a whole. It has no value that could be stored: its answers are still to come."""
    with paid_for():
        made = within.run()
    if not isinstance(made, Release):
        raise ReleaseFailed("the stream was paid for and could not be opened; there is no refund")
    return replace(made, paid=payment_of(reservation))
