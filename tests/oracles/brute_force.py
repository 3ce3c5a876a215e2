"""Exact enumeration for tiny finite mechanisms, in fractions or floats.

A distribution is a tuple of probabilities over outputs 0..k-1; a mechanism is a table from a set of records to
a distribution. Nothing here knows an amplification theorem: sampled mechanisms are enumerated sample by sample.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations, pairwise
from math import comb
from typing import TypeVar

from mpmath import mp, mpf

Scalar = TypeVar("Scalar", Fraction, float)
Distribution = tuple[Fraction, ...]
Records = frozenset[int]
Table = Mapping[Records, Distribution]
Pair = tuple[Sequence[Scalar], Sequence[Scalar]]


# --- finite pairs -------------------------------------------------------------------------------------


def hockey_stick(p: Sequence[Scalar], q: Sequence[Scalar], gamma: Scalar) -> Scalar:
    """sup_S P(S) - gamma Q(S) = sum of (p - gamma q)_+."""
    return sum((max(a - gamma * b, a * 0) for a, b in zip(p, q, strict=True)), start=p[0] * 0)


def product_pair(pairs: Sequence[Pair[Scalar]]) -> Pair[Scalar]:
    """Joint law of independent releases; outcomes with equal (p, q) are merged, which keeps it small."""
    return reduce(_product_of_two, pairs)


def _product_of_two(one: Pair[Scalar], two: Pair[Scalar]) -> Pair[Scalar]:
    merged: dict[object, tuple[Scalar, Scalar]] = {}
    for a, b in zip(*one, strict=True):
        for c, d in zip(*two, strict=True):
            p, q = a * c, b * d
            key = (p / q) if q else "infinite"
            old = merged.get(key, (p * 0, q * 0))
            merged[key] = (old[0] + p, old[1] + q)
    return tuple(v[0] for v in merged.values()), tuple(v[1] for v in merged.values())


def composed_hockey_stick(pairs: Sequence[Pair[Scalar]], gamma: Scalar) -> Scalar:
    """Hockey-stick divergence of the product of several pairs."""
    p, q = product_pair(pairs)
    return hockey_stick(p, q, gamma)


def mix(one: Sequence[Scalar], two: Sequence[Scalar], weight: Scalar) -> tuple[Scalar, ...]:
    """(1 - weight) one + weight two."""
    return tuple((1 - weight) * a + weight * b for a, b in zip(one, two, strict=True))


def random_distribution(source: random.Random, outputs: int, *, zeros: bool = False) -> Distribution:
    """Random fractions that sum to one; with `zeros` some outputs may be impossible."""
    weights = [source.randint(0 if zeros else 1, 20) for _ in range(outputs)]
    weights[source.randrange(outputs)] += 1
    return tuple(Fraction(w, sum(weights)) for w in weights)


# --- sampled mechanisms -------------------------------------------------------------------------------


def random_table(source: random.Random, records: int, outputs: int) -> Table:
    """A mechanism with no structure at all: an independent law for every set of records."""
    sets = (frozenset(s) for size in range(records + 1) for s in combinations(range(records), size))
    return {s: random_distribution(source, outputs) for s in sets}


def membership_table(records: int, target: int, present: Distribution, absent: Distribution) -> Table:
    """The worst kind of mechanism: it only says whether one record is there."""
    sets = (frozenset(s) for size in range(records + 1) for s in combinations(range(records), size))
    return {s: present if target in s else absent for s in sets}


def poisson_sampled(table: Table, dataset: Records, q: Fraction) -> Distribution:
    """Law of the output when each record is kept independently with probability q."""
    weighted = ((q ** len(s) * (1 - q) ** (len(dataset) - len(s)), table[s]) for s in subsets(dataset))
    return _mixture(weighted)


def fixed_sampled(table: Table, dataset: Records, size: int) -> Distribution:
    """Law of the output on a uniform subset of the given size."""
    weight = Fraction(1, comb(len(dataset), size))
    return _mixture((weight, table[frozenset(s)]) for s in combinations(sorted(dataset), size))


def subsets(dataset: Records) -> Iterator[Records]:
    """All subsets."""
    for size in range(len(dataset) + 1):
        yield from (frozenset(s) for s in combinations(sorted(dataset), size))


def _mixture(weighted: Iterator[tuple[Fraction, Distribution]]) -> Distribution:
    rows = [tuple(w * p for p in law) for w, law in weighted]
    return tuple(sum(column, start=Fraction(0)) for column in zip(*rows, strict=True))


def removals(datasets: Sequence[Records]) -> Iterator[tuple[Records, Records]]:
    """Pairs (with a record, without it) inside the given family."""
    known = set(datasets)
    for big in datasets:
        yield from ((big, big - {r}) for r in big if big - {r} in known)


def replacements(datasets: Sequence[Records]) -> Iterator[tuple[Records, Records]]:
    """Ordered pairs of equal size that differ in one record."""
    for one in datasets:
        yield from ((one, two) for two in datasets if len(one) == len(two) and len(one - two) == 1)


def worst_curve(
    law: Callable[[Records], Distribution], pairs: Sequence[tuple[Records, Records]], gamma: Fraction
) -> Fraction:
    """Largest hockey-stick divergence over neighbouring datasets."""
    return max(hockey_stick(law(one), law(two), gamma) for one, two in pairs)


def mirror(curve: Callable[[Fraction], Fraction], gamma: Fraction) -> Fraction:
    """H_gamma(Q||P) from the curve of (P||Q): 1 - gamma + gamma h(1/gamma)."""
    return 1 - gamma + gamma * curve(1 / gamma)


# --- randomized response and (epsilon, delta) pairs ----------------------------------------------------


def krr_composed_delta(epsilon: object, *, k: int, budget: object, count: int) -> mpf:
    """`count` uses of k-ary randomized response with parameter `budget`: the trinomial sum.

    Of the k outputs one has ratio e^budget, one e^-budget and k-2 have ratio 1. With i plus and j minus
    outcomes the loss is (i-j) budget.
    """
    e, b = mpf(epsilon), mpf(budget)
    norm = mp.exp(b) + k - 1
    total = mpf(0)
    for i in range(count + 1):
        for j in range(count - i + 1) if k > 2 else (count - i,):
            loss = (i - j) * b
            if loss > e:
                ways = comb(count, i) * comb(count - i, j) * mpf(k - 2) ** (count - i - j)
                total += ways * mp.exp(i * b) / norm**count * -mp.expm1(e - loss)
    return total


def optimal_composed_delta(epsilon: object, *, budget: object, slack: object, count: int) -> mpf:
    """Kairouz-Oh-Viswanath for equal (budget, slack): leak with 1-(1-slack)^T, else randomized response."""
    safe = (1 - mpf(slack)) ** count
    return 1 - safe + safe * krr_composed_delta(epsilon, k=2, budget=budget, count=count)


def solve_epsilon(curve: Callable[[mpf], mpf], delta: object, high: object) -> mpf:
    """The epsilon in [0, high] at which a decreasing curve meets delta."""
    low, top, target = mpf(0), mpf(high), mpf(delta)
    for _ in range(int(mp.prec) + 10):
        middle = (low + top) / 2
        low, top = (middle, top) if curve(middle) > target else (low, middle)
    return top


def chain_hockey_sticks(chain: Sequence[Sequence[Fraction]], gamma: Fraction) -> tuple[Fraction, Fraction]:
    """For laws M(D0), ..., M(Dk): the largest step curve at gamma (both ways) and the end-to-end curve at gamma^k."""
    steps = max(max(hockey_stick(a, b, gamma), hockey_stick(b, a, gamma)) for a, b in pairwise(chain))
    return steps, hockey_stick(chain[0], chain[-1], gamma ** (len(chain) - 1))
