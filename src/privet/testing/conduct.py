"""The conduct of a mechanism: where its coins come from, whether its bars hold, and what it says.

>>> from privet import mechanisms, testing
>>> testing.check_every_coin_is_from_noise(next(iter(mechanisms.Laplace.examples())))
"""

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from privet._numerics import Array, special
from privet.errors import PrivetError
from privet.mechanisms import Example, SelectionMechanism
from privet.noise import Seeded, Source
from privet.noise.entropy import Stream
from privet.testing.law import law_of
from privet.testing.same import opened, same_value
from privet.testing.worlds import worlds_of

_RUNS = 150  # of `simulate`, twice with one source: a foreign coin shows in one of them, even if it seldom counts
_SINGLE = 40  # of `release`, each with a source of its own, twice: they cost more
_RELEASES = 400  # a bar of half the width is then noticed
_LEVEL = 1e-8  # the chance that sound bars fail: laws are run thousands of times
_FEW = 6  # releases of a costly example: the chance that all of them miss bars of 95% is 2e-8,
_LEVEL_OF_FEW = 1e-7  # which is noticed at this level
_RUNS_FOR_MIDDLE = 4_000  # their median stands for the exact answer: it is off by little beside a bar
_SECRET = 73_519_482.0625  # a value that nothing public would show by chance
_WORD = "Zaphod-73519482"
_MARKS = (
    "7351948",
    "73_519_482",
    "73,519,482",
    "7.35",
    "7.4e+07",
    "7e+07",
)  # of both: cut short, with thousands marked, rounded


class _Nameless(Source):
    """A source that does not say whether it is secure."""

    def stream(self) -> Stream:
        return Seeded(3).stream()


@law_of("mechanism")
def check_every_coin_is_from_noise(example: Example) -> None:
    """The same outputs, run for run, from the same source: no coin comes from anywhere else.

    A source that does not say that it is secure is stamped insecure.

    >>> from privet.mechanisms import Laplace
    >>> check_every_coin_is_from_noise(next(iter(Laplace.examples())))
    """
    mechanism = example.mechanism
    foreign = f"{mechanism.name}: a release uses coins from outside the given source"
    if example.cost == "costly":
        assert same_value(*(release.value for release in worlds_of(example).seeded())), foreign
    else:
        for value in (example.left, example.right):
            many, single = partial(_simulated, mechanism, value), partial(_released, mechanism, value)
            assert _repeats(many), f"{mechanism.name}: many runs use coins from outside the given source"
            assert _repeats(single), foreign
    assert mechanism.release(example.left, source=_Nameless()).insecure, (
        f"{mechanism.name}: a source that does not say that it is secure counts as secure"
    )


def _simulated(mechanism: Any, value: object) -> Any:
    return mechanism.simulate(value, _RUNS, source=Seeded(11))


def _released(mechanism: Any, value: object) -> list[Any]:
    return [mechanism.release(value, source=Seeded(seed)).value for seed in range(_SINGLE)]


def _repeats(runs: Callable[[], Any]) -> bool:
    """True if outputs of the same source agree, at one of three tries.

    A sampler that has been asked often may change to a table, which uses the bits of the source in another way. Outputs
    before and after that differ; those of the next try agree.
    """
    return any(all(same_value(*pair) for pair in zip(runs(), runs(), strict=True)) for _ in range(3))


@law_of("mechanism")
def check_error_bars_cover(example: Example) -> None:
    """Of 400 releases about as many lie within their bars as the bars say: a bar of half the width is noticed.

    The exact answer is that of the example, else taken as the middle of 4,000 further runs; for choices, the scores are
    known. A costly example has 6 releases: bars that hold none of them are noticed. Bars by cell, by
    column and by side are held to what they say: all cells at once, or each by itself where they are not `joint`.

    >>> from privet.mechanisms import Laplace
    >>> check_error_bars_cover(next(iter(Laplace.examples())))
    """
    mechanism = example.mechanism
    costly = example.cost == "costly"
    if costly and example.exact is None:
        return  # nothing to hold the bars against
    if not costly and mechanism.release(example.left).error is None:
        return  # one release tells that there are no bars
    releases = worlds_of(example).left(_FEW) if costly else [mechanism.release(example.left) for _ in range(_RELEASES)]
    if any(release.error is None for release in releases):
        return
    inside = _inside(example, releases)
    if inside is not None:
        assert_covers(mechanism.name, inside, releases[0].error, level=_LEVEL_OF_FEW if costly else _LEVEL)


def _inside(example: Example, releases: list[Any]) -> Array | None:
    """True for each cell (a column) of each release (a row) that lies within its bar; None where there is nothing to
    compare with: bars that do not lie around the value are checked for choices only, whose scores are known."""
    mechanism, bar = example.mechanism, releases[0].error
    if all(release.error.around for release in releases):
        if example.exact is not None:
            middle = _measured(opened(example.exact), bar)
        else:
            runs = [_measured(run, bar) for run in mechanism.simulate(example.left, _RUNS_FOR_MIDDLE)]
            middle = np.nanmedian(np.array(runs, dtype=float), axis=0)  # a refusal is NaN
        return np.array([within_bar(release, middle) for release in releases])
    if isinstance(mechanism, SelectionMechanism) and not bar.around:
        return np.array([[_near_the_best(mechanism, example.left, release)] for release in releases])
    return None


def assert_covers(name: str, inside: Array, bar: Any, *, level: float = _LEVEL) -> None:
    """A check that bars hold as often as they say: `inside` has a row for each release and a column for each cell.

    With a chance of `level` at most, sound bars fail it.

    >>> from privet.mechanisms import ErrorBar
    >>> assert_covers("a sound one", np.ones((400, 2), dtype=bool), ErrorBar([1.0, 2.0], 0.95))
    """
    held: Array = np.all(inside, axis=1)[:, None] if bar.joint else inside
    fewest, releases = int(held.sum(axis=0).min()), len(held)
    # Pr[fewer than this many inside] at the stated confidence, by the binomial law, for the worst of the cells
    chance = held.shape[1] * float(special().bdtr(fewest, releases, bar.confidence))
    assert chance > level, f"{name}: {fewest} of {releases} releases within bars of {bar.confidence:g}"


def within_bar(release: Any, middle: Array) -> Array:
    """True for each number whose bar holds the exact one, which is its number in `middle`. The bar is that of the noise
    alone, without what it allows for bias.

    >>> from privet.mechanisms import ErrorBar, Release
    >>> from privet.privacy import PureLoss
    >>> within_bar(Release(np.array([1.0, 5.0]), PureLoss(1.0), ErrorBar([0.5, 3.0], 0.9)), np.zeros(2)).tolist()
    [False, False]
    """
    bar = release.error
    value = opened(_named(release.value, bar))
    if isinstance(bar.radius, Mapping):
        low, high = (
            np.concatenate([np.ravel(end) for end in ends.values()]) for ends in bar.interval(value, bias=False)
        )
    else:
        low, high = (np.ravel(end) for end in bar.interval(_picked(value, bar), bias=False))
    slack = 1e-9 * (high - low)
    inside: Array = (low - slack <= middle) & (middle <= high + slack)
    return inside


def _measured(value: Any, bar: Any) -> Array:
    """The numbers that a bar speaks about, in one row."""
    value = opened(_named(value, bar))
    if isinstance(bar.radius, Mapping):
        return np.concatenate([np.ravel(np.asarray(value[name], dtype=float)) for name in bar.radius])
    return _picked(value, bar).reshape(-1)


def _named(value: Any, bar: Any) -> Any:
    """The subject of the bar, where that is an attribute of the value."""
    plain = isinstance(value, Mapping | np.ndarray) or not bar.of.isidentifier()
    return value if plain else getattr(value, bar.of, value)


def _picked(value: Any, bar: Any) -> Array:
    """Of several named values the one in `of`, or all of them."""
    if isinstance(value, Mapping):
        value = value[bar.of] if bar.of in value else [item for item in value.values() if not isinstance(item, str)]
    return np.asarray(value, dtype=float)


def _near_the_best(mechanism: SelectionMechanism, scores: Any, release: Any) -> bool:
    """True if no choice lies further below the best scores than its bar says."""
    known = list(range(len(scores))) if mechanism.candidates is None else list(mechanism.candidates)
    chosen = release.value if isinstance(release.value, tuple | list) else [release.value]
    worst = min(float(scores[known.index(item)]) for item in chosen)
    best = sorted(map(float, scores))[-len(chosen)]
    return best - worst <= release.error.radius


@law_of("mechanism")
def check_nothing_private_is_said(example: Example) -> None:
    """Whatever is handed in, no message, warning, log line or print repeats a value of it; a refusal is one of ours.

    >>> from privet.mechanisms import Laplace
    >>> check_nothing_private_is_said(next(iter(Laplace.examples())))
    """
    mechanism: Any = example.mechanism
    for value in _marked(example.left):
        if example.cost == "costly" and _taken(mechanism, value):
            continue  # a run of it takes long, and inputs of the right kind are left to `check_replay_sees_nothing`
        said, refusal = _overheard(mechanism, value)
        kind = type(value).__name__
        assert refusal is None or isinstance(refusal, PrivetError), (
            f"{mechanism.name}: a {kind} raises a bare {type(refusal).__name__}"
        )
        spoken = any(mark in said for mark in _MARKS)
        assert not spoken, f"{mechanism.name}: a {kind} is repeated in what is said"


def _taken(mechanism: Any, value: object) -> bool:
    try:
        mechanism.check(value)
    except Exception:
        return False
    return True


def _marked(value: object) -> Iterator[Any]:
    """Inputs of many wrong kinds, and some of the right one, that hold a value which can be recognised."""
    yield from (_SECRET, int(_SECRET), _WORD, [_SECRET, _WORD], [[_SECRET], [_SECRET, 1.0]], {_WORD: _SECRET}, {_WORD})
    yield from (np.array([_SECRET, math.nan]), np.array([_WORD]), np.array([_SECRET, None], dtype=object))
    yield from (np.array([[_SECRET]]), np.float32(_SECRET), (item for item in (_SECRET, None)), [10**400, _SECRET])
    yield from ([None, _SECRET, math.inf], complex(_SECRET, 1.0), object(), None)
    if isinstance(value, list | tuple) and value:
        yield [*value[:-1], _SECRET]
        yield [*value[:-1], _WORD]


def _overheard(mechanism: Any, value: object) -> tuple[str, BaseException | None]:
    """The words that are printed, logged, warned of or raised during one release, as one text, and what was raised."""
    out, log = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    refusal: BaseException | None = None
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
        ):
            warnings.simplefilter("always")
            try:
                mechanism.release(value)
            except Exception as raised:
                refusal = raised
    finally:
        logging.getLogger().removeHandler(handler)
    texts = [out.getvalue(), log.getvalue(), *(str(warning.message) for warning in warned)]
    link: BaseException | None = refusal
    while link is not None:
        texts.append(f"{link!r} {link}")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\n".join(texts), refusal
