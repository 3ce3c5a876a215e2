"""Bugs beside the returned value: prints, messages, exits, and mechanisms that remember or count.

The twins have the same habits and leak nothing by them: clocks, counters and consumed inputs are no violation.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from privet.testing.zoo.entry import ONE, STEP, Entry, Noise

Build = Callable[[], Callable[[Any], Any]]


def _with_noise(scale: float, run: Callable[[Any, Callable[[], int]], Any]) -> Build:
    """A mechanism that draws from its own noise, built anew for every audit."""

    def build() -> Callable[[Any], Any]:
        noise = Noise(scale)
        return lambda value: run(value, noise)

    return build


def _numbered(scale: float) -> Build:
    """Every release carries a number of its own, counted up."""

    def build() -> Callable[[Any], Any]:
        noise, asked = Noise(scale), [0]

        def run(value: int) -> tuple[int, int]:
            asked[0] += 1
            return asked[0], value + noise()

        return run

    return build


def _stamped(value: int, noise: Callable[[], int]) -> tuple[int, int]:
    return time.time_ns(), value + noise()


def _consuming(rows: list[int], noise: Callable[[], int]) -> int:
    total = 0
    while rows:
        total += rows.pop()
    return total + noise()


def _sorting(rows: list[int], noise: Callable[[], int]) -> int:
    rows.sort()
    return rows[len(rows) // 2] + noise()


def _printing(exact: bool) -> Callable[[Any, Callable[[], int]], int]:
    def run(value: int, noise: Callable[[], int]) -> int:
        noisy = value + noise()
        print("answer", value if exact else noisy)
        return noisy

    return run


def _complaining(exact: bool) -> Callable[[Any, Callable[[], int]], int]:
    def run(value: int, noise: Callable[[], int]) -> int:
        sys.stderr.write(f"clipped {value if exact else 'some'} records\n")
        return value + noise()

    return run


def _warning(exact: bool) -> Callable[[Any, Callable[[], int]], int]:
    def run(value: int, noise: Callable[[], int]) -> int:
        warnings.warn(f"{value if exact else 'some'} records lie outside the bounds", UserWarning, stacklevel=1)
        return value + noise()

    return run


def _raising(exact: bool) -> Callable[[Any, Callable[[], int]], int]:
    """One run in a few raises; the message quotes what was seen, or nothing."""

    def run(value: int, noise: Callable[[], int]) -> int:
        drawn = noise()
        if drawn % 8 == 0:
            raise ValueError(f"cannot place {value}" if exact else "cannot place the value")
        return 0

    return run


def _leaving(exact: bool) -> Callable[[Any, Callable[[], int]], int]:
    """Too few rows: the program ends, on the exact count or on the noisy one."""

    def run(rows: int, noise: Callable[[], int]) -> int:
        noisy = rows + noise()
        if (rows if exact else noisy) < 5:
            raise SystemExit(2)
        return noisy

    return run


def _every_fiftieth(weak: float) -> Build:
    """Every fiftieth answer has another noise: a cache that is refreshed, a debug line that was left in."""

    def build() -> Callable[[Any], Any]:
        noise, other, asked = Noise(STEP), Noise(weak), [0]

        def run(value: int) -> int:
            asked[0] += 1
            return value + (noise() if asked[0] % 50 else other())

        return run

    return build


def _as_long_as_asked(scale: float) -> Build:
    """A log that grows: all answers so far to other people's questions, at most the last five, then this one."""

    def build() -> Callable[[Any], Any]:
        noise, log = Noise(scale), [0]

        def run(value: int) -> list[int]:
            answer = value + noise()
            shown = [log[0] % 3, answer]
            log[0] += 1
            return shown

        return run

    return build


def _attribute(exact: bool) -> Callable[[Any, Callable[[], int]], Any]:
    """An object of a class of its own, with its data in attributes."""

    class Result:
        def __init__(self, value: int, seen: int) -> None:
            self.value, self.seen = value, seen

    return lambda value, noise: Result(value + noise(), value if exact else 0)


STATES = (
    Entry(
        number=87, name="numbered releases with half the noise", by="calls", claim=ONE, left=0, right=STEP,
        story="Every release carries a serial number, which is public, and too little noise.",
        broken=_numbered(STEP / 2), sound=_numbered(STEP),
    ),
    Entry(
        number=88, name="time stamps with half the noise", by="calls", claim=ONE, left=0, right=STEP,
        story="Every release carries the time, which is public, and too little noise.",
        broken=_with_noise(STEP / 2, _stamped), sound=_with_noise(STEP, _stamped),
    ),
    Entry(
        number=89, name="an input that is used up", by="calls", claim=ONE, left=[STEP, STEP], right=[STEP, STEP, STEP],
        story="The rows are popped off the caller's list: a second run on the same list sees nothing.",
        broken=_with_noise(STEP / 2, _consuming), sound=_with_noise(STEP, _consuming),
    ),
    Entry(
        number=90, name="an input sorted in place", by="calls", claim=ONE, left=[9, 0, STEP], right=[9, 0, STEP, STEP],
        story="A median sorts the caller's list, and has half of the noise that its bounds ask for.",
        broken=_with_noise(0.3, _sorting), sound=_with_noise(STEP, _sorting),
    ),
    Entry(
        number=91, name="the exact answer is printed", by="calls", claim=ONE, left=0, right=STEP,
        story="A print that was left in shows the exact value beside the noisy answer.",
        broken=_with_noise(STEP, _printing(True)), sound=_with_noise(STEP, _printing(False)),
    ),
    Entry(
        number=92, name="a count on standard error", by="calls", claim=ONE, left=3, right=4,
        story="A line about clipped records says how many.",
        broken=_with_noise(1.0, _complaining(True)), sound=_with_noise(1.0, _complaining(False)),
    ),
    Entry(
        number=93, name="a warning that counts", by="calls", claim=ONE, left=3, right=4,
        story="The warning is the same in both worlds, but for the number in its text.",
        broken=_with_noise(1.0, _warning(True)), sound=_with_noise(1.0, _warning(False)),
    ),
    Entry(
        number=94, name="an exception that quotes its input", by="calls", claim=ONE, left=3, right=4,
        story="The exception has one type; its message holds the value.",
        broken=_with_noise(STEP, _raising(True)), sound=_with_noise(STEP, _raising(False)),
    ),
    Entry(
        number=95, name="the program ends on an exact count", by="calls", claim=ONE, left=4, right=5,
        story="With fewer than five rows the process exits; SystemExit is no Exception.",
        broken=_with_noise(1.0, _leaving(True)), sound=_with_noise(1.0, _leaving(False)),
    ),
    Entry(
        number=96, name="no noise in every fiftieth answer", by="calls", claim=ONE, left=0, right=STEP, runs=100_000,
        story="A counter decides, not the data; the answers it picks have hardly any noise.",
        broken=_every_fiftieth(0.02), sound=_every_fiftieth(STEP),
    ),
    Entry(
        number=97, name="a log beside half the noise", by="calls", claim=ONE, left=0, right=STEP,
        story="The answer comes with a public counter that turns in a circle.",
        broken=_as_long_as_asked(STEP / 2), sound=_as_long_as_asked(STEP),
    ),
    Entry(
        number=98, name="the exact value in an attribute", by="calls", claim=ONE, left=0, right=STEP,
        story="The result is an object without a readable repr; an attribute keeps the exact value.",
        broken=_with_noise(STEP, _attribute(True)), sound=_with_noise(STEP, _attribute(False)),
    ),
)  # fmt: skip
