"""Each check fails on a bug planted on purpose: what the tests of the statistics would notice."""

import dataclasses
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pytest

from privet import audit, noise
from privet.accounting.pld import profile_nodes
from privet.audit.statistics import bayes, canaries, clopper_pearson, curve, gaussian, sequential
from tests.audit.statistics import checks
from tests.firsts import slow

one_run, one_run_fdp = checks.one_run, checks.one_run_fdp
tradeoff = import_module("privet.accounting.tradeoff")


class Bug(NamedTuple):
    """A mistake by its name, the check that must see it, and how to make it."""

    name: str
    check: Callable[[], None]
    plant: Callable[[pytest.MonkeyPatch], None]


BUGS: list[Bug] = []


def bug(name: str, check: Callable[[], None]) -> Callable[[Callable], Callable]:
    def register(plant: Callable) -> Callable:
        BUGS.append(Bug(name, check, plant))
        return plant

    return register


def instead(patch: pytest.MonkeyPatch, owner: object, name: str, twist: Callable) -> None:
    """Replace owner.name by twist(the healthy one, *arguments)."""
    healthy = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **kwargs: twist(healthy, *args, **kwargs))


# --- one event in two worlds -------------------------------------------------------------------------------------


@bug("lower rate off by one", checks.check_rates_cover)
def _(patch):
    instead(patch, clopper_pearson, "rate_below", lambda f, k, n, alpha: f(np.minimum(np.asarray(k) + 1, n), n, alpha))


@bug("upper rate off by one", checks.check_rates_cover)
def _(patch):
    instead(patch, clopper_pearson, "rate_above", lambda f, k, n, alpha: f(np.maximum(np.asarray(k) - 1, 0), n, alpha))


@bug("alpha spent twice", checks.check_point_golden)
def _(patch):
    instead(patch, clopper_pearson, "point_epsilon", lambda f, *a, alpha, **kw: f(*a, alpha=2 * alpha, **kw))


@bug("worlds exchanged", checks.check_point_golden)
def _(patch):
    instead(patch, clopper_pearson, "point_epsilon", lambda f, tp, fp, n, m, **kw: f(fp, tp, m, n, **kw))


@bug("delta forgotten", checks.check_point_level)
def _(patch):
    instead(patch, clopper_pearson, "point_epsilon", lambda f, *a, delta, **kw: f(*a, delta=0.0, **kw))


@bug("four bounds at the price of two", checks.check_point_sees_the_other_order)
def _(patch):
    def both_at_half(f, tp, fp, n, m, two_sided=False, **kw):
        return np.maximum(f(tp, fp, n, m, **kw), f(fp, tp, m, n, **kw)) if two_sided else f(tp, fp, n, m, **kw)

    instead(patch, clopper_pearson, "point_epsilon", both_at_half)


@bug("larger of the two directions' curves", checks.check_curve_level)
def _(patch):
    def one_sided(loss, rates):
        nodes = profile_nodes(loss)
        return np.max([tradeoff._dual(*curve_nodes, np.asarray(rates)) for curve_nodes in nodes], axis=0)

    patch.setattr(curve, "tradeoff", one_sided)


@bug("observed instead of upper rate", checks.check_curve_level)
def _(patch):
    patch.setattr(curve, "rate_above", lambda k, n, alpha: np.asarray(k) / n + 0.0 * np.asarray(alpha))


@bug("bounds far wider than alpha asks for", checks.check_curve_power)
def _(patch):
    instead(patch, curve, "rate_above", lambda f, k, n, alpha: f(k, n, np.asarray(alpha) / 100.0))


@bug("absolute value of mu", checks.check_gaussian_level)
def _(patch):
    instead(patch, gaussian, "_separation", lambda f, fpr, fnr: np.abs(f(fpr, fnr)))


@bug("alpha spent twice on mu", checks.check_gaussian_power)
def _(patch):
    instead(patch, gaussian, "rate_above", lambda f, k, n, alpha: f(k, n, 2.0 * alpha))


@bug("flat prior", checks.check_bayes_against_draws)
def _(patch):
    def half_more(f, counts, *rest):
        # Counts are whole numbers; a flat prior is a Jeffreys prior with half an observation more of each kind.
        twin = dataclasses.replace(counts)
        for name in ("tp", "fp"):
            object.__setattr__(twin, name, getattr(counts, name) + 0.5)
        for name in ("n", "n_out"):
            object.__setattr__(twin, name, getattr(counts, name) + 1)
        return f(twin, *rest)

    instead(patch, bayes, "_false_positive_rates", half_more)
    instead(patch, bayes, "_both_hold", half_more)


@bug("delta forgotten in the posterior", checks.check_bayes_against_draws)
def _(patch):
    instead(patch, bayes, "_both_hold", lambda f, counts, rule, epsilon, delta: f(counts, rule, epsilon, 0.0))


# --- sequential ---------------------------------------------------------------------------------------------------


@bug("largest wealth instead of the average", checks.check_betting_level)
def _(patch):
    patch.setattr(sequential, "_average", lambda logs: logs.max(axis=1))


@bug("bet on the pair it has seen", checks.check_betting_level)
def _(patch):
    patch.setattr(sequential, "_earlier", lambda before, sums: sums)


@bug("delta forgotten in the payoff", checks.check_betting_level)
def _(patch):
    instead(patch, sequential, "fraction", lambda f, name, value: 0.0)


@bug("complement without exchanging the worlds", checks.check_betting_level)
def _(patch):
    patch.setattr(sequential, "_directions", lambda a, b: (np.hstack((a, 1 - a)), np.hstack((b, 0 * b))))


@bug("bets that stay timid", checks.check_betting_power)
def _(patch):
    patch.setattr(sequential, "_PRIOR", 1e4)


# --- one run ------------------------------------------------------------------------------------------------------


@bug("delta term forgotten", checks.check_one_run_level)
def _(patch):
    patch.setattr(one_run, "_steepest", lambda r, v, q: 0.0)


@bug("factor two forgotten", checks.check_one_run_golden)
def _(patch):
    instead(patch, one_run, "_steepest", lambda f, r, v, q: f(r, v, q) / 2.0)


@bug("tail beyond v instead of from v", checks.check_one_run_golden)
def _(patch):
    def one_more(f, guesses, **kw):
        return f(dataclasses.replace(guesses, correct=min(guesses.correct + 1, guesses.made)), **kw)

    instead(patch, one_run, "one_run_p_value", one_more)


@bug("canaries without a guess not counted", checks.check_one_run_golden)
def _(patch):
    instead(patch, one_run, "one_run_p_value", lambda f, g, **kw: f(dataclasses.replace(g, canaries=g.made), **kw))


@bug("one guess too many right", checks.check_fdp_golden)
def _(patch):
    def one_more(f, guesses, **kw):
        return f(dataclasses.replace(guesses, correct=min(guesses.correct + 1, guesses.made)), **kw)

    instead(patch, one_run_fdp, "one_run_rejects", one_more)


@bug("curve of a mechanism without any loss", checks.check_fdp_level)
def _(patch):
    instead(patch, one_run_fdp, "one_run_rejects", lambda f, g, mirror, alpha: f(g, mirror=lambda x: x, alpha=alpha))


@bug("far less than alpha spent on mu", checks.check_one_run_power)
def _(patch):
    instead(patch, one_run_fdp, "one_run_mu", lambda f, g, alpha: f(g, alpha=alpha / 1000.0))


@bug("ties in the order of the list", checks.check_ties_are_broken_at_random)
def _(patch):
    patch.setattr(canaries.noise, "permutation", lambda n, source=None: np.arange(n))


@bug("commitment without the coins", checks.check_coins)
def _(patch):
    patch.setattr(audit.Coins, "opening", lambda coins: f"privet coins {coins.nonce.hex()} 0")


@bug("coins that are always the same", checks.check_coins)
def _(patch):
    patch.setattr(noise, "bernoulli", lambda p, size, source=None: np.arange(size) % 2 == 0)


# --- selection ----------------------------------------------------------------------------------------------------


@bug("threshold chosen on the tested half", checks.check_split_level)
def _(patch):
    patch.setattr(audit.Sample, "part", lambda sample, start, stop: sample)
    patch.setattr(audit.Sample, "overlaps", lambda sample, other: False)


@bug("every look at the full alpha", checks.check_bonferroni_level)
def _(patch):
    instead(patch, audit.Gaussian, "test", lambda f, self, counts, alpha: f(self, counts, alpha=10 * alpha))


@bug("halves told apart by name only", checks.check_reuse_is_refused)
def _(patch):
    patch.setattr(audit.Sample, "overlaps", lambda sample, other: sample is other)


@bug("luck chooses", checks.check_split_power)
def _(patch):
    patch.setattr(import_module("privet.audit.statistics.selection"), "_STRICTER", 0.2)


# The same check catches other bugs in every run; these two are seen late, after thousands of bets.
LATE = ("delta forgotten in the payoff", "complement without exchanging the worlds")


@pytest.mark.parametrize(
    "planted",
    [slow(each) if each.name in LATE else each for each in BUGS],
    ids=lambda planted: planted.name.replace(" ", "_"),
)
def test_planted_bug_is_seen(planted, monkeypatch):
    planted.plant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        planted.check()


def test_every_check_has_been_seen_to_fail():
    every = {name for name in dir(checks) if name.startswith("check_")}
    assert every == {planted.check.__name__ for planted in BUGS}
