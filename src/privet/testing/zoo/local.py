"""Bugs of local reports: what one person sends is the whole output."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.privacy import PureLoss, Unit
from privet.testing.zoo.entry import SWAP, Entry, Law

_PRIME = 257  # larger than values and buckets: of a small family of hash functions


def _bernoulli(p: float, runs: int) -> Array:
    return np.asarray(noise.bernoulli(p=p, size=runs))


def _integers(bound: int, *shape: int) -> Array:
    return np.asarray(noise.uniform_int(bound=bound, size=shape))


def _hashed(epsilon: float, buckets: int, seeds: int) -> Law:
    """Local hashing: a public random hash of the value, reported by randomized response over few buckets."""
    honest = math.exp(epsilon) / (math.exp(epsilon) + buckets - 1)

    def law(value: int, runs: int) -> Array:
        seed = _integers(seeds, runs)
        bucket = ((seed * 37 + 11) * (value + 1) % _PRIME) % buckets
        lies = (bucket + 1 + _integers(buckets - 1, runs)) % buckets
        return np.stack((seed, np.where(_bernoulli(honest, runs), bucket, lies)), axis=1)

    return law


def _hadamard(epsilon: float, order: int = 16) -> Law:
    """A random row of a Hadamard matrix, and the sign of the value's entry in it, flipped now and then."""

    def law(value: int, runs: int) -> Array:
        row = _integers(order, runs)
        parity = np.array([bin(j & (value + 1)).count("1") % 2 for j in range(order)])[row]
        true = 1 - 2 * parity
        kept = _bernoulli(math.exp(epsilon) / (1.0 + math.exp(epsilon)), runs)
        return np.stack((row, np.where(kept, true, -true)), axis=1)

    return law


def _subset(chance: float, k: int = 8, size: int = 3) -> Law:
    """A subset of `size` values; the true one is in it with some chance, the others are drawn evenly."""

    def law(value: int, runs: int) -> list[Any]:
        keys = np.asarray(noise.uniform_int(bound=2**40, size=(runs, k)))
        inside = _bernoulli(chance, runs)
        keys[:, value] = np.where(inside, -1, 2**41)
        rows = np.sort(np.argsort(keys, axis=1)[:, :size], axis=1)
        return [tuple(row) for row in rows.tolist()]

    return law


def _fair_subset(k: int, size: int) -> float:
    return math.e * size / (math.e * size + k - size)


def _two_ends(slope: float) -> Law:
    """One of two ends: the mean of the reports is the value in [-1, 1]."""
    return lambda value, runs: np.where(_bernoulli(0.5 + slope * value, runs), 1, -1)


def _one_bit_each(epsilon: float, bits: int) -> Law:
    """Each bit of a number by randomized response; a bit costs epsilon, not the number."""
    keep = math.exp(epsilon) / (1.0 + math.exp(epsilon))

    def law(value: int, runs: int) -> Array:
        true = np.array([value >> j & 1 for j in range(bits)])
        kept = np.stack([_bernoulli(keep, runs) for _ in range(bits)], axis=1)
        return np.where(kept, true, 1 - true)

    return law


def _labels(honest: float) -> Law:
    """A label out of a hundred, as numpy text."""

    def law(value: int, runs: int) -> Any:
        lies = (value + 1 + _integers(99, runs)) % 100
        names = np.array([f"ward {j}" for j in range(100)])
        return list(names[np.where(_bernoulli(honest, runs), value, lies)])

    return law


def _shuffled(honest: float) -> Law:
    """Twelve people report one of four values; the reports come back in random order."""

    def law(people: tuple[int, ...], runs: int) -> Array:
        lies = (np.asarray(people) + 1 + _integers(3, runs, len(people))) % 4
        kept = np.stack([_bernoulli(honest, runs) for _ in people], axis=1)
        sent = np.where(kept, np.asarray(people), lies)
        order = np.argsort(np.asarray(noise.uniform_int(bound=2**40, size=sent.shape)), axis=1)
        return np.take_along_axis(sent, order, axis=1)

    return law


def _first_person_honest(people: tuple[int, ...], runs: int) -> Array:
    out = np.asarray(_shuffled(_k_honest(4, math.log(4)))(people, runs))
    out[:, 0] = people[0]
    return out


def _k_honest(k: int, epsilon: float) -> float:
    return math.exp(epsilon) / (math.exp(epsilon) + k - 1)


def _remembered(memory: bool) -> Callable[[], Callable[[int], tuple[int, int]]]:
    """Two reports: the permanent one, and one of the permanent one; or the second one of the truth again."""
    keep = math.e / (1.0 + math.e)

    def build() -> Callable[[int], tuple[int, int]]:
        coins: list[bool] = []

        def coin() -> bool:
            if not coins:
                coins.extend(_bernoulli(keep, 4096).tolist())
            return bool(coins.pop())

        def report(value: int) -> tuple[int, int]:
            first = value if coin() else 1 - value
            base = first if memory else value
            return first, base if coin() else 1 - base

        return report

    return build


LOCAL = (
    Entry(
        number=54, name="local hashing at twice its epsilon", claim=SWAP, left=0, right=3,
        story="The report names its hash function; no bucket alone says anything, pairs of both do.",
        broken=_hashed(2.0, 4, 64), sound=_hashed(1.0, 4, 64),
    ),
    Entry(
        number=55, name="Hadamard response at twice its epsilon", claim=SWAP, left=0, right=4,
        story="Row and sign are both fair coins; only together do they tell the value.",
        broken=_hadamard(2.0), sound=_hadamard(1.0),
    ),
    Entry(
        number=56, name="subset that holds the truth too often", claim=SWAP, left=0, right=5,
        story="Subset selection with the chance of randomized response instead of its own.",
        broken=_subset(0.9), sound=_subset(_fair_subset(8, 3)),
    ),
    Entry(
        number=57, name="one bit for a mean, slope too steep", claim=SWAP, left=-1, right=1,
        story="The two ends are chosen with probability (1 + x)/2 as if epsilon were infinite, damped a little.",
        broken=_two_ends(0.4), sound=_two_ends(0.5 * (math.e - 1) / (math.e + 1)),
    ),
    Entry(
        number=58, name="every bit at the price of one", claim=SWAP, left=0, right=63,
        story="Six bits of a number are randomised at epsilon 1/2 each, and priced as two of them.",
        broken=_one_bit_each(0.5, 6), sound=_one_bit_each(1.0 / 6.0, 6),
    ),
    Entry(
        number=59, name="labels with the chances of two", claim=SWAP, left=7, right=42,
        story="A hundred labels reported with the probability that is right for yes or no.",
        broken=_labels(math.e / (1 + math.e)), sound=_labels(_k_honest(100, 1.0)),
    ),
    Entry(
        number=60, name="shuffled reports with too little noise",
        claim=PureLoss(math.log(4), unit=Unit("replace")), left=(0,) * 12, right=(1,) + (0,) * 11,
        story="Reports are sent in random order, but each is honest too often.",
        broken=_shuffled(0.97), sound=_shuffled(_k_honest(4, math.log(4))),
    ),
    Entry(
        number=61, name="the first report is not randomised",
        claim=PureLoss(math.log(4), unit=Unit("replace")), left=(0,) * 12, right=(1,) + (0,) * 11,
        story="A loop over the clients starts at one instead of zero.",
        broken=_first_person_honest, sound=_shuffled(_k_honest(4, math.log(4))),
    ),
    Entry(
        number=62, name="second report of the truth, not of the first", by="calls", claim=SWAP, left=0, right=1,
        story="A permanent answer is to be randomised once more; the code randomises the truth a second time.",
        broken=_remembered(False), sound=_remembered(True),
    ),
)  # fmt: skip
