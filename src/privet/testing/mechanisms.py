"""The laws that every mechanism must pass, over its own examples; open to outside authors.

>>> from privet import mechanisms, testing
>>> for example in mechanisms.Laplace.examples():
...     for law in testing.MECHANISM_LAWS:
...         law(example)
"""

import copy
import dataclasses
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from privet.accounting import epsilon as epsilon_of
from privet.audit.observed import differing
from privet.errors import InvalidData
from privet.mechanisms import Algorithm, Example, Mechanism, Release, registered_mechanisms
from privet.privacy import PrivacyLoss, from_json, to_json
from privet.testing.law import law_of
from privet.testing.rooms import load_rooms
from privet.testing.same import form_of, memory_of, opened, same_value
from privet.testing.two_sample import differ
from privet.testing.worlds import worlds_of

_LEAST_USED = 0.99  # of a budget
_RELEASES, _SIMULATED = 800, 2_000  # outputs that are compared: half the noise in one of the two is noticed
_FEW = 50  # different outputs of 100 runs: below, they are compared as categories
_ASKED = 3_000  # streams: whether their threshold is noisy shows in a few answers of a hundred
_REPEATS = 200  # times 20 releases that are compared with the first one, until one differs
_LEVEL = 1e-7  # of a two-sample test: the chance that a sound mechanism fails it


def example_mechanisms() -> Iterator[Example]:
    """The examples of every registered mechanism.

    >>> len({example.mechanism.name for example in example_mechanisms()}) == len(registered_mechanisms())
    True
    """
    load_rooms()
    for mechanism in registered_mechanisms().values():
        yield from mechanism.examples()


@law_of("mechanism")
def check_price_is_a_value(example: Example) -> None:
    """The loss needs neither data nor randomness, is the same each time, and survives JSON.

    >>> check_price_is_a_value(next(example_mechanisms()))
    """
    loss = example.mechanism.loss
    assert isinstance(loss, PrivacyLoss), f"{example.mechanism.name}: the price is no PrivacyLoss"
    again: Any = example.mechanism
    if dataclasses.is_dataclass(again):  # a mechanism keeps its price: ask one that has not been asked
        again = dataclasses.replace(again)  # type: ignore[type-var]
    assert loss == again.loss, f"{example.mechanism.name}: two looks at the price differ"
    assert hash(loss) == hash(example.mechanism.loss), f"{example.mechanism.name}: the price does not hash alike"
    assert from_json(to_json(loss)) == loss, f"{example.mechanism.name}: the price changes in JSON"


@law_of("mechanism")
def check_parameters_are_frozen(example: Example) -> None:
    """Nobody can lower the noise of a mechanism that was priced; its public form tells two mechanisms apart, and what it
    keeps after a release is the same for neighbours (of algorithms, `check_replay_sees_nothing` sees that).

    >>> check_parameters_are_frozen(next(example_mechanisms()))
    """
    mechanism = example.mechanism
    for field in dataclasses.fields(mechanism):  # type: ignore[arg-type]
        try:
            setattr(mechanism, field.name, None)
        except dataclasses.FrozenInstanceError:
            continue
        raise AssertionError(f"{mechanism.name}: {field.name} can be overwritten")
    text = json.dumps(mechanism.to_dict(), sort_keys=True)
    again = copy.deepcopy(mechanism)
    assert json.dumps(again.to_dict(), sort_keys=True) == text, f"{mechanism.name}: a copy is another mechanism"
    assert again.loss == mechanism.loss, f"{mechanism.name}: a copy has another price"
    if example.cost == "costly" or isinstance(mechanism, Algorithm):
        return
    sides = copy.deepcopy(mechanism), copy.deepcopy(mechanism)
    for own, value in zip(sides, (example.left, example.right), strict=True):
        own.release(value)
    kept = differing(memory_of(sides[0]), memory_of(sides[1]), "its memory")
    assert not kept, f"{mechanism.name}: it keeps something of its input, or of its noise: {', '.join(kept)}"


@law_of("mechanism")
def check_meets_its_budget(example: Example) -> None:
    """The mechanism from `for_budget` stays within the budget and uses at least 99% of it.

    >>> check_meets_its_budget(next(example_mechanisms()))
    """
    target, loss, name = example.target, example.mechanism.loss, example.mechanism.name
    if target is None:
        return
    # by what the price says itself, else by the accountant that it was calibrated with, which may know more
    within = target.covers(loss)
    if not within and target.epsilon is not None and target.delta > 0.0:
        within = epsilon_of(loss, delta=target.delta).upper <= target.epsilon
    assert within, f"{name}: the price exceeds {target}"
    if target.rho is not None:
        used = loss.zcdp().rho / target.rho
    elif target.mu is not None:
        used = loss.gdp() / target.mu
    elif target.delta == 0.0:
        used = loss.pure() / (target.epsilon or 1.0)
    else:
        used = epsilon_of(loss, delta=target.delta).upper / (target.epsilon or 1.0)
    assert used >= _LEAST_USED, f"{name}: only {used:.4f} of the budget {target} is used"


@law_of("mechanism")
def check_behaviour_is_public(example: Example) -> None:
    """Type, dtype, shape, price and provenance of a release are the same for neighbours.

    >>> check_behaviour_is_public(next(example_mechanisms()))
    """
    worlds = worlds_of(example)
    left, right = worlds.left(1)[0], worlds.right(1)[0]
    for release in (left, right):
        assert isinstance(release, Release), f"{example.mechanism.name}: release() returns no Release"
        assert not release.insecure, f"{example.mechanism.name}: secure noise is stamped insecure"
    forms = [form_of(release.value, lengths=example.lengths == "public") for release in (left, right)]
    assert forms[0] == forms[1], f"{example.mechanism.name}: the form of the output depends on data"
    public = [(r.loss, r.mechanism, r.provenance) for r in (left, right)]
    assert public[0] == public[1], f"{example.mechanism.name}: the label of the output depends on data"
    assert left.loss == example.mechanism.loss, f"{example.mechanism.name}: the release names another price"


@law_of("mechanism")
def check_seed_is_stamped(example: Example) -> None:
    """A seeded release repeats itself and says that it protects nobody.

    >>> check_seed_is_stamped(next(example_mechanisms()))
    """
    first, again = worlds_of(example).seeded()
    assert first.insecure, f"{example.mechanism.name}: seeded noise is not stamped"
    assert same_value(first.value, again.value), f"{example.mechanism.name}: randomness from outside the given source"
    assert "INSECURE" in str(first), f"{example.mechanism.name}: the stamp cannot be seen"


@law_of("mechanism")
def check_release_round_trip(example: Example) -> None:
    """A release survives JSON bit for bit.

    >>> check_release_round_trip(next(example_mechanisms()))
    """
    release = worlds_of(example).left(1)[0]
    again = Release.from_json(release.to_json())
    assert same_value(release.value, again.value), f"{example.mechanism.name}: the value changes in JSON"
    assert again.loss == release.loss, f"{example.mechanism.name}: the price changes in JSON"
    assert again.error == release.error, f"{example.mechanism.name}: the error bar changes in JSON"


@law_of("mechanism")
def check_outputs_have_their_form(example: Example) -> None:
    """A release looks as the mechanism declares, and what is declared can be stored.

    >>> check_outputs_have_their_form(next(example_mechanisms()))
    """
    name, form = example.mechanism.name, example.mechanism.form
    assert form.refusal() is None, f"{name}: its outputs cannot be stored: {form.refusal()}"
    for value in (example.left, example.right):
        made = example.mechanism.release(value).value
        assert form.holds(made), f"{name}: an output has another form than the one that is declared"


@law_of("mechanism")
def check_error_bar_is_public(example: Example) -> None:
    """The mechanism's own error bar is no smaller at a higher confidence.

    >>> check_error_bar_is_public(next(example_mechanisms()))
    """
    low, high = (example.mechanism.error(confidence) for confidence in (0.5, 0.99))
    if low is None or high is None:
        assert low is high, f"{example.mechanism.name}: an error bar at one confidence only"
        return
    for name in ("radius", "below", "bias", "bias_below"):
        for narrow, wide in zip(_extents(getattr(low, name)), _extents(getattr(high, name)), strict=True):
            assert np.all(narrow <= wide), f"{example.mechanism.name}: more confidence, smaller bar"
            assert np.all(np.isfinite(wide)), f"{example.mechanism.name}: an infinite error bar"


def _extents(extent: object) -> list[Any]:
    """The distances of a bar, column by column."""
    if extent is None:
        return []
    return list(extent.values()) if isinstance(extent, Mapping) else [extent]


@law_of("mechanism")
def check_equal_numbers_are_one_input(example: Example) -> None:
    """The same numbers as ints, floats, Fractions, Decimals or numpy's, in one kind of container, are prepared alike:
    whatever type a neighbour's record brings along, it moves nothing but its own value.

    >>> check_equal_numbers_are_one_input(next(example_mechanisms()))
    """
    mechanism: Any = example.mechanism
    for value in (example.left, example.right):
        forms = []
        for kind in _KINDS:
            written = _written(value, kind)
            try:
                mechanism.check(written)
            except InvalidData:  # by its type: a float for a mechanism of integers
                continue
            forms.append((kind, mechanism._prepare(written)))
        for kind, prepared in forms[1:]:
            alike = _same_form(forms[0][1], prepared)
            assert alike, f"{mechanism.name}: {kind.__name__} is read otherwise than {forms[0][0].__name__}"


_KINDS: tuple[Any, ...] = (
    float,
    int,
    Fraction,
    Decimal,
    np.float64,
    np.float32,
    np.longdouble,
    np.int64,
    np.int32,
    bool,
)


def _written(value: Any, kind: Any) -> Any:
    """The same numbers in another type, where it holds them; the container stays what it is."""
    if isinstance(value, np.ndarray):
        if kind in (Fraction, Decimal):
            return value
        other = value.astype(kind)
        return other if np.array_equal(other, value) else value
    if isinstance(value, list | tuple):
        return [_written(item, kind) for item in value]
    if isinstance(value, Mapping):
        return {name: _written(item, kind) for name, item in value.items()}
    if not isinstance(value, Real | Decimal | np.bool_) or not np.isfinite(float(value)):
        return value  # what hides its numbers stays as it is
    try:
        other = kind(value)
    except (TypeError, ValueError, OverflowError):
        return value
    return other if other == value else value


def _same_form(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left.shape == right.shape and bool(np.all(left == right))
    if isinstance(left, tuple | list) and isinstance(right, tuple | list) and len(left) == len(right):
        return all(map(_same_form, left, right))
    return bool(left == right)


@law_of("mechanism")
def check_runs_are_independent(example: Example) -> None:
    """Noise is fresh: some run differs from the first. An output of probability 0.99 repeats itself so often with a chance
    below 1e-17, and most mechanisms differ at the second run. So do costly ones; one that answers about few records with
    all but one and the same value runs as often as any.

    >>> check_runs_are_independent(next(example_mechanisms()))
    """
    if example.cost == "costly":
        worlds = worlds_of(example)
        sides = [(side(many)[-1] for many in range(1, _REPEATS + 1)) for side in (worlds.left, worlds.right)]
    else:
        sides = [(example.mechanism.release(v) for _ in range(_REPEATS)) for v in (example.left, example.right)]
    for runs in sides:
        first = next(runs).value
        if any(not same_value(first, other.value) for other in runs):
            return
    raise AssertionError(f"{example.mechanism.name}: no noise at all")


@law_of("mechanism")
def check_simulation_is_the_release(example: Example) -> None:
    """The audited outputs are the released ones: `simulate` and `release` are the base class's own, and a two-sample
    test cannot tell their outputs apart. Nor those of a stream that is asked the same queries one by one.

    >>> check_simulation_is_the_release(next(example_mechanisms()))
    """
    mechanism: Any = example.mechanism
    value = example.left
    for name in ("release", "simulate"):
        own = getattr(type(mechanism), name) is getattr(Mechanism, name)
        assert own, f"{mechanism.name}: {name} is overridden, so that an audit need not run what a user gets"
    if example.cost == "costly":
        return  # too few runs for a two-sample test: the replay looks at what is released
    runs = mechanism.simulate(value, _SIMULATED)
    assert len(runs) == _SIMULATED, f"{mechanism.name}: simulate({_SIMULATED}) made {len(runs)} runs"
    enough = range(_releases_for(runs))
    single = [mechanism.release(value).value for _ in enough]
    if example.lengths == "public":
        same = _shape_of(runs[0]) == _shape_of(single[0])
        assert same, f"{mechanism.name}: a simulated run has another shape"
    assert not differ(single, runs, _LEVEL), f"{mechanism.name}: release and simulate draw from different laws"
    if hasattr(mechanism, "horizon"):  # a stream that counts
        asked = [[stream.add(each) for each in value] for stream in (mechanism.start() for _ in enough)]
        assert not differ(np.array(asked), runs, _LEVEL), (
            f"{mechanism.name}: a stream and simulate draw from different laws"
        )
    elif hasattr(mechanism, "start"):
        # near the threshold every answer is a fair coin: queries where the width of the noise decides
        far = [mechanism.threshold - width * mechanism.query_scale for width in (1.5, 1.0, 0.0)]
        asked, listed = [_asked(mechanism, far) for _ in range(_ASKED)], mechanism.simulate(far, 2 * _ASKED)
        assert not differ(asked, listed, _LEVEL), f"{mechanism.name}: a stream and simulate draw from different laws"


def _releases_for(runs: Any) -> int:
    """Outputs that seldom repeat are compared by their order, which shows half the noise in half as many releases."""
    return _RELEASES if len({repr(run) for run in runs[:100]}) < _FEW else _RELEASES // 2


def _asked(mechanism: Any, queries: Any) -> Any:
    """The answers of one stream, in the form of a release over the whole list."""
    stream, numbers = mechanism.start(), mechanism.answer_scale is not None or mechanism.gaps
    signs, values = np.full(len(queries), -1), np.full(len(queries), np.nan)
    for place, query in enumerate(queries):
        if stream.remaining:
            ask = stream.ask_gap if mechanism.gaps else stream.ask_number if numbers else stream.ask
            answer = ask(query)
            signs[place] = answer is not None if numbers else answer
            values[place] = np.nan if not numbers or answer is None else answer
    return (signs, values) if numbers else signs


def _shape_of(value: Any) -> Any:
    value = opened(value)
    if isinstance(value, dict):
        return {key: _shape_of(item) for key, item in value.items()}
    return [_shape_of(item) for item in value] if isinstance(value, tuple | list) else np.shape(value)
