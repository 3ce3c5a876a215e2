"""A release inside `with ledger:`, in the form in which a ledger pays for releases."""

from dataclasses import dataclass, replace
from typing import Any

from privet.errors import ReleaseFailed
from privet.ledger.protocol import payment_of
from privet.mechanisms import Release
from privet.mechanisms.payment import paid_for


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
    def insecure(self) -> bool:
        """Would the noise protect nobody?"""
        return self.source is not None and bool(getattr(self.source, "insecure", True))

    def release(self, data: Any) -> Any:
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
