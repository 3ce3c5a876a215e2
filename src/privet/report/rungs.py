"""The ladder from naive to tight: what each way of adding up proves about one and the same price."""

from collections.abc import Callable
from dataclasses import dataclass

from privet import accounting
from privet.accounting import Accountant
from privet.errors import NoGuarantee
from privet.privacy import GaussianLoss, PoissonSampled, PrivacyLoss, Unit


@dataclass(frozen=True)
class Step:
    """One rung: a method, what was claimed for it, what its formula gives, what it proves, and at which delta.

    `claimed` and `formula` are None where nobody claimed anything; `sound` is None where the method proves nothing.
    `whole` is False for a figure about one step, which is shown for orientation and is no price of the run.

    >>> Step("tight", None, None, 0.947, 1e-5, "composes the worst pair").sound
    0.947
    """

    name: str
    claimed: float | None
    formula: float | None
    sound: float | None
    delta: float
    note: str
    whole: bool = True


_METHODS: tuple[tuple[str, Callable[[], Accountant], str], ...] = (
    ("basic composition", accounting.Basic, "epsilons and deltas add up"),
    ("advanced composition", accounting.Advanced, "grows with the root of the steps"),
    ("zCDP", accounting.Zcdp, "one number for all Rényi orders"),
    ("RDP (moments)", accounting.Rdp, "Rényi divergences add up, best order"),
    ("GDP", accounting.Gdp, "Gaussian trade-off curve"),
    ("optimal composition", accounting.Optimal, "best for equal (epsilon, delta) parts"),
    ("PLD", accounting.PLD, "composes the worst pair itself"),
)

_PLAINLY = {  # what each analysis of DP-SGD does; the lectures' own notes speak of their formulas
    "per step": "one Gaussian release, not sampled",
    "naive": "epsilons and deltas add up, sampling is ignored",
    "advanced": "grows with the root of the steps, sampling is ignored; loose for a large epsilon a step",
    "advanced, sharp drift": "the same theorem with its drift computed sharply",
    "amplified": "each step is amplified by sampling, then advanced composition",
    "amplified, sharp drift": "the same with a sharp drift",
    "moments": "Rényi divergences of whole orders add up (2016)",
    "RDP today": "real orders and the tight conversion",
    "tight": "composes the worst pair itself: a certified interval",
}


def sampled_gaussian(loss: PrivacyLoss) -> tuple[float, float, int] | None:
    """(noise multiplier, q, steps) when the loss is Gaussian noise on Poisson samples, under add_remove; else None.

    >>> from privet import privacy
    >>> sampled_gaussian(privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000))
    (4.0, 0.01, 10000)
    """
    parts = loss.parts()
    if len(parts) != 1 or loss.unit != Unit():
        return None
    part, steps = parts[0]
    if isinstance(part, PoissonSampled) and isinstance(part.of, GaussianLoss) and part.of.mu > 0.0:
        return part.of.noise_multiplier, part.q, steps
    return None


def ladder_of(loss: PrivacyLoss, delta: float, *, as_lectured: bool = False) -> tuple[Step, ...]:
    """The ladder in epsilon at delta, from naive to tight: the analyses of DP-SGD in the order of their years, otherwise
    every method that proves something. `as_lectured` adds what lecture slides claim, for pages about the lectures.

    >>> from privet import privacy
    >>> sorted(step.name for step in ladder_of(privacy.Repeated(privacy.PureLoss(0.1), 100), 1e-6)[-2:])
    ['PLD', 'optimal composition']
    """
    shape = sampled_gaussian(loss)
    if shape is not None and delta > 0.0 and shape[2] > 1:
        try:
            return _dp_sgd(*shape, delta, as_lectured)
        except NoGuarantee:  # noise so small that the old formulas overflow
            pass
    if len(loss.alternatives()) > 1:  # blocks side by side: the costliest counts, whichever that is for each method
        return ()
    found = [step for method in _METHODS if (step := _step(loss, delta, *method)) is not None]
    return tuple(sorted(found, key=lambda step: -(step.sound or 0.0)))


def _dp_sgd(noise_multiplier: float, q: float, steps: int, delta: float, as_lectured: bool) -> tuple[Step, ...]:
    """Ten years of analyses of one run. Where the failure probabilities add up to 1 a method proves nothing."""
    from privet.report.lectures import ladder  # only here: most prices are no DP-SGD

    rungs = ladder(noise_multiplier, q=q, steps=steps, delta=delta)
    return tuple(
        Step(
            rung.name,
            rung.claimed if as_lectured else None,
            rung.as_formula if as_lectured else None,
            rung.sound.upper if rung.delta < 1.0 else None,
            rung.delta,
            rung.note if as_lectured else _PLAINLY[rung.name],
            whole=rung.name != "per step",
        )
        for rung in rungs
    )


def _step(loss: PrivacyLoss, delta: float, name: str, accountant: Callable[[], Accountant], note: str) -> Step | None:
    if delta == 0.0 and name != "basic composition":  # without a delta there is nothing to trade
        return None
    try:
        return Step(name, None, None, accountant().epsilon(loss, delta).upper, delta, note)
    except NoGuarantee:
        return None
