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
    """A protocol with what it costs: the variance of the estimated share of a rare value, bytes of a report, work.

    `cost` counts, up to a constant, the steps in which a server decodes n reports about k values. Where all people share a
    public pool of hashes, `variance` includes the worst that its collisions add: everybody holds one other value.

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
    """All protocols whose reports fit into `max_bytes`, the best one first: by the exact variance of a share of 0, then by
    bytes, then by decoding cost.

    >>> [offer.protocol.name for offer in offers(k=1024, epsilon=2.0, n=10**6, max_bytes=20)][:2]
    ['local_olh', 'local_hadamard']
    """
    people, size = count("n", n, 1), count("k", k, 2)
    most = None if max_bytes is None else count("max_bytes", max_bytes, 1)
    found: list[tuple[tuple[Any, ...], Offer]] = []
    known = _candidates(size, epsilon, people)
    for protocol, cost in known:
        if most is None or protocol.report_bytes <= most:
            exact = _exact_variance(protocol, people)
            offer = Offer(protocol, float(exact), protocol.report_bytes, cost)
            found.append(((exact, offer.report_bytes, cost), offer))
    if not found:
        if not known:
            raise InvalidParameter(f"no protocol takes {size:,} values: k must be at most 2^32")
        least = min(protocol.report_bytes for protocol, _ in known)
        raise InvalidParameter(
            f"max_bytes must be at least {least}: no protocol for {size:,} values has smaller reports"
        )
    return [offer for _, offer in sorted(found, key=lambda each: each[0])]


def _exact_variance(protocol: FrequencyProtocol, n: int) -> Fraction:
    """The variance of the estimate of a share of 0, which every report supports with probability `other`."""
    p, q = protocol.own, protocol.other
    collisions = Fraction(protocol.shared_hashes.collisions) if protocol.shared_hashes else 0
    return q * (1 - q) / (n * (p - q) ** 2) + collisions


def _candidates(k: int, epsilon: float, n: int) -> list[tuple[FrequencyProtocol, float]]:
    """The protocols that take k values, each with its decoding cost: n where a report is one count, and the steps from
    counts to shares; words of 64 bits where a report is a set of values; all k values for each report of local hashing."""
    kinds: list[tuple[Any, dict[str, Any], float]] = [
        (KRR, {}, n + k),
        (HadamardResponse, {}, n + 2.0 * k * k.bit_length()),  # a fast transform of at most 2 k counts
        (FLH, {}, n + 1000.0 * k),  # each of its 1,000 public hashes of each value
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
    """The least number of people for which the interval of a share reaches at most `radius` to each side.

    At the true share `share`, or at the worst one where that is None.

    **Error:** by the score interval, that is the normal approximation; the exact interval, which is used where counts are
    small, is wider. Collisions of a public pool of hashes count at their worst, where all others hold one value.

    >>> from privet import local
    >>> required_n(local.Warner(epsilon=1.0986122886681098), radius=0.02)
    7203
    """
    if not isinstance(protocol, FrequencyProtocol):
        raise InvalidParameter("protocol must be one of privet.local that estimates shares, such as KRR")
    wanted, z = above("radius", radius, 0.0), -ndtri(tail_of(confidence) / 2.0)
    # of all shares the worst is an end: what is compared is linear or convex in the share
    shares = (0.0, 1.0) if share is None else (fraction("share", share),)
    # the variance a + b f of one report, and what collisions add at worst
    (a, b), off = protocol._line(1), protocol._collisions
    if z * max((1.0 - f) * off**0.5 for f in shares) >= wanted:
        raise InvalidParameter("the public pool of hashes alone is off by more than that: take a larger one, or OLH")

    def narrow(n: float) -> bool:
        """True if n people are enough: the half-width of `score_interval` at the worst of the shares."""
        most = max((a + b * f) / n + off * (1.0 - f) ** 2 for f in shares)
        return z * (most + 0.25 * z * z * b * b / (n * n)) ** 0.5 <= wanted

    low, high = 0, 1
    while not narrow(float(high)):
        low, high = high, 2 * high
    while high - low > 1:  # whole numbers: too few, enough
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(float(middle)) else (middle, high)
    return high
