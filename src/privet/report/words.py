"""The meaning of a price for one person, in words that are true."""

from privet.accounting import Bound
from privet.privacy import Unit
from privet.report.meaning import Meaning
from privet.report.numbers import percent_up, plain, round_down, round_up

_NO_LIMIT = 20.0  # beyond this epsilon even one in a million grows to near certainty

_HYPOTHESIS = {
    "add_remove": "that you are in the data",
    "replace": "between two versions of your record",
    "zero_out": "that your record was used",
}


def meaning_in_words(meaning: Meaning, unit: Unit) -> tuple[str, ...]:
    """One sentence a fact: odds, best guess, rare alarms, delta. Upper bounds are rounded up, never down.

    **Guarantee:** the first sentence compares the result with an experiment that it garbles (see `Meaning`), which is
    what (epsilon, delta) means for every event at once; "the odds stay within e^epsilon with probability 1 - delta"
    would be false. **Reference:** Kairouz, Oh & Viswanath 2015; Kifer et al. 2022 on explaining it.

    >>> from privet import privacy
    >>> from privet.report.meaning import what_it_means
    >>> loss = privacy.PureLoss(1.0)
    >>> print(meaning_in_words(what_it_means(loss, epsilon=1.0, delta=0.0), loss.unit)[0])
    Odds: whatever is published, it changes anyone's odds that you are in the data by a factor of at most 2.719
    (e^epsilon). An attacker who starts at even odds (50%) ends at 73.2% at most.
    """
    return (_odds(meaning, unit), _guess(meaning), _alarms(meaning), _delta(meaning))


def _odds(meaning: Meaning, unit: Unit) -> str:
    about = _HYPOTHESIS[unit.relation] if unit.group_size == 1 else f"about your group of {unit.group_size} records"
    if meaning.epsilon > _NO_LIMIT:
        return (
            f"Odds: epsilon {plain(round_up(meaning.epsilon))} lets odds {about} change by a factor of "
            "e^epsilon, a number of nine digits or more: as a promise about one person it is empty."
        )
    factor = f"by a factor of at most {plain(round_up(meaning.odds_factor, 4))} (e^epsilon)"
    belief = f"starts at even odds (50%) ends at {percent_up(meaning.posterior)} at most"
    if meaning.delta == 0.0:
        return f"Odds: whatever is published, it changes anyone's odds {about} {factor}. An attacker who {belief}."
    return (
        f"Odds: the result tells nobody more than an oracle would that reveals everything with probability "
        f"{plain(meaning.delta)} and otherwise changes the odds {about} {factor}. "
        f"In that other case an attacker who {belief}."
    )


def _guess(meaning: Meaning) -> str:
    return (
        f"Best guess: at even odds, the best attack there can be is right {percent_up(meaning.accuracy)} of the time "
        f"at most (a coin: 50%). Its true-positive rate exceeds its false-positive rate by at most "
        f"{plain(round_up(meaning.advantage, 4))}."
    )


def _alarms(meaning: Meaning) -> str:
    return (
        f"Rare alarms: an attack that accuses {percent_up(meaning.fpr)} of the innocent finds you with probability "
        f"{percent_up(meaning.tpr)} at most (pure chance: {percent_up(meaning.fpr)})."
    )


def _delta(meaning: Meaning) -> str:
    if meaning.delta == 0.0:
        return "Delta: it is 0, so there is no exception to the odds."
    people = plain(round_up(1.0 / meaning.delta, 2))
    return (
        f"Delta: {plain(meaning.delta)} is the share that may escape the promise. Keep it far below one over the "
        f"number of people: this one suits far fewer than {people} of them."
    )


# --- the answer ----------------------------------------------------------------------------------------------------


def answer_in_words(bound: Bound, *, answer: str, asked: str, given: float) -> str:
    """The certified enclosure in one line; rounding never narrows it.

    >>> from privet import accounting, privacy
    >>> bound = accounting.epsilon(privacy.GaussianLoss(1.0), delta=1e-5)
    >>> answer_in_words(bound, answer="epsilon", asked="delta", given=1e-5)
    'epsilon is at most 4.37718 at delta 1e-05, and at least 4.37717: certified on both sides'
    """
    upper = plain(round_up(bound.upper, 6))
    head = f"{answer} is at most {upper} at {asked} {plain(given)}"
    if bound.upper == 0.0:
        return f"{head}: it is free"
    if bound.lower <= 0.0:
        return f"{head} (no lower end: the release is known through upper bounds only, or this method gives none)"
    return f"{head}, and at least {plain(round_down(bound.lower, 6))}: certified on both sides"
