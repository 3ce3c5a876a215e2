"""Exposure: how far a secret stands out among all that could have stood in its place, in bits."""

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array, special
from privet._validate import at_least, count, fraction, open_fraction
from privet.audit.answers import numbers
from privet.audit.claim import Claim, as_claim
from privet.audit.counts import Hits
from privet.audit.result import ADD_REMOVE, CurveTest, LowerBound
from privet.audit.statistics.clopper_pearson import rate_above
from privet.audit.statistics.known_rate import known_rate_lower, known_rate_test
from privet.errors import InvalidData, InvalidParameter
from privet.privacy import Unit

_FEWEST, _MISFIT = 50, 1e-3  # references for a fit; p-value of Kolmogorov's test below which it is none


@final
@dataclass(frozen=True)
class Ranked:
    """Exposure by rank among all candidates: log2 |R| - log2 rank. Equal scores count as better ones.

    >>> exposure([1.0], np.arange(1.0, 9.0), by=Ranked()).bits.tolist()
    [3.0]
    """


@final
@dataclass(frozen=True)
class Sampled:
    """Exposure by rank among N candidates drawn at random: -log2((1 + those at or below)/(N + 1)), so at most log2(N + 1).

    >>> exposure([0.0], np.arange(1.0, 8.0), by=Sampled()).bits.tolist()
    [3.0]
    """


@final
@dataclass(frozen=True)
class Extrapolated:
    """Exposure by a skew-normal law fitted to candidates drawn at random: beyond log2(N + 1), and without any guarantee.

    Where nothing can be fitted, or the fit is refused by Kolmogorov's test, the sampled figure is given, and said so.

    >>> exposure([-9.0], np.random.default_rng(0).normal(size=1000), by=Extrapolated()).method
    'extrapolated'
    """


Way = Ranked | Sampled | Extrapolated


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Exposure:
    """The exposure of secrets in bits: a secret that was not in has t bits or more with probability 2^-t at most.

    `bits` has one figure for each secret, `ceiling` is the largest that this way of measuring can give. `one_run`
    says that the secrets shared one training.

    **Guarantee:** of ranked and sampled figures, for secrets drawn uniformly from the space: P[bits >= t] <= 2^-t
    without the secret, and at most e^epsilon 2^-t + delta with it.
    """

    bits: Array
    ceiling: float
    method: str
    one_run: bool
    copies: int
    space: float
    scores: tuple[Array, Array] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """The mean over all secrets."""
        return float(self.bits.mean())

    @staticmethod
    def chance(bits: float, epsilon: float = 0.0, delta: float = 0.0) -> float:
        """The largest probability of so many bits under (epsilon, delta)-DP, for a secret that was put in once.

        >>> Exposure.chance(10.0)
        0.0009765625
        """
        spent = at_least("epsilon", epsilon, 0.0) - at_least("bits", bits, 0.0) * math.log(2.0)
        return min(1.0, math.exp(min(spent, 0.0)) + fraction("delta", delta)) if spent < 0.0 else 1.0

    def allowed(self, epsilon: float, delta: float = 0.0) -> float:
        """The largest mean exposure under (epsilon, delta)-DP, in bits: (epsilon + 1)/ln 2 + delta log2 of the space.

        A secret that was put in k times is a group of k. Epsilon is in nats, as everywhere.

        >>> round(exposure([1.0], np.arange(1.0, 9.0)).allowed(0.65), 3)
        2.38
        """
        if self.copies > 1 and delta > 0.0:
            raise InvalidParameter("secrets put in several times are held against pure claims: delta=0")
        spent = self.copies * at_least("epsilon", epsilon, 0.0)
        return (spent + 1.0) / math.log(2.0) + fraction("delta", delta) * math.log2(self.space)

    def lower(self, *, bits: float, delta: float = 0.0, alpha: float = 0.05, unit: Unit = ADD_REMOVE) -> LowerBound:
        """Lower bound on epsilon from how many secrets have `bits` or more; `bits` must be fixed before scores are seen.

        **Guarantee:** P[lower > epsilon] <= alpha. **Proof:** docs/proofs/audit/statistics/known_rate.md.

        >>> many = exposure(np.zeros((20, 1)), np.ones((20, 1023)))
        >>> round(many.lower(bits=10.0).lower, 2)
        6.78
        """
        seen = self.hits(bits=bits, alpha=alpha)
        return known_rate_lower(seen, delta=delta, alpha=alpha, unit=unit)

    def test(self, *, bits: float, claim: Claim, alpha: float = 0.05) -> CurveTest:
        """A test of a claim by how many secrets have `bits` or more; `bits` must be fixed before scores are seen.

        >>> many = exposure(np.zeros((20, 1)), np.ones((20, 1023)))
        >>> many.test(bits=10.0, claim=3.0).verdict
        'violated'
        """
        return known_rate_test(self.hits(bits=bits, alpha=alpha), claim=as_claim(claim), alpha=alpha)

    def hits(self, *, bits: float, alpha: float = 0.05) -> Hits:
        """The number of secrets of `bits` or more, with the chance of that for one that was not in."""
        if self.method == "extrapolated":
            raise InvalidParameter(
                "extrapolated figures have no known rate: use by=audit.Sampled() or by=audit.Ranked()"
            )
        wanted, level = at_least("bits", bits, 0.0), open_fraction("alpha", alpha)
        if not 0.0 < wanted <= self.ceiling + 1e-9:
            raise InvalidParameter(f"bits must lie above 0 and be at most {self.ceiling:.4g}, the largest figure here")
        secrets, references = self.scores
        chance, estimated = 2.0**-wanted, False
        shared = self.one_run and len(secrets) > 1
        if shared and self.method == "sampled":
            # One sample of candidates judges all secrets: what share of the space it lets through is known up to luck.
            many = references.shape[-1]
            rank = math.floor((many + 1) * chance * (1.0 + 1e-12))
            chance, estimated = float(rate_above(rank - 1, many, level / 2.0)), True
        seen = int((self.bits >= wanted - 1e-9).sum())
        return Hits(seen, len(secrets), chance, one_run=shared, estimated=estimated, copies=self.copies)

    def explain(self) -> str:
        """Words on what was measured and what it means."""
        runs = "one training" if self.one_run else "a training each"
        whole = math.log2(self.space)
        most = f" (so many candidates show no more than {self.ceiling:.4g})" if self.ceiling < whole - 1e-9 else ""
        lines = [
            f"{len(self.bits)} secrets in {runs}, {self.method}: mean exposure {self.mean:.3g} bits, largest "
            f"{float(self.bits.max()):.3g}{most}.",
            f"Without training on it a secret has 1.44 bits on average; near {whole:.4g} it can be read out.",
            *self.notes,
        ]
        if self.copies > 1:
            lines.append(f"Each secret was put in {self.copies} times: a price is about groups of {self.copies} then.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain().splitlines()[0]


@door
def exposure(
    secrets: Any,
    references: Any,
    *,
    space: float | None = None,
    by: Way | None = None,
    copies: int = 1,
) -> Exposure:
    """The exposure of secrets that were put into training, from a model's scores: smaller means more familiar.

    `secrets` has a score for each secret (the log-perplexity, in whatever unit), `references` those of candidates
    that stand for the space the secrets were drawn from: one list for all secrets where they shared one training, a
    row for each where each had its own. `space` is the number of candidates; where the references are all of them (or
    all but the secret) the rank is exact, otherwise it is sampled. `by=audit.Extrapolated()` fits a law to the
    references. `copies` says how often each secret was put in.

    **Reference:** Carlini et al. 2019.

    >>> exposure([0.5], np.arange(1.0, 1024.0), space=1024).bits.tolist()
    [10.0]
    """
    inside, others = _scores(secrets, references)
    many = others.shape[-1]
    size = float(many if space is None else at_least("space", space, 2.0))
    whole = many in (size, size - 1.0)
    way: Way = by if by is not None else Ranked() if whole and space is not None else Sampled()
    if isinstance(way, Ranked) and not whole:
        raise InvalidParameter(
            "a rank is exact where references are all candidates of the space; use by=audit.Sampled()"
        )
    if many > size:
        raise InvalidParameter("there are more references than candidates in the space")
    below = (np.broadcast_to(others, (len(inside), many)) <= inside[:, None]).sum(axis=1)
    notes: tuple[str, ...] = ()
    if isinstance(way, Ranked):
        ranks = np.maximum(below + (many == size - 1.0), 1)
        bits, ceiling, method = math.log2(size) - np.log2(ranks), math.log2(size), "by rank"
    else:
        bits, ceiling, method = np.log2((many + 1.0) / (1.0 + below)), math.log2(many + 1.0), "sampled"
        if isinstance(way, Extrapolated):
            bits, fitted = _extrapolated(inside, others, bits)
            method, ceiling = ("extrapolated", math.inf) if fitted else (method, ceiling)
            notes = () if fitted else ("No skew-normal law fits the references: the sampled figures are given.",)
    return Exposure(
        bits=bits, ceiling=ceiling, method=method, one_run=others.ndim == 1, copies=count("copies", copies, 1), space=size,
        scores=(inside, others), notes=notes,
    )  # fmt: skip


def _scores(secrets: Any, references: Any) -> tuple[Array, Array]:
    inside, others = numbers("scores", secrets), numbers("scores", references)
    if inside.ndim == 2 and inside.shape[1] == 1:
        inside = inside[:, 0]
    if inside.ndim != 1 or not inside.size or others.ndim not in (1, 2) or not others.size:
        raise InvalidData("scores are a list for the secrets, and a list for the references or one for each secret")
    if others.ndim == 2 and len(others) != len(inside):
        raise InvalidData("references that come in rows need one row for each secret: the scores of its own training")
    if np.isnan(inside).any() or np.isnan(others).any():
        raise InvalidData("a score must be a number, not NaN")
    return inside, others


def _extrapolated(inside: Array, others: Array, sampled: Array) -> tuple[Array, bool]:
    """Minus the logarithm of the fitted law's mass at or below each secret, in bits; else the sampled bits."""
    laws = [_fit(row) for row in (others[None] if others.ndim == 1 else others)]
    if any(law is None for law in laws):
        return sampled, False
    chosen = laws * len(inside) if others.ndim == 1 else laws
    found = [_bits_below(own, *law) for own, law in zip(inside, chosen, strict=True) if law is not None]
    return np.array(found), True


def _fit(references: Array) -> tuple[float, float, float] | None:
    """Shape, place and scale of a skew-normal law; None where there is none."""
    from scipy import stats

    values = references[np.isfinite(references)]
    if len(values) < _FEWEST or len(values) < len(references) or values.std() == 0.0:
        return None
    try:
        shape, place, scale = (float(each) for each in stats.skewnorm.fit(values))
    except (ValueError, RuntimeError, FloatingPointError):
        return None
    if not all(map(math.isfinite, (shape, place, scale))) or scale <= 0.0:
        return None
    judged = stats.kstest(values, stats.skewnorm(shape, place, scale).cdf)
    return (shape, place, scale) if judged.pvalue >= _MISFIT else None


def _bits_below(score: float, shape: float, place: float, scale: float) -> float:
    """By the logarithm of the density on a fine grid below: a distribution function has no digits left out there."""
    top = (score - place) / scale
    grid = np.linspace(top - 12.0 - 4.0 * max(0.0, top), top, 40_001)
    logs = math.log(2.0) - 0.5 * grid**2 - 0.5 * math.log(2.0 * math.pi) + special().log_ndtr(shape * grid)
    mass = float(special().logsumexp(logs)) + math.log(grid[1] - grid[0])
    return max(0.0, -mass / math.log(2.0))
