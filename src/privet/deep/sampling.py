"""Who takes part in a step: samplers that say their own price, so that no run is priced as another one.

Steps are priced in *rounds*: a round is one step where every step draws anew, and a whole epoch where a record takes part
in one step of it. Most samplers have fresh noise in every step; those of `banded` and `tree` mix sums first.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array
from privet._registry import Registry
from privet._validate import count, fraction, set_frozen
from privet.deep.mixing import Mixing
from privet.errors import InvalidParameter, MixedUnits
from privet.mechanisms import Source
from privet.noise import KeyedStream
from privet.privacy import (
    Composed,
    FixedSampled,
    GaussianLoss,
    Grouped,
    PoissonSampled,
    PrivacyLoss,
    RandomAllocation,
    Relation,
    TruncatedPoissonSampled,
    Unit,
)

_Sampler = TypeVar("_Sampler", bound="Sampling")

register: Registry["Sampling"] = Registry("samplers")
_SAMPLES = 1  # the domain of a keyed stream for draws that are not one coin a record
_MODEL = 16  # the domain of seeds for what a model draws itself: free, by its last four bits


class Sampling(ABC):
    """A sampler of records: which of them take part in each step, and what a round of steps then costs.

    `relations` are those that its price is proved for. `noise_multiplier` is the noise of one step over the clip: what a
    null record, an exchange or a group make of it is said here, once.

    >>> Poisson(q=0.01).round_price(1.0, Unit()) == PoissonSampled(GaussianLoss(1.0), 0.01)
    True
    """

    name: ClassVar[str]
    relations: ClassVar[tuple[Relation, ...]]
    groups: ClassVar[bool] = True  # whether its price is proved for groups of records too
    _instead: ClassVar[str]  # what to take where a relation is not served

    @property
    def round_steps(self) -> int:
        """The number of steps that are priced together."""
        return 1

    @abstractmethod
    def expected(self, size: int | None) -> float | None:
        """The number of records that a step is expected to have: by public numbers alone, or of so many records."""

    @abstractmethod
    def draw(self, size: int, *, source: Source) -> Sequence[Array]:
        """The records of each step of a round, of `size` records in all: secret, exact and fresh."""

    def drawn(self, size: int, stream: KeyedStream, step: int) -> Sequence[Array]:
        """The same for the round that begins with `step`, by a keyed stream: whoever has the key draws the same records.

        >>> stream = KeyedStream(bytes(32))
        >>> [Poisson(q=0.5).drawn(9, stream, 3)[0].tolist() for _ in range(2)]
        [[1, 3, 5, 8], [1, 3, 5, 8]]
        """
        return self.draw(size, source=stream.source(_SAMPLES, step))

    @abstractmethod
    def _priced(self, noise_multiplier: float, unit: Unit) -> PrivacyLoss:
        """The price of a round for one record, under a relation that is served."""

    @property
    def largest(self) -> int | None:
        """The most records that a step can have, where that is public."""
        return None

    @property
    def together(self) -> int | None:
        """The most steps of a block, where its steps hang together: noise and places begin anew with every block."""
        return None

    def mixing(self) -> Mixing | None:
        """The mixing of the sums of a block before noise is added; None where each step has noise of its own."""
        return None

    def unfit(self, size: int) -> str | None:
        """Why the price does not speak of so many records, if it does not: only asked where the number is public."""
        return None

    @final
    def serves(self, unit: Unit) -> None:
        """Refuse a unit that the price is not proved for, in one sentence."""
        if unit.person is not None:
            raise MixedUnits(
                "training counts records, not persons: make one record of each person, or say how many records a person "
                "has at most (Unit(group_size=k))"
            )
        if unit.relation not in self.relations:
            known = " or ".join(self.relations)
            raise MixedUnits(
                f"{type(self).__name__} has no proved price under {unit.relation}: {self._instead}; it serves {known}"
            )
        if unit.group_size > 1 and not self.groups:
            raise MixedUnits(
                f"{type(self).__name__} has a proved price for one record, and none for {unit.group_size} of them, which "
                "take turns: take Poisson"
            )

    @final
    def round_price(self, noise_multiplier: float, unit: Unit) -> PrivacyLoss:
        """The price of a round of steps, each with noise of so many clips."""
        self.serves(unit)
        priced = self._priced(noise_multiplier, unit)
        return priced if unit == priced.unit else Grouped(priced, unit.group_size)

    @final
    def folded(self, parts: Sequence[PrivacyLoss], unit: Unit) -> PrivacyLoss:
        """The price of a round, from what its steps have released: one sum each, all with the same noise. Anything else is
        as dear as if everybody had taken part in all of it.
        """
        first = Composed(parts[:1]).simplest()
        alike = len(parts) == self.round_steps and all(each == parts[0] for each in parts)
        if not alike or not isinstance(first, GaussianLoss):
            return Composed(parts)
        return self.round_price(first.noise_multiplier * reach(unit), unit)  # exact: twice, or once

    @final
    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values.

        >>> Poisson(q=0.01).to_dict()
        {'kind': 'poisson', 'q': 0.01}
        """
        return {"kind": self.name} | {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    @abstractmethod
    def examples(cls) -> "Iterable[Sampling]":
        """Small ones, which laws run over."""


def sampler(kind: type[_Sampler]) -> type[_Sampler]:
    """A class decorator: the sampler is known by its name (`register`), and its constructor refuses in sentences."""
    register(kind)
    return door(kind)


def coins_of_model(stream: KeyedStream, step: int) -> int:
    """A seed for what a model and a data set draw themselves in a step (dropout, augmentation), from the key of the block.

    Masks are dealt out by the place in a batch, so one record more moves those of all later ones. By a secret seed that
    changes nothing in law; by the seed of a script, which everybody may know, every later gradient would change.
    """
    return int(stream.words(_MODEL, step, 1)[0])


def reach(unit: Unit) -> int:
    """The number of clips that one record moves a sum by: two where it is replaced by another one.

    >>> reach(Unit()), reach(Unit("zero_out")), reach(Unit("replace"))
    (1, 1, 2)
    """
    return 2 if unit.relation == "replace" else 1


def one_step(noise_multiplier: float, unit: Unit) -> GaussianLoss:
    """The noise of one step for one record that is added, removed, or nulled: a null record adds nothing to a sum, as if it
    were not there.
    """
    return GaussianLoss(noise_multiplier, unit=Unit("zero_out") if unit.relation == "zero_out" else Unit())


def _exchange(noise_multiplier: float) -> GaussianLoss:
    """The noise of one step for one record that is replaced by another: the sum moves by twice the clip."""
    return GaussianLoss(noise_multiplier / reach(Unit("replace")), unit=Unit("replace"))


@sampler
@final
@dataclass(frozen=True, kw_only=True)
class Poisson(Sampling):
    """Every record takes part in every step by a coin of its own; a step may be empty.

    **Guarantee:** `PoissonSampled` for each step. Under replace a record is removed and another one added.
    **Proof:** docs/proofs/deep/sampling.md.

    >>> Poisson(q=0.01).expected(60_000)
    600.0
    """

    name = "poisson"
    relations = ("add_remove", "zero_out", "replace")
    q: float

    def __post_init__(self) -> None:
        set_frozen(self, q=clean_rate(self.q))

    def expected(self, size: int | None) -> float | None:
        return None if size is None else self.q * size

    def draw(self, size: int, *, source: Source) -> Sequence[Array]:
        return (noise.poisson_subset(size, q=self.q, source=source),)

    def drawn(self, size: int, stream: KeyedStream, step: int) -> Sequence[Array]:
        """One coin a record, by its number: a part of the records is drawn without the others, and as they are drawn."""
        return (np.flatnonzero(stream.coins(step, size, q=self.q)),)

    def _priced(self, noise_multiplier: float, unit: Unit) -> PrivacyLoss:
        sampled = PoissonSampled(one_step(noise_multiplier, unit), self.q)
        return Grouped(sampled, 2 * unit.group_size, "replace") if unit.relation == "replace" else sampled

    @classmethod
    def examples(cls) -> Iterable[Sampling]:
        yield cls(q=0.5)


@sampler
@final
@dataclass(frozen=True, kw_only=True)
class TruncatedPoisson(Sampling):
    """Poisson sampling with a largest batch: of a larger sample, a random subset of so many records is kept.

    `n` is a public cap on the number of records. **Guarantee:** `TruncatedPoissonSampled` for each step.
    **Proof:** docs/proofs/deep/sampling.md.

    >>> TruncatedPoisson(q=0.5, batch=3, n=4).largest
    3
    """

    name = "truncated_poisson"
    relations = ("zero_out", "replace")
    _instead = "whether there are more than n records would be told by a refusal; take Poisson"
    q: float
    batch: int
    n: int

    def __post_init__(self) -> None:
        set_frozen(self, q=clean_rate(self.q), batch=count("batch", self.batch, 1), n=count("n", self.n, 1))

    @property
    def largest(self) -> int:
        return self.batch

    def expected(self, size: int | None) -> float:
        return min(self.q * self.n, float(self.batch))

    def unfit(self, size: int) -> str | None:
        return None if size <= self.n else f"the price holds for at most n = {self.n:,} records; there are {size:,}"

    def draw(self, size: int, *, source: Source) -> Sequence[Array]:
        return (self._cut(noise.poisson_subset(size, q=self.q, source=source), source),)

    def drawn(self, size: int, stream: KeyedStream, step: int) -> Sequence[Array]:
        """One coin a record, by its number, and a subset of those that are too many."""
        return (self._cut(np.flatnonzero(stream.coins(step, size, q=self.q)), stream.source(_SAMPLES, step)),)

    def _cut(self, drawn: Array, source: Source) -> Array:
        if len(drawn) <= self.batch:
            return drawn
        return drawn[noise.fixed_subset(len(drawn), m=self.batch, source=source)]

    def _priced(self, noise_multiplier: float, unit: Unit) -> PrivacyLoss:
        null = one_step(noise_multiplier, Unit("zero_out"))
        sampled = TruncatedPoissonSampled(null, self.q, self.batch, self.n)
        return Grouped(sampled, 2 * unit.group_size, "replace") if unit.relation == "replace" else sampled

    @classmethod
    def examples(cls) -> Iterable[Sampling]:
        yield cls(q=0.5, batch=2, n=3)


@sampler
@final
@dataclass(frozen=True, kw_only=True)
class FixedSize(Sampling):
    """Exactly `m` of `n` records in every step, each set of them equally likely.

    **Guarantee:** `FixedSampled` for each step; a replaced record moves a sum by twice the clip.
    **Proof:** docs/proofs/deep/sampling.md.

    >>> len(FixedSize(m=2, n=5).draw(5, source=None)[0])
    2
    """

    name = "fixed_size"
    relations = ("replace",)
    _instead = "a batch of fixed size is drawn from a fixed number of records; take Poisson"
    m: int
    n: int

    def __post_init__(self) -> None:
        set_frozen(self, m=count("m", self.m, 1), n=count("n", self.n, 1))
        if self.m > self.n:
            raise InvalidParameter(f"cannot draw m = {self.m} of n = {self.n} records without replacement")

    @property
    def largest(self) -> int:
        return self.m

    def expected(self, size: int | None) -> float:
        return float(self.m)

    def unfit(self, size: int) -> str | None:
        return None if size == self.n else f"the price holds for n = {self.n:,} records; there are {size:,}"

    def draw(self, size: int, *, source: Source) -> Sequence[Array]:
        return (noise.fixed_subset(self.n, m=self.m, source=source),)

    def _priced(self, noise_multiplier: float, unit: Unit) -> PrivacyLoss:
        return FixedSampled(_exchange(noise_multiplier), self.m, self.n)

    @classmethod
    def examples(cls) -> Iterable[Sampling]:
        yield cls(m=2, n=3)


@sampler
@final
@dataclass(frozen=True, kw_only=True)
class BallsInBins(Sampling):
    """Every record draws by itself the one step of an epoch in which it takes part; epochs are drawn anew.

    `steps` are the steps of an epoch. **Guarantee:** `RandomAllocation` for each epoch.
    **Proof:** docs/proofs/deep/sampling.md.

    >>> sorted(np.concatenate(BallsInBins(steps=3).draw(5, source=None)).tolist())
    [0, 1, 2, 3, 4]
    """

    name = "balls_in_bins"
    relations = ("add_remove", "zero_out")
    _instead = "the price of an exchange would be a chain of two, which is loose; take Poisson"
    steps: int

    def __post_init__(self) -> None:
        set_frozen(self, steps=count("steps", self.steps, 1))

    @property
    def round_steps(self) -> int:
        return self.steps

    def expected(self, size: int | None) -> float | None:
        return None if size is None else size / self.steps

    def draw(self, size: int, *, source: Source) -> Sequence[Array]:
        step = np.asarray(noise.uniform_int(bound=self.steps, size=size, source=source))
        return tuple(np.flatnonzero(step == each) for each in range(self.steps))

    def _priced(self, noise_multiplier: float, unit: Unit) -> PrivacyLoss:
        return RandomAllocation(one_step(noise_multiplier, unit), self.steps)

    @classmethod
    def examples(cls) -> Iterable[Sampling]:
        yield cls(steps=2)


@sampler
@final
@dataclass(frozen=True, kw_only=True)
class FixedOrder(Sampling):
    """`batch` records after the other in the order in which they come, each of the `n` once an epoch: what a loader does.

    No secret decides who takes part, so nothing is gained by sampling: an epoch costs what one release does, and E epochs
    cost E of them. Shuffling changes nothing about that price.

    **Guarantee:** the noise of one step, for each epoch. **Proof:** docs/proofs/deep/sampling.md.

    >>> [batch.tolist() for batch in FixedOrder(batch=2, n=5).draw(5, source=None)]
    [[0, 1], [2, 3], [4]]
    """

    name = "fixed_order"
    relations = ("zero_out", "replace")
    _instead = "without one record all later ones move to other batches; take Poisson"
    batch: int
    n: int

    def __post_init__(self) -> None:
        set_frozen(self, batch=count("batch", self.batch, 1), n=count("n", self.n, 1))

    @property
    def round_steps(self) -> int:
        return -(-self.n // self.batch)

    @property
    def largest(self) -> int:
        return self.batch

    def expected(self, size: int | None) -> float:
        return float(min(self.batch, self.n))

    def unfit(self, size: int) -> str | None:
        return None if size == self.n else f"the price holds for n = {self.n:,} records; there are {size:,}"

    def draw(self, size: int, *, source: Source) -> Sequence[Array]:
        starts = range(0, self.n, self.batch)
        return tuple(np.arange(each, min(each + self.batch, self.n)) for each in starts)

    def _priced(self, noise_multiplier: float, unit: Unit) -> PrivacyLoss:
        return _exchange(noise_multiplier) if unit.relation == "replace" else one_step(noise_multiplier, unit)

    @classmethod
    def examples(cls) -> Iterable[Sampling]:
        yield cls(batch=2, n=3)


def clean_rate(q: object) -> float:
    rate = fraction("q", q)
    if rate == 0.0:
        raise InvalidParameter("q must be above 0: nobody would take part")
    return rate


def sampling_from_dict(body: Any) -> Sampling:
    """Back from `to_dict`.

    >>> sampling_from_dict({"kind": "poisson", "q": 0.5})
    Poisson(q=0.5)
    """
    kinds = register.members()
    given = dict(body) if isinstance(body, dict) else {}
    kind = given.pop("kind", None)
    if kind not in kinds:
        raise InvalidParameter(f"the kind of a sampler must be one of {', '.join(kinds)}")
    made: Sampling = kinds[kind](**given)
    return made
