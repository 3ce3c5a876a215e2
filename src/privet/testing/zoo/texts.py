"""Bugs in outputs that are not plain numbers: text, JSON, decimals, fractions, records of a class."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from privet import noise
from privet.testing.zoo.entry import ONE, STEP, SWAP, Entry, Law, laplace


@final
@dataclass(frozen=True)
class _Answer:
    value: int
    rows: int


@final
@dataclass(frozen=True)
class _Page:
    title: str
    answers: tuple[_Answer, ...]


class _Pair(NamedTuple):
    name: str
    number: int


class _Ward(Enum):
    EAST = "east"
    WEST = "west"
    NORTH = "north"


def _written(form: Callable[[int], Any], scale: float) -> Law:
    """A noisy number in some writing."""
    return lambda value, runs: [form(number) for number in (value + laplace(scale, runs)).tolist()]


def _as_json(number: int) -> str:
    return json.dumps({"query": "visits", "answer": {"n": number}, "unit": "people"})


def _as_sentence(number: int) -> str:
    return f"There were about {number} visits on {3} wards."


def _plural(exact: bool) -> Law:
    """One person, two people: by the exact count, or by the noisy one."""

    def law(count: int, runs: int) -> list[Any]:
        noisy = (count + laplace(1, runs)).tolist()
        return [f"{n} {'person' if (count if exact else n) == 1 else 'people'}" for n in noisy]

    return law


def _float_text(grid: bool) -> Law:
    """Seventeen digits of a float; its noise is a multiple of 2^-20, or whatever the logarithm gave."""

    def law(value: float, runs: int) -> list[Any]:
        uniform = (np.asarray(noise.uniform_int(bound=2**53, size=runs)) + 0.5) / 2.0**53 - 0.5
        drawn = laplace(2.0**20, runs) / 2.0**20 if grid else -np.sign(uniform) * np.log1p(-2.0 * np.abs(uniform))
        return [repr(x) for x in (value + drawn).tolist()]

    return law


def _bytes(low: float) -> Law:
    """Four bits as bytes; a false one becomes true with some chance, a true one stays with 1/2."""

    def law(value: int, runs: int) -> list[Any]:
        bits = [np.asarray(noise.bernoulli(p=0.5 if j == value else low, size=runs)) for j in range(4)]
        return [bytes(row) for row in np.stack(bits, axis=1).astype(np.uint8).tolist()]

    return law


def _divided(public: bool) -> Law:
    """A noisy sum over the number of records, as a fraction in lowest terms."""

    def law(rows: tuple[int, ...], runs: int) -> list[Any]:
        below = 7 if public else len(rows)
        return [Fraction(total, below) for total in (sum(rows) + laplace(STEP, runs)).tolist()]

    return law


def _records(exact: bool) -> Law:
    """A record with a noisy value and a number of rows."""

    def law(rows: tuple[int, ...], runs: int) -> list[Any]:
        return [_Answer(n, len(rows) if exact else 100) for n in (sum(rows) + laplace(STEP, runs)).tolist()]

    return law


def _pages(scale: float) -> Law:
    """Records inside a record."""
    return _written(lambda n: _Page("visits", (_Answer(1, 100), _Answer(n, 100))), scale)


def _wards(honest: float) -> Law:
    def law(value: int, runs: int) -> list[Any]:
        lies = (value + 1 + np.asarray(noise.uniform_int(bound=2, size=runs))) % 3
        told = np.where(np.asarray(noise.bernoulli(p=honest, size=runs)), value, lies)
        wards = list(_Ward)
        return [wards[j] for j in told.tolist()]

    return law


def _huge(scale: float) -> Law:
    """Integers beyond 2^53, where a float has no ones any more."""
    return _written(lambda n: 2**70 + n, scale)


def _complex(scale: float) -> Law:
    return lambda value, runs: list(1j * (value + laplace(scale, runs)))


def _header(exact: bool) -> Law:
    """A table as text, with the columns that hold something, or with all of them."""

    def law(columns: dict[str, int], runs: int) -> list[Any]:
        shown = [name for name, number in columns.items() if number or not exact]
        noisy = np.array([columns[name] for name in shown]) + laplace(1, runs, len(shown))
        return [",".join(shown) + "\n" + ",".join(map(str, row)) + "\n" for row in noisy.tolist()]

    return law


TEXTS = (
    Entry(
        number=73, name="half the noise in JSON text", claim=ONE, left=0, right=STEP,
        story="The answer leaves as a JSON text, different in nearly every run.",
        broken=_written(_as_json, STEP / 2), sound=_written(_as_json, STEP),
    ),
    Entry(
        number=74, name="half the noise in a sentence", claim=ONE, left=0, right=STEP,
        story="The noisy number stands in the middle of a sentence.",
        broken=_written(_as_sentence, STEP / 2), sound=_written(_as_sentence, STEP),
    ),
    Entry(
        number=75, name="plural by the exact count", claim=ONE, left=1, right=2,
        story="The number is noisy; whether it says person or people is decided before.",
        broken=_plural(exact=True), sound=_plural(exact=False),
    ),
    Entry(
        number=76, name="float noise written out", claim=ONE, left=0.0, right=1.0,
        story="Seventeen digits in a log line keep the low bits of a float.",
        broken=_float_text(grid=False), sound=_float_text(grid=True),
    ),
    Entry(
        number=77, name="bytes of randomised bits", claim=SWAP, left=0, right=2,
        story="Unary encoding sent as bytes, with false ones too rare.",
        broken=_bytes(0.05), sound=_bytes(1.0 / (1.0 + math.e)),
    ),
    Entry(
        number=78, name="half the noise in a Decimal", claim=ONE, left=0, right=STEP,
        story="Money is kept in Decimal, and so is the noisy total.",
        broken=_written(lambda n: Decimal(n) / 100, STEP / 2), sound=_written(lambda n: Decimal(n) / 100, STEP),
    ),
    Entry(
        number=79, name="a fraction over the true n", claim=ONE, left=(0,) * 7, right=(0,) * 8,
        story="A noisy sum is divided by the exact number of records, and the denominator tells it.",
        broken=_divided(public=False), sound=_divided(public=True),
    ),
    Entry(
        number=80, name="a record with the exact number of rows", claim=ONE, left=(1, 2), right=(1, 2, 3),
        story="The result object carries the number of rows for convenience.",
        broken=_records(exact=True), sound=_records(exact=False),
    ),
    Entry(
        number=81, name="half the noise in a record of records", claim=ONE, left=0, right=STEP,
        story="Objects within objects: the noisy number lies two levels down.",
        broken=_pages(STEP / 2), sound=_pages(STEP),
    ),
    Entry(
        number=82, name="a named pair with half the noise", claim=ONE, left=0, right=STEP,
        story="A named tuple of a text and a number.",
        broken=_written(lambda n: _Pair("visits", n), STEP / 2), sound=_written(lambda n: _Pair("visits", n), STEP),
    ),
    Entry(
        number=83, name="members of an enumeration", claim=SWAP, left=0, right=2,
        story="Randomized response over the members of an Enum, honest too often.",
        broken=_wards(0.8), sound=_wards(math.e / (math.e + 2)),
    ),
    Entry(
        number=84, name="half the noise on integers beyond 2^53", claim=ONE, left=0, right=1,
        story="Identifiers and sums of large integers: as floats all of them would be equal.",
        broken=_huge(0.5), sound=_huge(1.0),
    ),
    Entry(
        number=85, name="half the noise in an imaginary part", claim=ONE, left=0, right=STEP,
        story="A Fourier coefficient: complex numbers have two parts.",
        broken=_complex(STEP / 2), sound=_complex(STEP),
    ),
    Entry(
        number=86, name="columns named when they hold something", claim=ONE, left={"a": 3, "b": 0}, right={"a": 3, "b": 1},
        story="A table is written as text, without its empty columns.",
        broken=_header(exact=True), sound=_header(exact=False),
    ),
)  # fmt: skip
