"""The law of parameters: whatever is given to a public constructor is refused in words, or gives a sound object."""

import dataclasses
import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from privet import privacy
from privet.errors import InternalError, MixedUnits, PrivetError
from privet.mechanisms import Example, Mechanism, Sensitivity
from privet.privacy import PrivacyLoss
from privet.testing.law import law_of

_HUGE = 10**400  # beyond all doubles, and a Python number all the same
_LONGEST = 400  # characters of a message: a number of 400 digits is not quoted whole

# No number of any sort.
_NO_NUMBERS: tuple[Any, ...] = (
    "1.0", "one", "", b"1", True, np.True_, 1j, [1.0], [], {1.0}, {}, np.ones(1), np.ones((2, 2)), math.nan,
    np.float32("nan"), Decimal("NaN"), -math.inf, object(), float, privacy.PureLoss, len,
)  # fmt: skip
# Numbers that may be outside the domain: to be refused, or taken at their word.
_NUMBERS: tuple[Any, ...] = (
    0, 0.0, -0.0, -1, -1.0, -1e-300, 1, 0.5, 1.5, 2, 5e-324, 1e-300, 1e-59, 1e-40, 1e-17, 1e-9, 30.0, 699.0, 800.0, 1e5,
    1e40, 1e300, 2**60, 10**18, 10**30, _HUGE, -_HUGE, Fraction(_HUGE), Fraction(1, 3), Fraction(1, _HUGE), math.inf,
)  # fmt: skip
# Fewer of them, for constructors that search for the least noise: seconds for some healthy numbers.
_FAR_NUMBERS: tuple[Any, ...] = (
    0, -1, -1.0, 5e-324, 1e300, _HUGE, -_HUGE, Fraction(_HUGE), Fraction(1, _HUGE), math.inf,
)  # fmt: skip
_ELSEWHERE: tuple[Any, ...] = (None, 3, 0.5, "nonsense", "", b"x", 1j, math.nan, [None], {}, object(), privacy.PureLoss)
_ANYTHING = {"candidates", "labels"}  # lists of whatever an analyst calls his categories
# Kinds whose curves take seconds for wide noise or large counts: their statements are asked alone.
_SLOW_CURVES = {
    "composed",
    "discrete_gaussian",
    "random_allocation",
    "repeated",
    "skellam",
    "truncated_poisson_sampled",
    "with_replacement_sampled",
}
_FLAGS: tuple[Any, ...] = ("no", "false", "", None, 0, 1, 2, 0.0, [], math.nan, np.ones(1))


def check_call_refuses_nonsense(
    call: Callable[..., Any],
    sound: Callable[[Any], Iterable[str]] = lambda made: (),
    only: Iterable[str] = (),
    searches: bool = False,
    **healthy: object,
) -> None:
    """One call with each argument replaced by nonsense in turn (`only` some, if named): an error of privet that names the
    argument, or a result with which `sound` finds no fault. Another spelling of the same number gives the same result.
    A call that `searches` is asked fewer numbers.

    >>> from privet import accounting
    >>> check_call_refuses_nonsense(accounting.BasicFilter, epsilon=1.0)
    >>> check_call_refuses_nonsense(lambda scale: 1.0 / scale, scale=2.0)
    Traceback (most recent call last):
        ...
    AssertionError: scale=None raises TypeError, not an error of privet
    """
    plain = call(**healthy)
    also = ["budget", *(field.name for field in dataclasses.fields(plain))] if dataclasses.is_dataclass(plain) else []
    for name in tuple(only) or healthy:
        value = healthy[name]
        optional = _allows_none(call, name)
        for bad in _nonsense(value, _FAR_NUMBERS if searches else _NUMBERS):
            if not (bad is None and optional):
                _try(call, healthy, name, bad, sound, also)
        for same in _spellings(value):
            made = _made(call, {**healthy, name: same}, name)
            told = not isinstance(made, PrivetError) and _same(made, plain)
            assert told, f"{name}={same!r} of type {type(same).__name__} is not taken for {value!r}: {made!r:.200}"


def _try(
    call: Callable[..., Any], healthy: Mapping[str, Any], name: str, bad: object, sound: Any, also: list[str]
) -> None:
    """One replaced argument; a message may also name one of `also`, what the call computes from its arguments."""
    label = f"{name}={bad!r:.40}"
    made = _made(call, {**healthy, name: bad}, name)
    if isinstance(made, PrivetError):
        text = str(made)
        # A number may be fine by itself and clash with another argument: then that one may be named.
        named = [name] if _never(name, healthy[name], bad) else [*inspect.signature(call).parameters, *also]
        known = isinstance(made, MixedUnits) or any(
            re.search(rf"\b{_pattern(each)}\b", text, re.IGNORECASE) for each in named
        )
        assert known, f"{label} is refused without naming it: {text!r:.200}"
        assert len(text) <= _LONGEST, f"{label} is refused in {len(text)} characters"
        assert not isinstance(made, InternalError), f"{label} is called a bug of privet: {text!r:.200}"
        return
    assert not _never(name, healthy[name], bad), f"{label} is accepted"
    kept = getattr(made, name, bad)
    if _is_number(bad) and _is_number(kept):
        assert _near(kept, bad), f"{label} is silently taken for {kept!r:.40}"
    for fault in sound(made):
        raise AssertionError(f"{label} is accepted, and then {fault}")


def _made(call: Callable[..., Any], arguments: Mapping[str, Any], name: str) -> Any:
    try:
        return call(**arguments)
    except PrivetError as error:
        return error
    except Exception as error:
        told = f"{name}={arguments[name]!r:.40} raises {type(error).__name__}, not an error of privet"
        raise AssertionError(told) from error


def _pattern(name: str) -> str:
    """A parameter as a sentence may write it: `noise_multiplier` or "noise multiplier"."""
    return name.replace("_", "[_ ]") + "s?"


def _allows_none(call: Callable[..., Any], name: str) -> bool:
    parameter = inspect.signature(call).parameters.get(name)
    return parameter is not None and (parameter.default is None or "None" in str(parameter.annotation))


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _near(one: Any, other: Any) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-6)
    except OverflowError:
        return bool(one == other)


def _nonsense(value: object, numbers: tuple[Any, ...]) -> Iterator[Any]:
    """The values that are tried instead of a healthy value of this type; of a sequence, also in the place of each of
    two items."""
    if isinstance(value, bool):
        yield from _FLAGS
    elif _is_number(value):
        yield from (None, *_NO_NUMBERS, *numbers)
    elif isinstance(value, tuple) and value:
        yield from _ELSEWHERE
        for place in {0, len(value) - 1}:
            yield from ((*value[:place], bad, *value[place + 1 :]) for bad in _nonsense(value[place], numbers))
    else:
        yield from _ELSEWHERE


def _never(name: str, value: object, bad: Any) -> bool:
    """True if nonsense of this type cannot be meant: accepted, it would be taken for something else."""
    if name in _ANYTHING:
        return False
    if isinstance(value, tuple) and isinstance(bad, tuple) and len(value) == len(bad):
        changed = [(old, new) for old, new in zip(value, bad, strict=True) if old is not new]
        return any(_never(name, old, new) for old, new in changed if not isinstance(new, str))  # rationals may be texts
    if isinstance(value, bool):
        return True
    if _is_number(value):
        fraction = isinstance(value, Integral) and _is_number(bad) and bad in (0.5, 1.5, Fraction(1, 3), math.inf)
        return fraction or any(bad is other for other in (None, *_NO_NUMBERS))
    if isinstance(value, Sensitivity):  # a bare number is one, too
        return not _is_number(bad) or math.isnan(bad)
    return not isinstance(value, str | None) and bad is not None


def _spellings(value: object) -> Iterator[Any]:
    """The same number in other types."""
    if isinstance(value, bool) or not _is_number(value):
        return
    if isinstance(value, Integral):
        yield from (np.int64(value), np.int8(value)) if abs(int(value)) < 128 else ()
    elif isinstance(value, float):
        yield from (np.float64(value), Fraction(value)) if math.isfinite(value) else (np.float64(value),)
        if float(np.float32(value)) == value:
            yield np.float32(value)


def _same(one: object, other: object) -> bool:
    if isinstance(one, Mechanism) and isinstance(other, Mechanism):
        return one.to_dict() == other.to_dict()
    try:
        return bool(np.all(one == other)) or type(one) is type(other)  # a draw is no value to compare
    except ValueError:
        return True


def faults_of_a_loss(loss: PrivacyLoss) -> Iterator[str]:
    """The faults of a price, in words: an answer that is no number, negative or above what is possible, a form that
    JSON does not hold. A refusal to answer is no fault.

    >>> list(faults_of_a_loss(privacy.LaplaceLoss(2.0)))
    []
    """
    at = np.array([-1.0, 0.0, 1.0, 700.0, 1e4])
    least = np.maximum(0.0, -np.expm1(np.minimum(at, 0.0)))
    questions: dict[str, Callable[[], Any]] = {
        "pure": loss.pure,
        "approximate": loss.approximate,
        "zcdp": loss.zcdp,
        "gdp": loss.gdp,
    }
    if loss.kind not in _SLOW_CURVES:
        questions["rdp"] = lambda: (*(curve := loss.rdp(np.array([1.5, 2.0, 64.0]))).values, curve.delta0)
        questions["profile"] = lambda: loss.profile(at)
    for name, ask in questions.items():
        try:
            answers = np.atleast_1d(np.asarray(ask(), dtype=float))
        except InternalError as error:
            yield f"{name}() is called a bug of privet: {error}"
        except PrivetError:
            continue
        except Exception as error:
            yield f"{name}() raises {type(error).__name__}"
        else:
            if np.isnan(answers).any() or (answers < 0.0).any():
                yield f"{name}() answers {answers.tolist()}"
            elif name == "profile" and ((answers < least - 1e-12).any() or (answers > 1.0).any()):
                yield f"the profile is {answers.tolist()}"
            elif name == "profile" and (np.diff(answers) > 1e-12).any():
                yield f"the profile rises: {answers.tolist()}"
    if privacy.from_json(privacy.to_json(loss)) != loss:
        yield "it changes in JSON"


def faults_of_a_mechanism(mechanism: Mechanism[Any, Any]) -> Iterator[str]:
    """The faults of a mechanism's price and public form, in words.

    >>> from privet import mechanisms
    >>> list(faults_of_a_mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)))
    []
    """
    try:
        loss = mechanism.loss
    except PrivetError:
        return
    except Exception as error:
        yield f"its price raises {type(error).__name__}"
        return
    json.dumps(mechanism.to_dict(), allow_nan=False)
    for question in (loss.pure, lambda: loss.zcdp().rho):
        answer = question()
        if math.isnan(answer) or answer < 0.0:
            yield f"its price answers {answer}"


@law_of("loss", "mechanism")
def check_refuses_nonsense(member: PrivacyLoss | Example) -> None:
    """Every parameter of every public constructor, with NaN, infinity, text, None, truth values, arrays and numbers of any
    size in its place: refused by an error of privet that names it, or taken at its word and then a sound object.

    >>> check_refuses_nonsense(privacy.LaplaceLoss(2.0))
    """
    if isinstance(member, PrivacyLoss):
        arguments = _arguments(type(member), member)
        check_call_refuses_nonsense(type(member), faults_of_a_loss, **arguments)
        return
    example: Any = member
    if not isinstance(example.mechanism, Mechanism):  # an algorithm answers for the mechanisms that it calls
        return
    kind = type(example.mechanism)
    check_call_refuses_nonsense(kind, faults_of_a_mechanism, **_arguments(kind, member.mechanism))
    made: Any = getattr(kind, "for_budget", None)
    if member.target is not None and made is not None:
        healthy = _arguments(made, member.mechanism, member.target)
        check_call_refuses_nonsense(made, faults_of_a_mechanism, searches=True, **healthy)


def _arguments(call: Callable[..., Any], made: object, target: privacy.Guarantee | None = None) -> dict[str, Any]:
    """The arguments of a constructor, read off what it made: fields by their name, a promise from the target."""
    found: dict[str, Any] = {}
    promised = {field.name for field in dataclasses.fields(privacy.Guarantee)}  # it has methods, too: `share` is one
    for name, parameter in inspect.signature(call).parameters.items():
        holder = target if target is not None and name in promised else made
        value = getattr(holder, name, parameter.default)
        if name == "sensitivity" and target is not None:
            value = value.value
        if value is not None and value is not inspect.Parameter.empty:
            found[name] = value
    return found
