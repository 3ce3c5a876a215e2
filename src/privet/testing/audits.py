"""The audit as a law: a mechanism's own examples must survive the referee."""

import math
import time
from functools import cache
from typing import Any

from privet import accounting
from privet._numerics import bisect
from privet._validate import above
from privet.audit import Pairs, TrainingAudit, mechanism as audit_mechanism, replay, training
from privet.mechanisms import Algorithm, Example, Mechanism, registered_mechanisms
from privet.privacy import ApproxLoss, GaussianLoss, PrivacyLoss, PureLoss
from privet.privacy.families.normal import gaussian_delta
from privet.testing.rooms import load_rooms
from privet.testing.strange import strange_pairs

_FEWEST, _MOST, _PILOT = 3_000, 20_000, 300  # runs of a world, and those that tell how long one takes: power and time
_SECONDS = 0.15  # of CPU time for one world
_STRANGE = 2  # pairs with a strange record that a costly algorithm is replayed on: each is three runs
_MORE = 5  # times the runs where the first did not refute: a shift of 5 standard errors becomes one of 11


def check_survives_audit(example: Example, *, runs: int | None = None, alpha: float = 1e-6) -> None:
    """The price of the example is not refuted on its pair of neighbours.

    By default 20,000 runs a world, or fewer (at least 3,000) where simulating takes long. **Guarantee:** a sound mechanism
    fails with probability at most `alpha`.

    Of a costly example its pair is replayed, and one run is audited through the scores of its canaries, where it has some.
    A costly algorithm whose inputs are records is replayed with a strange one as well: a missing value, and an outlier.

    >>> from privet import mechanisms
    >>> check_survives_audit(next(iter(mechanisms.Laplace.examples())))
    """
    if example.cost == "costly":
        assert isinstance(example.mechanism, Algorithm) or example.score is not None, (
            f"{example.mechanism.name}: a costly example that is no Algorithm needs canaries and a score: nothing audits it"
        )
        others = strange_pairs(example)[:_STRANGE] if isinstance(example.mechanism, Algorithm) else []
        for left, right in [(example.left, example.right), *others]:
            seen = replay(example.mechanism.release, left, right, times=1)
            assert seen.verdict == "not refuted", str(seen)
        if example.score is not None:
            told = _one_run(example, example.mechanism.loss, alpha)
            assert told.verdict == "not refuted", str(told)
        return
    found = audit_mechanism(
        example.mechanism,
        neighbours=Pairs([(example.left, example.right)], checked=False),
        runs=_affordable(example) if runs is None else runs,
        alpha=alpha,
    )
    assert found.verdict == "not refuted", str(found)


def weaker_claim(loss: PrivacyLoss, share: float) -> PrivacyLoss:
    """A claim of only a share of a price: of epsilon where it is pure or stated with a delta, else of mu, which is that of
    the Gaussian mechanism with the same epsilon at a delta of 1e-5 where the price names none.

    >>> from privet.privacy import PureLoss
    >>> weaker_claim(PureLoss(2.0), 0.5).pure()
    1.0
    """
    share = above("share", share, 0.0)
    if isinstance(loss, ApproxLoss):
        return ApproxLoss(share * loss.epsilon, loss.delta, unit=loss.unit)
    mu, rho = loss.gaussian(), loss.zcdp()
    if mu is None and not math.isfinite(loss.pure()):
        mu = math.sqrt(2.0 * rho.rho) if math.isfinite(rho.rho) else _mu_like(loss)
    if mu is not None:
        return GaussianLoss(1.0 / (share * mu), unit=loss.unit)
    return PureLoss(share * loss.pure(), unit=loss.unit)


def _mu_like(loss: PrivacyLoss, delta: float = 1e-5) -> float:
    """The mu of the Gaussian mechanism that has the same epsilon at this delta."""
    epsilon = float(accounting.epsilon(loss, delta=delta))
    return bisect(lambda mu: float(gaussian_delta(mu, epsilon)) <= delta, 100.0, 1e-9)


def check_audit_can_fail(example: Example, *, runs: int = 20_000, alpha: float = 1e-6) -> None:
    """The audit of an example refutes a claim of only the share of its price that the example says it detects.

    An audit that refutes nothing proves nothing. At least half of the price must be refuted, unless the example argues.
    With `runs` runs a few of a hundred examples have bad luck, so that what is not refuted is looked at by more runs.

    >>> from privet import mechanisms
    >>> check_audit_can_fail(next(iter(mechanisms.Laplace.examples())))
    """
    assert 0.0 <= example.detects <= 0.5, f"{example.mechanism.name}: an example detects half of its price, or argues"
    if example.detects == 0.0 or (example.cost == "costly" and example.score is None):
        return  # told, and listed by the suite
    claim = weaker_claim(example.mechanism.loss, example.detects)
    if example.cost == "costly":
        told = _one_run(example, claim, alpha)
        assert told.verdict == "violated", (
            f"{example.mechanism.name}: {example.detects:g} of its price is not refuted: {told}"
        )
        return
    pair = Pairs([(example.left, example.right)], checked=False)
    for many in (runs, _MORE * runs):
        found = audit_mechanism(example.mechanism, claim=claim, neighbours=pair, runs=many, alpha=alpha)
        if found.verdict == "violated":
            return
    raise AssertionError(f"{example.mechanism.name}: {example.detects:g} of its price is not refuted: {found}")


def _one_run(example: Example, claim: PrivacyLoss, alpha: float) -> TrainingAudit:
    assert example.score is not None
    return training(
        lambda data: example.mechanism.release(data).value,
        example.canaries,
        example.score,
        claim=claim,
        data=example.left,
        otherwise=example.otherwise,
        runs=1 if len(example.canaries) > 1 else 20,
        alpha=alpha,
    )


def _affordable(example: Example) -> int:
    start = time.process_time()
    example.mechanism.simulate(example.left, _PILOT)
    each = (time.process_time() - start) / _PILOT
    return int(min(max(_SECONDS / max(each, 1e-9), _FEWEST), _MOST))


def assert_every_mechanism_has_examples() -> None:
    """Every registered mechanism brings examples, each with two different inputs: else nothing would audit it.

    >>> assert_every_mechanism_has_examples()
    """
    load_rooms()
    for name, kind in registered_mechanisms().items():
        apart = _told_apart(kind, getattr(kind.examples, "__func__", kind.examples))
        assert apart, f"{name} has no examples: add pairs of neighbouring inputs that strain it"
        assert all(apart), f"{name}: an example with two equal inputs audits nothing"


@cache
def _told_apart(kind: type[Mechanism[Any, Any]], made: object) -> tuple[bool, ...]:
    """One answer for each example: whether its inputs differ. Kept for the class and the function that makes them: many
    examples are calibrated, which takes seconds for all kinds together."""
    return tuple(_told(example.left) != _told(example.right) for example in kind.examples())


def _told(world: object) -> str:
    """An input as a text; one that hides what it holds says by itself what tells it from another."""
    content = getattr(type(world), "exact_content", None)
    return repr(world if content is None else content(world))
