"""Laws of accountants: counting, order of the ends, monotony, soundness against enumeration."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from privet import privacy
from privet.accounting import PLD, Accountant, Bound, Optimal, Tightest
from privet.privacy import PrivacyLoss
from privet.testing.ask import DELTA, accountants, delta_of, epsilon_of, variable_of
from privet.testing.labelled import Labelled
from privet.testing.law import law_of
from privet.testing.oracle import enclose_delta

_CLOSED = 1e-6  # relative: the order of a Rényi bound is searched numerically


def _slack(accountant: Accountant) -> float:
    """Relative accuracy that an accountant aims at."""
    return max(_CLOSED, 5.0 * getattr(accountant, "tol", 0.0))


def _name(accountant: Accountant) -> str:
    return type(accountant).__name__


def _compatible(one: Bound | None, other: Bound | None, slack: float, law: str) -> None:
    """Both refuse, or the intervals meet and the upper ends agree within the accuracy aimed at."""
    assert (one is None) == (other is None), f"{law}: one side answers {one or other}, the other refuses"
    if one is None or other is None:
        return
    meet = one.lower <= other.upper * (1.0 + 1e-9) + 1e-12 and other.lower <= one.upper * (1.0 + 1e-9) + 1e-12
    assert meet, f"{law}: [{one.lower}, {one.upper}] and [{other.lower}, {other.upper}] are disjoint"
    near = abs(one.upper - other.upper) <= slack * max(one.upper, other.upper, 0.01)
    assert near, f"{law}: upper ends {one.upper} and {other.upper}"


@law_of("accountant")
def check_counts(loss: PrivacyLoss, accountant: Accountant, times: int = 3) -> None:
    """n single compositions cost what one n-fold does, for this accountant; so do n singles that cannot be merged.

    >>> from privet import accounting
    >>> check_counts(privacy.LaplaceLoss(2.0), accounting.Rdp())
    """
    folded = privacy.Repeated(loss, times)
    number = epsilon_of(accountant, folded)
    singles = epsilon_of(accountant, privacy.Composed((loss,) * times))
    law = f"{times} singles are one {times}-fold, {_name(accountant)}, {loss!r}"
    assert singles == number, f"{law}: {singles} != {number}"
    parts = [part for part, count in folded.parts() for _ in range(min(count, 25))]
    if len(parts) > 24 or isinstance(accountant, Optimal):  # optimal composition takes equal parts only
        return
    labelled = privacy.Composed([Labelled(part, index) for index, part in enumerate(parts)], unit=loss.unit)
    _compatible(epsilon_of(accountant, labelled), number, _slack(accountant), law)


@law_of("accountant")
def check_bounds(loss: PrivacyLoss, accountant: Accountant) -> None:
    """Every answer is a finite interval in its range, about the unit of the loss; its float is the upper end.

    >>> from privet import accounting
    >>> check_bounds(privacy.LaplaceLoss(2.0), accounting.Basic())
    """
    answers = [(epsilon_of(accountant, loss, delta), 1e300) for delta in (1e-9, 0.1)]
    answers += [(delta_of(accountant, loss, epsilon), 1.0) for epsilon in (0.3,)]
    for bound, top in answers:
        if bound is None:
            continue
        law = f"bounds, {_name(accountant)}, {loss!r}, {bound}"
        assert 0.0 <= bound.lower <= bound.upper <= top, f"{law}: ends out of order"
        assert float(bound) == bound.upper, f"{law}: the float is not the safe end"
        assert bound.unit == loss.unit, f"{law}: speaks about {bound.unit}"
        assert bound.method, f"{law}: names no method"


@law_of("accountant")
def check_targets_monotone(loss: PrivacyLoss, accountant: Accountant) -> None:
    """A larger delta never needs a larger epsilon, a larger epsilon never a larger delta.

    >>> from privet import accounting
    >>> check_targets_monotone(privacy.GaussianLoss(2.0), accounting.Gdp())
    """
    by_delta = [(delta, epsilon_of(accountant, loss, delta)) for delta in (1e-9, 1e-5, 0.1)]
    by_epsilon = [(epsilon, delta_of(accountant, loss, epsilon)) for epsilon in (0.0, 0.3)]
    for row in (by_delta, by_epsilon):
        _never_rises(
            row, accountant, lambda x, y: f"targets are monotone, {_name(accountant)}, {loss!r}, between {x} and {y}"
        )


def _never_rises(
    row: Sequence[tuple[Any, Bound | None]], accountant: Accountant, law: Callable[[Any, Any], str]
) -> None:
    """Along the row an answer stays an answer, and no larger one, up to what the accountant may be off by."""
    for (x, one), (y, other) in itertools.pairwise(row):
        if one is None:
            continue
        assert other is not None, f"{law(x, y)}: answers the harder question and refuses the easier one"
        assert other.lower <= one.upper * (1.0 + 1e-9) + 1e-15, f"{law(x, y)}: certified [{one}] then [{other}]"
        allowed = one.upper * (1.0 + _slack(accountant)) + 1e-12
        assert other.upper <= allowed, f"{law(x, y)}: {one.upper} rises to {other.upper}"


@law_of("losses")
def check_never_costs_more(
    make: Callable[[Any], PrivacyLoss], parameters: Sequence[Any], accountant: Accountant
) -> None:
    """Along the parameters (more noise, fewer steps, smaller q, smaller group) the price never rises.

    >>> from privet import accounting
    >>> check_never_costs_more(privacy.LaplaceLoss, (1.0, 2.0, 3.0), accounting.Rdp())
    """
    questions: tuple[Callable[[PrivacyLoss], Bound | None], ...] = (
        lambda loss: epsilon_of(accountant, loss),
        lambda loss: delta_of(accountant, loss, 0.3),
    )
    for ask in questions:
        row = [(parameter, ask(make(parameter))) for parameter in parameters]
        _never_rises(
            row, accountant, lambda x, y: f"never costs more, {_name(accountant)}, {make(x)!r} then {make(y)!r}"
        )


@law_of("losses")
def check_costs_nothing(loss: PrivacyLoss, accountant: Accountant) -> None:
    """A free price (no steps, q = 0, infinite noise) is free for every question and accountant.

    >>> from privet import accounting
    >>> check_costs_nothing(privacy.Repeated(privacy.GaussianLoss(1.0), 0), accounting.Tightest())
    """
    assert loss.pure() == 0.0, f"{loss!r} should be free but pure() is {loss.pure()}"
    assert float(loss.profile(0.0)) == 0.0, f"{loss!r} should be free but its total variation is {loss.profile(0.0)}"
    for bound in (epsilon_of(accountant, loss), delta_of(accountant, loss, 0.0)):
        law = f"free, {_name(accountant)}, {loss!r}"
        assert bound is not None, f"{law}: refused"
        assert bound.lower == 0.0, f"{law}: costs at least {bound.lower}"
        assert bound.upper == 0.0, f"{law}: costs {bound.upper}"


@law_of("accountant")
def check_answers_where_it_can(loss: PrivacyLoss, accountant: Accountant) -> None:
    """PLD and the default accountant answer whenever every part has a pair that leaves room below the target.

    >>> from privet import accounting
    >>> check_answers_where_it_can(privacy.LaplaceLoss(2.0), accounting.PLD())
    """
    if not isinstance(accountant, PLD | Tightest):
        return
    failure = 0.0
    for part, count in loss.parts():
        variables = [variable_of(part, "remove"), variable_of(part, "add")]
        if variables[0] is None or variables[1] is None:
            return
        failure += count * max(variable.p_only for variable in variables if variable is not None)
    if failure < DELTA / 2.0:
        law = f"answers where it can, {_name(accountant)}, {loss!r}"
        assert epsilon_of(accountant, loss) is not None, f"{law}: refuses the epsilon at {DELTA}"
        assert delta_of(accountant, loss, 0.3) is not None, f"{law}: refuses the delta at 0.3"


@law_of("accountant")
def check_question_round_trip(loss: PrivacyLoss, accountant: Accountant) -> None:
    """delta(epsilon(delta)) is delta: from the safe end not more, from the lower end not less.

    >>> from privet import accounting
    >>> check_question_round_trip(privacy.GaussianLoss(2.0), accounting.Gdp())
    """
    bound = epsilon_of(accountant, loss)
    if bound is None:
        return
    law = f"question and answer, {_name(accountant)}, {loss!r}, epsilon {bound}"
    back = delta_of(accountant, loss, bound.upper)
    assert back is not None, f"{law}: delta at the upper end is refused"
    allowed = DELTA * (1.0 + max(1e-2, _slack(accountant)))
    assert back.upper <= allowed, f"{law}: delta at the upper end is {back.upper}, the target was {DELTA}"
    if bound.lower > 1e-9:
        below = delta_of(accountant, loss, bound.lower * (1.0 - 1e-9))
        assert below is not None, f"{law}: delta at the lower end is refused"
        assert below.upper >= DELTA * (1.0 - 1e-6), f"{law}: delta at the lower end is only {below.upper}"


@law_of("accountant")
def check_sound(loss: PrivacyLoss, accountant: Accountant, epsilons: Sequence[float] = (0.0, 0.3, 1.0)) -> None:
    """The exact value, known by enumeration, lies between the ends.

    Where a part's pair is only a bound (not `exact`), other accountants may know better than it: only PLD is held to it.

    >>> from privet import accounting
    >>> check_sound(privacy.Repeated(privacy.LaplaceLoss(2.0), 2), accounting.PLD())
    """
    attained = all(part.exact for part, _ in loss.parts())
    if not attained and not isinstance(accountant, PLD):
        return
    law = f"sound, {_name(accountant)}, {loss!r}"
    for epsilon in epsilons:
        truth, bound = enclose_delta(loss, epsilon), delta_of(accountant, loss, epsilon)
        if truth is None or bound is None:
            continue
        assert bound.upper >= truth[0], f"{law}: delta({epsilon}) <= {bound.upper} claimed, at least {truth[0]} is true"
        assert bound.lower <= truth[1], f"{law}: delta({epsilon}) >= {bound.lower} claimed, at most {truth[1]} is true"
    for delta in (DELTA, 1e-2):
        number = epsilon_of(accountant, loss, delta)
        above = None if number is None else enclose_delta(loss, number.upper)
        if number is None or above is None:
            continue
        assert above[0] <= delta, (
            f"{law}: epsilon({delta}) <= {number.upper} claimed, where delta is at least {above[0]}"
        )
        below = enclose_delta(loss, number.lower * (1.0 - 1e-9)) if number.lower > 1e-9 else None
        if below is not None:
            assert below[1] >= delta, f"{law}: epsilon({delta}) >= {number.lower} claimed, where delta is {below[1]}"


@law_of("loss")
def check_not_below_pld(loss: PrivacyLoss, others: Sequence[Accountant] | None = None) -> None:
    """No accountant's upper end lies below the certified lower end of PLD, and no lower end above its upper one.

    Any number of steps will do here: nothing is enumerated. Where a part's pair is only a bound, PLD claims no lower end.

    >>> from privet import accounting
    >>> check_not_below_pld(privacy.Repeated(privacy.LaplaceLoss(2.0), 20), [accounting.Rdp()])
    """
    if not all(part.exact for part, _ in loss.parts()):
        return
    questions: tuple[Callable[[Accountant], Bound | None], ...] = (
        lambda accountant: epsilon_of(accountant, loss, DELTA),
        lambda accountant: epsilon_of(accountant, loss, 1e-2),
        lambda accountant: delta_of(accountant, loss, 0.0),
        lambda accountant: delta_of(accountant, loss, 0.2),
    )
    for ask in questions:
        floor = ask(PLD(1e-2))
        for accountant in others or accountants():
            bound = ask(accountant)
            if bound is None or floor is None:
                continue
            law = f"not below PLD, {_name(accountant)}, {loss!r}"
            assert bound.upper >= floor.lower * (1.0 - 1e-9), f"{law}: {bound.upper} < certified {floor.lower}"
            allowed = floor.upper * (1.0 + 1e-9) + 1e-15
            assert bound.lower <= allowed, f"{law}: lower end {bound.lower} > certified {floor.upper}"
