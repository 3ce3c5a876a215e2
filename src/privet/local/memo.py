"""Repeated collection: one answer that is drawn once and sent again."""

from typing import Any, final

from privet._calls import door
from privet._validate import count
from privet.errors import InvalidParameter
from privet.local.protocol import Protocol
from privet.mechanisms import Source
from privet.privacy import PrivacyLoss, Repeated


@final
@door
class Memo:
    """A client's memory: the randomised answer of a period is drawn once, and the same one is sent however often it is
    asked for.

    A period is public and the same for all clients (a year, say). What a person held at the first report of a period
    counts for all of it: a new answer, or none, where the value changes at a time of its own would tell when, whatever
    epsilon is. A memory that is lost means a new answer, and a new charge; it is kept by the client, and never sent. It
    holds answers and no values.

    **Guarantee:** the price of one report for each period, for any number of reports.
    **Reference:** Erlingsson, Pihur & Korolova 2014. **Proof:** docs/proofs/local/memo.md.

    >>> from privet import local
    >>> client = Memo(local.KRR(k=4, epsilon=1.0))
    >>> client.report(2) == client.report(2)
    True
    >>> _ = client.report(3, period=1)
    >>> client.loss.pure() == 2 * local.KRR(k=4, epsilon=1.0).loss.pure()
    True
    """

    def __init__(self, protocol: Protocol) -> None:
        if not isinstance(protocol, Protocol):
            raise InvalidParameter("protocol must be one of privet.local")
        self.protocol = protocol
        self._sent: dict[int, Any] = {}

    @property
    def loss(self) -> PrivacyLoss:
        """The price that this client has paid: one report for each period."""
        price: PrivacyLoss = self.protocol.loss  # type: ignore[attr-defined]  # a protocol is a mechanism
        return Repeated(price, len(self._sent))

    def report(self, value: Any, *, period: int = 0, source: Source = None) -> Any:
        """The answer of this period: drawn at its first report, the stored one afterwards, whatever the value is then."""
        place = count("period", period)
        if place not in self._sent:  # of two threads that draw, one is heard
            self._sent.setdefault(place, self.protocol.privatize(value, source=source))
        return self._sent[place]

    def __repr__(self) -> str:
        return f"Memo({self.protocol!r})"  # neither values nor answers
