"""Which protocol, and how many people: from public facts alone."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet._numerics import ndtri
from privet._validate import above, count, fraction
from privet.errors import InvalidParameter
from privet.local.families.frequency import FrequencyProtocol
from privet.local.families.intervals import tail_of
from privet.local.hadamard import HadamardResponse
from privet.local.hashing import FLH, OLH
from privet.local.krr import KRR
from privet.local.subset import SubsetSelection
from privet.local.unary import UnaryEncoding
from privet.local.warner import Warner


@dataclass(frozen=True)
class Offer:
    """A protocol with what it costs: standard deviation of a rare value's share, bytes of a report, decoding cost.

    Where all people share a public pool of hashes, the variance includes what that adds at worst: all hold one other
    value, with which the rare one collides. `cost` counts, up to a constant, what a server does for n reports and k values.

    >>> from privet import local
    >>> local.offers(k=4, epsilon=1.0, n=1000)[0].protocol.name
    'local_krr'
    """

    protocol: FrequencyProtocol
    variance: float
    report_bytes: int
    cost: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the estimated share of a rare value."""
        return self.variance**0.5


def offers(*, k: int, epsilon: float, n: int = 1, max_bytes: int | None = None) -> list[Offer]:
    """All protocols whose reports fit into `max_bytes`, the best one first: by exact variance at f = 0, then bytes, then
    decoding cost.

    >>> [offer.protocol.name for offer in offers(k=1024, epsilon=2.0, n=10**6, max_bytes=20)][:2]
    ['local_olh', 'local_hadamard']
    """
    people, size = count("n", n, 1), count("k", k, 2)
    most = None if max_bytes is None else count("max_bytes", max_bytes, 1)
    found: list[tuple[tuple[Any, ...], Offer]] = []
    known = _candidates(size, epsilon, people)
    for protocol, cost in known:
        if most is None or protocol.report_bytes <= most:
            p, q = protocol.own, protocol.other
            pooled = Fraction(protocol.shared_hashes.collisions) if protocol.shared_hashes else 0
            exact: Fraction = q * (1 - q) / (p - q) ** 2 + pooled * people
            offer = Offer(protocol, float(exact / people), protocol.report_bytes, cost)
            found.append(((exact, offer.report_bytes, cost), offer))
    if not found:
        if not known:
            raise InvalidParameter(f"no protocol takes {size:,} values: k must be at most 2^32")
        least = min(protocol.report_bytes for protocol, _ in known)
        raise InvalidParameter(
            f"max_bytes must be at least {least}: no protocol for {size:,} values has smaller reports"
        )
    return [offer for _, offer in sorted(found, key=lambda each: each[0])]


def _candidates(k: int, epsilon: float, n: int) -> list[tuple[FrequencyProtocol, float]]:
    kinds: list[tuple[Any, dict[str, Any], float]] = [
        (KRR, {}, n + k),
        (HadamardResponse, {}, n + 2.0 * k * k.bit_length()),
        (FLH, {}, n + 1000.0 * k),
        (UnaryEncoding, {}, n * (1.0 + k / 64.0) + k),
        (UnaryEncoding, {"symmetric": True}, n * (1.0 + k / 64.0) + k),
        (SubsetSelection, {}, n * (1.0 + k / 64.0) + k),
        (OLH, {}, float(n) * k),
    ]
    if k == 2:
        kinds.append((Warner, {}, n))
    return [(kind(k=k, epsilon=epsilon, **more), cost) for kind, more, cost in kinds if k <= kind.most_values]


def best(*, k: int, epsilon: float, n: int = 1, max_bytes: int | None = None) -> FrequencyProtocol:
    """The protocol with the smallest variance for n people, by `offers`.

    >>> best(k=4, epsilon=1.0), best(k=1024, epsilon=2.0, n=10**6).name
    (KRR(epsilon=1.0, k=4, labels=None), 'local_subset')
    """
    return offers(k=k, epsilon=epsilon, n=n, max_bytes=max_bytes)[0].protocol


def required_n(
    protocol: FrequencyProtocol, *, radius: float, confidence: float = 0.95, share: float | None = None
) -> int:
    """The number of people that make the interval of a share at most `radius` wide on each side, at the share given or
    the worst.

    **Error:** the normal law of the score interval; that of the exact law is wider where counts are small. A public pool
    of hashes counts at its worst, where all others hold one value.

    >>> from privet import local
    >>> required_n(local.Warner(epsilon=1.0986122886681098), radius=0.02)
    7203
    """
    if not isinstance(protocol, FrequencyProtocol):
        raise InvalidParameter("protocol must be one of privet.local that estimates shares, such as KRR")
    wanted, z = above("radius", radius, 0.0), -ndtri(tail_of(confidence) / 2.0)
    shares = (0.0, 1.0) if share is None else (fraction("share", share),)
    (a, b), off = protocol._line(1), protocol._collisions
    if z * max((1.0 - f) * off**0.5 for f in shares) >= wanted:
        raise InvalidParameter("the public pool of hashes alone is off by more than that: take a larger one, or OLH")

    def narrow(n: float) -> bool:
        most = max((a + b * f) / n + off * (1.0 - f) ** 2 for f in shares)
        return z * (most + 0.25 * z * z * b * b / (n * n)) ** 0.5 <= wanted

    low, high = 0, 1
    while not narrow(float(high)):
        low, high = high, 2 * high
    while high - low > 1:  # whole numbers: too few, enough
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(float(middle)) else (middle, high)
    return high
