"""Random prices whose exact curve is known, and a check of certified ends against it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from mpmath import mp, mpf

from privet import privacy
from privet.accounting import PLD, Bound
from privet.errors import NoGuarantee
from privet.privacy import PrivacyLoss
from tests.oracles import brute_force, closed_forms, sampled_gaussian

Law = tuple[Fraction, ...]
Pair = tuple[Law, Law]
Curve = Callable[[float], mpf]

DELTAS = (0.5, 0.1, 1e-2, 1e-5, 1e-9, 1e-20, 1e-60)
EPSILONS = (0.0, 0.1, 0.7, 2.0)


@dataclass(frozen=True)
class Case:
    """A price, and its exact delta(epsilon), the larger of both directions."""

    name: str
    loss: PrivacyLoss
    truth: Curve


def violations(
    case: Case,
    tol: float,
    deltas: Sequence[float] = DELTAS,
    epsilons: Sequence[float] = EPSILONS,
    slack: float = 0.0,
) -> list[str]:
    """Every certified end on the wrong side of the truth, by more than a relative slack. A refusal is never wrong."""
    found = []
    with mp.workdps(120):
        for delta in deltas:
            ends = _ask(PLD(tol).epsilon, case.loss, delta)
            if ends and case.truth(ends[1]) > delta * (1.0 + slack):
                found.append(f"{case.name}: epsilon({delta:g}) <= {ends[1]!r} is too low (tol {tol:g})")
            if ends and ends[0] > 0.0 and case.truth(ends[0]) < delta * (1.0 - slack):
                found.append(f"{case.name}: epsilon({delta:g}) >= {ends[0]!r} is too high (tol {tol:g})")
        for epsilon in epsilons:
            ends, value = _ask(PLD(tol).delta, case.loss, epsilon), case.truth(epsilon)
            if ends and not ends[0] * (1.0 - slack) <= value <= ends[1] * (1.0 + slack):
                found.append(f"{case.name}: delta({epsilon:g}) in {ends!r} misses {mp.nstr(value, 17)} (tol {tol:g})")
    return found


def _ask(question: Callable[[PrivacyLoss, float], Bound], loss: PrivacyLoss, at: float) -> tuple[float, float] | None:
    try:
        bound = question(loss, at)
    except NoGuarantee:
        return None
    return bound.lower, bound.upper


# --- exact curves -------------------------------------------------------------------------------------


def curve_of(pair: Pair) -> Curve:
    """delta(epsilon) of a finite pair, both directions, in as many digits as asked for."""
    p, q = pair

    def curve(epsilon: float) -> mpf:
        gamma = mp.exp(mpf(epsilon))
        rows = [(_mpf(a), _mpf(b)) for a, b in zip(p, q, strict=True)]
        forward = mp.fsum(max(a - gamma * b, mpf(0)) for a, b in rows)
        return max(forward, mp.fsum(max(b - gamma * a, mpf(0)) for a, b in rows))

    return curve


def _mpf(x: Fraction) -> mpf:
    return mpf(x.numerator) / mpf(x.denominator)


def random_law(source: random.Random, outputs: int, *, zeros: bool, wild: bool = False) -> Law:
    """Random probabilities; if asked for, some of them zero or (wild) very small."""
    powers = (0, 0, 0, 1, 3, 8) if wild else (0, 0, 1)
    weights = [Fraction(source.randint(0 if zeros else 1, 30), 10 ** source.choice(powers)) for _ in range(outputs)]
    weights[source.randrange(outputs)] += 1
    total = sum(weights)
    return tuple(w / total for w in weights)


def random_pair(source: random.Random, *, zeros: bool = False, wild: bool = False) -> Pair:
    """A pair with 2 to 4 outcomes; most are far from symmetric, some close to each other."""
    outputs = source.randint(2, 4)
    q = random_law(source, outputs, zeros=zeros, wild=wild)
    other = random_law(source, outputs, zeros=zeros, wild=wild)
    weight = source.choice((Fraction(1), Fraction(1, 10), Fraction(1, 1000) if wild else Fraction(1, 3)))
    return brute_force.mix(q, other, weight), q


def finite_cases(source: random.Random, count: int, *, wild: bool = False) -> Iterator[Case]:
    """Compositions of finite pairs and of sampled finite pairs, by enumeration."""
    for index in range(count):
        parts, pairs = [], []
        for _ in range(source.randint(1, 2)):
            pair, times = random_pair(source, zeros=source.random() < 0.3, wild=wild), source.randint(1, 3)
            loss: PrivacyLoss = privacy.FinitePairLoss(*pair)
            if source.random() < 0.5:
                q = Fraction(1, 2 ** source.randint(1, 7))  # a power of two: the float is the fraction
                loss = privacy.PoissonSampled(loss, q=float(q))
                pair = brute_force.mix(pair[1], pair[0], q), pair[1]
            parts.append(privacy.Repeated(loss, times))
            pairs += [pair] * times
        yield Case(f"finite {index}", privacy.Composed(parts), curve_of(brute_force.product_pair(pairs)))


def fixed_size_cases(source: random.Random, count: int, *, mirrored: bool) -> Iterator[Case]:
    """A mechanism that only sees which of two records the sample holds, enumerated over all samples.

    What it shows when it sees neither is one of the two laws: the choice that is worst for some epsilon. With `mirrored`
    the two laws are mirror images of each other.
    """
    for index in range(count):
        n = source.randint(2, 4)
        m = source.randint(1, n)
        one, two = random_pair(source)
        two = tuple(reversed(one)) if mirrored else two
        neither = source.choice((one, two))
        loss = privacy.FixedSampled(privacy.FinitePairLoss(one, two, unit=privacy.Unit("replace")), m, n)
        laws = _fixed_laws(one, two, neither, m, n)
        yield Case(f"fixed size {index}", loss, curve_of(laws))


def _fixed_laws(one: Law, two: Law, neither: Law, m: int, n: int) -> Pair:
    with_one, with_two = frozenset(range(n)), frozenset(range(1, n + 1))
    samples = [s for d in (with_one, with_two) for s in brute_force.subsets(d)]
    table = {s: one if 0 in s else two if n in s else neither for s in samples}
    return brute_force.fixed_sampled(table, with_one, m), brute_force.fixed_sampled(table, with_two, m)


def closed_cases(source: random.Random, count: int) -> Iterator[Case]:
    """Prices with a closed form: Gaussian and k-ary randomized response any number of times, Laplace once."""
    for _ in range(count):
        kind, times = source.choice(("gaussian", "krr", "laplace", "geometric")), source.choice((1, 2, 3, 7, 20))
        size = float(f"{10 ** source.uniform(-1.5, 1.0):.3g}")
        if kind == "gaussian":
            mu = mpf(1) / mpf(size) * mp.sqrt(times)
            loss = privacy.Repeated(privacy.GaussianLoss(size), times)
            yield Case(f"{times} x Gaussian({size})", loss, lambda e, mu=mu: closed_forms.gaussian_delta(e, mu))
        elif kind == "krr":
            k = source.choice((2, 3, 10))
            loss = privacy.Repeated(privacy.KRRLoss(k, size), times)
            truth = _krr_curve(k, size, times)
            yield Case(f"{times} x {k}-RR({size})", loss, truth)
        elif kind == "laplace":
            yield Case(
                f"Laplace({size})", privacy.LaplaceLoss(size), lambda e, b=size: closed_forms.laplace_delta(e, b)
            )
        else:
            shift = source.choice((1, 2, 5))
            loss = privacy.DiscreteLaplaceLoss(size, shift)
            yield Case(
                f"discrete Laplace({size}, {shift})",
                loss,
                lambda e, s=size, k=shift: closed_forms.discrete_laplace_delta(e, s, k),
            )


def _krr_curve(k: int, budget: float, times: int) -> Curve:
    return lambda e: brute_force.krr_composed_delta(e, k=k, budget=budget, count=times)


def discrete_gaussian_cases(source: random.Random, count: int) -> Iterator[Case]:
    """The sum of the outputs is sufficient, so a direct convolution of the law is exact."""
    for _ in range(count):
        sigma, shift, times = source.choice((0.4, 0.7, 1.3)), source.choice((1, 2)), source.choice((1, 2, 3))
        loss = privacy.Repeated(privacy.DiscreteGaussianLoss(sigma, shift), times)
        yield Case(
            f"{times} x discrete Gaussian({sigma}, {shift})", loss, _discrete_gaussian_curve(sigma, shift, times)
        )


def _discrete_gaussian_curve(sigma: float, shift: int, times: int) -> Curve:
    with mp.workdps(120):
        reach = int(mpf(sigma) * 26) + 2
        weights = [mp.exp(-mpf(x * x) / (2 * mpf(sigma) ** 2)) for x in range(-reach, reach + 1)]
        single = [w / mp.fsum(weights) for w in weights]
        law = [mpf(1)]
        for _ in range(times):
            law = [
                mp.fsum(law[j] * single[i - j] for j in range(max(0, i - 2 * reach), min(len(law), i + 1)))
                for i in range(len(law) + 2 * reach)
            ]
    total = times * shift

    def curve(epsilon: float) -> mpf:
        gamma = mp.exp(mpf(epsilon))
        moved = [*law[total:], *[mpf(0)] * total]  # the other world lies `total` higher
        return mp.fsum(max(a - gamma * b, mpf(0)) for a, b in zip(law, moved, strict=True))

    return curve


def twice_laplace(scale: float) -> Case:
    """Two Laplace releases: the first loss is integrated out (it has two atoms and the density exp((l - e)/2)/4)."""
    top = 1 / mpf(scale)

    def curve(epsilon: float) -> mpf:
        def rest(loss: mpf) -> mpf:
            return closed_forms.laplace_delta(mpf(epsilon) - loss, scale)

        kinks = sorted({-top, top, *(k for k in (mpf(epsilon) - top, mpf(epsilon) + top) if -top < k < top)})
        smooth = mp.quad(lambda x: mp.exp((x - top) / 2) / 4 * rest(x), kinks)
        return smooth + rest(top) / 2 + mp.exp(-top) / 2 * rest(-top)

    return Case(f"2 x Laplace({scale})", privacy.Repeated(privacy.LaplaceLoss(scale), 2), curve)


def sampled_gaussian_case(q: float, z: float, times: int) -> Case:
    """One or two releases of the Poisson-sampled Gaussian, by quadrature."""
    one = sampled_gaussian.delta_one if times == 1 else sampled_gaussian.delta_two

    def curve(epsilon: float) -> mpf:
        with mp.workdps(30):
            return max(one(epsilon, q=q, z=z, direction=d) for d in ("remove", "add"))

    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(z), q=q), times)
    return Case(f"{times} x sampled Gaussian({q}, {z})", loss, curve)


# --- the attacker's view ------------------------------------------------------------------------------


def exact_tradeoff(pair: Pair, rates: Sequence[Fraction]) -> np.ndarray:
    """Least false-negative rate at each false-positive rate, either way round (Neyman and Pearson)."""
    p, q = pair
    return np.array([float(min(_least_miss(p, q, rate), _least_miss(q, p, rate))) for rate in rates])


def _least_miss(p: Law, q: Law, rate: Fraction) -> Fraction:
    """Accept outcomes in the order of p/q until Q has used up the rate, the last one in part."""
    knots = [(Fraction(0), Fraction(0))]
    rows = zip(p, q, strict=True)
    for a, b in sorted(rows, key=lambda row: row[0] / row[1] if row[1] else Fraction(10**40), reverse=True):
        knots.append((knots[-1][0] + b, knots[-1][1] + a))
    for (x0, y0), (x1, y1) in pairwise(knots):
        if x0 <= rate < x1:
            return 1 - (y0 + (rate - x0) / (x1 - x0) * (y1 - y0))
    return Fraction(0)
