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

_RUNS = 150  # of `simulate`, twice with one source
_RELEASES = 400  # a bar of half the width is then noticed
_FEW = 6  # of a costly example: all of them outside of bars of 95% has a chance of 2e-8
_LEVEL = 1e-8  # the chance that sound bars fail: laws are run thousands of times
_SECRET = 73_519_482.0625  # a value that nothing public would show by chance
_WORD = "Zaphod-73519482"


class _Nameless(Source):
    """A source that does not say whether it is secure."""

    def stream(self) -> Stream:
        return Seeded(3).stream()


@law_of("mechanism")
def check_every_coin_is_from_noise(example: Example) -> None:
    """With a given source the outputs repeat, run for run: no coin comes from anywhere else. 150 runs leave no luck.

    A source that does not say that it is secure is stamped insecure.

    >>> from privet.mechanisms import Laplace
    >>> check_every_coin_is_from_noise(next(iter(Laplace.examples())))
    """
    mechanism = example.mechanism
    if example.cost == "costly":
        assert same_value(*(release.value for release in worlds_of(example).seeded())), (
            f"{mechanism.name}: a release uses coins from outside the given source"
        )
    for value in () if example.cost == "costly" else (example.left, example.right):

        def many(value: object = value) -> Any:
            return mechanism.simulate(value, _RUNS, source=Seeded(11))

        def single(value: object = value) -> Any:
            return [mechanism.release(value, source=Seeded(i)).value for i in range(40)]

        assert _repeats(many), f"{mechanism.name}: many runs use coins from outside the given source"
        assert _repeats(single), f"{mechanism.name}: a release uses coins from outside the given source"
    assert mechanism.release(example.left, source=_Nameless()).insecure, (
        f"{mechanism.name}: a source that does not say that it is secure counts as secure"
    )


def _repeats(runs: Callable[[], Any]) -> bool:
    """True if the same source gives the same outputs. A sampler may turn to a table once it has been asked often, which
    reads the bits otherwise: then the next two agree."""
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
    if example.exact is not None and all(release.error.around for release in releases):  # type: ignore[union-attr]
        middle = _measured(opened(example.exact), releases[0].error)
        inside = np.array([within_bar(release, middle) for release in releases])
    elif isinstance(mechanism, SelectionMechanism) and not releases[0].error.around:  # type: ignore[union-attr]
        inside = np.array([[_near_the_best(mechanism, example.left, release)] for release in releases])
    elif all(release.error.around for release in releases):  # type: ignore[union-attr]
        runs = [_measured(run, releases[0].error) for run in mechanism.simulate(example.left, 4_000)]
        middle = np.nanmedian(np.array(runs, dtype=float), axis=0)  # a refusal is NaN
        inside = np.array([within_bar(release, middle) for release in releases])
    else:
        return
    assert_covers(mechanism.name, inside, releases[0].error, level=_LEVEL if not costly else 10.0 * _LEVEL)


def assert_covers(name: str, inside: Array, bar: Any, *, level: float = _LEVEL) -> None:
    """So many of the cells (a column each) of so many releases (a row each) lie within bars of this confidence.

    >>> from privet.mechanisms import ErrorBar
    >>> assert_covers("a sound one", np.ones((400, 2), dtype=bool), ErrorBar([1.0, 2.0], 0.95))
    """
    held: Array = np.all(inside, axis=1)[:, None] if bar.joint else inside
    fewest, releases = int(held.sum(axis=0).min()), len(held)
    # Pr[fewer than this many inside] at the stated confidence, by the binomial law, for the worst of the cells
    chance = held.shape[1] * float(special().bdtr(fewest, releases, bar.confidence))
    assert chance > level, f"{name}: {fewest} of {releases} releases within bars of {bar.confidence:g}"


def within_bar(release: Any, middle: Array) -> Array:
    """Which numbers that the bar speaks about lie within it, the exact ones being given; noise alone, without the bias.

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
            continue  # a run of it takes long, and the right kind of input is seen by the replay
        said, refusal = _overheard(mechanism, value)
        kind = type(value).__name__
        assert refusal is None or isinstance(refusal, PrivetError), (
            f"{mechanism.name}: a {kind} raises a bare {type(refusal).__name__}"
        )
        spoken = any(mark in said for mark in ("73519482", "73_519_482", "73,519,482", "7351948", _WORD))
        assert not spoken, f"{mechanism.name}: a {kind} is repeated in what is said"


def _taken(mechanism: Any, value: Any) -> bool:
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


def _overheard(mechanism: Any, value: Any) -> tuple[str, BaseException | None]:
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
