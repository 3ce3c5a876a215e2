"""Example prices of every kind, families of them, and random ones."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from privet import privacy
from privet.errors import InvalidParameter
from privet.privacy import PrivacyLoss, Relation, Unit
from privet.testing.rooms import load_rooms

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


_REPLACE = Unit("replace")


class Family(NamedTuple):
    """Prices along one parameter, from the costliest to the cheapest."""

    name: str
    make: Callable[[Any], PrivacyLoss]
    parameters: tuple[Any, ...]


def example_losses() -> dict[str, tuple[PrivacyLoss, ...]]:
    """Several example instances of every registered kind.

    A kind brings its own (`PrivacyLoss.examples`); combinators, which need other kinds to hold, have theirs here.

    >>> sorted(example_losses())[:4]
    ['above_threshold', 'approx', 'binary_vote', 'composed']
    """
    load_rooms()
    own = {kind: tuple(cls.examples()) for kind, cls in privacy.registered_kinds().items()}
    return {**_combinators(), **{kind: examples for kind, examples in own.items() if examples}}


def assert_every_kind_has_examples(examples: Mapping[str, tuple[PrivacyLoss, ...]] | None = None) -> None:
    """Fail when a registered kind has no example, or an example listed under a kind is not of that class.

    >>> assert_every_kind_has_examples()
    """
    table = example_losses() if examples is None else examples
    for kind, cls in privacy.registered_kinds().items():
        found = table.get(kind, ())
        if not found:
            raise AssertionError(f"the kind {kind!r} has no examples: no law has ever seen it")
        for loss in found:
            if type(loss) is not cls:
                raise AssertionError(f"{loss!r} is listed under {kind!r} but is a {type(loss).__name__}")


def assert_every_price_lives_in_privacy() -> None:
    """Fail when a room of privet registers a kind of price outside of `privet.privacy`, once every room is loaded.

    A ledger is read by processes that know no other room: there such a kind is unknown, has no total and looks
    underpriced.

    >>> assert_every_price_lives_in_privacy()
    """
    load_rooms()
    for kind, cls in privacy.registered_kinds().items():
        home = cls.__module__
        if home.startswith("privet.") and not home.startswith("privet.privacy."):
            raise AssertionError(f"the kind {kind!r} lives in {home}: move {cls.__name__} to privet.privacy")


def _combinators() -> dict[str, tuple[PrivacyLoss, ...]]:
    """Prices built from other prices."""
    p = privacy
    skewed = p.FinitePairLoss((0.999999, 1e-6), (0.75, 0.25), unit=_REPLACE)
    sampled = p.PoissonSampled(p.GaussianLoss(1.0), q=0.1)
    return {
        "composed": (
            p.Composed((p.PureLoss(0.2), p.ApproxLoss(0.3, 1e-7), p.LaplaceLoss(4.0))),
            p.Composed((sampled, p.GaussianLoss(4.0))),
            p.Composed((p.GaussianLoss(2.0), p.GdpLoss(0.3))),
            p.Composed(()),
        ),
        "repeated": (
            p.Repeated(p.PureLoss(0.1), 10),
            p.Repeated(p.KRRLoss(4, 0.5), 3),
            p.Repeated(sampled, 5),
            p.Repeated(p.LaplaceLoss(1.0), 0),
        ),
        "parallel": (
            p.Parallel((p.PureLoss(0.5), p.PureLoss(0.25))),
            p.Parallel((p.GaussianLoss(2.0), p.LaplaceLoss(2.0))),
            p.Parallel((p.KRRLoss(3, 1.0), p.KRRLoss(5, 1.0)), fixed_blocks=True),
        ),
        "poisson_sampled": (
            sampled,
            p.PoissonSampled(p.LaplaceLoss(1.0), q=0.2),
            p.PoissonSampled(p.ApproxLoss(1.0, 1e-6), q=0.5),
            p.PoissonSampled(p.Repeated(p.GaussianLoss(3.0), 4), q=0.25),
            p.PoissonSampled(p.GaussianLoss(1.0, unit=Unit("zero_out")), q=0.5),
            p.PoissonSampled(p.FinitePairLoss((0.9, 0.1), (0.4, 0.6)), q=0.3),
            p.PoissonSampled(p.Composed((p.GaussianLoss(2.0), p.LaplaceLoss(2.0))), q=0.1),
            p.PoissonSampled(p.PureLoss(1.0), q=0.0),
        ),
        "fixed_sampled": (
            p.FixedSampled(p.GaussianLoss(1.0, unit=_REPLACE), m=10, n=100),
            p.FixedSampled(p.LaplaceLoss(1.0, unit=_REPLACE), m=1, n=5),
            p.FixedSampled(skewed, m=1, n=2),
            p.FixedSampled(p.KRRLoss(3, 1.0), m=3, n=10),
            p.FixedSampled(p.PureLoss(1.0, unit=_REPLACE), m=0, n=10),
        ),
        "random_allocation": (
            p.RandomAllocation(p.GaussianLoss(1.0), 10),
            p.RandomAllocation(p.FinitePairLoss((0.9, 0.1), (0.4, 0.6)), 3),
            p.RandomAllocation(p.LaplaceLoss(2.0), 1),
        ),
        "truncated_poisson_sampled": (
            p.TruncatedPoissonSampled(p.GaussianLoss(1.0), q=0.1, batch=12, n=100),
            p.TruncatedPoissonSampled(p.GaussianLoss(2.0, unit=Unit("zero_out")), q=0.3, batch=40, n=100),
            p.TruncatedPoissonSampled(p.LaplaceLoss(2.0), q=0.2, batch=5, n=10),
        ),
        "with_replacement_sampled": (
            p.WithReplacementSampled(p.GaussianLoss(4.0, unit=_REPLACE), m=10, n=100),
            p.WithReplacementSampled(p.LaplaceLoss(2.0, unit=_REPLACE), m=3, n=5),
            p.WithReplacementSampled(p.KRRLoss(3, 0.5), m=2, n=10),
            p.WithReplacementSampled(p.PureLoss(1.0, unit=_REPLACE), m=0, n=10),
        ),
        "grouped": (
            p.Grouped(p.PureLoss(0.2), 3),
            p.Grouped(p.ApproxLoss(0.5, 1e-6), 3),
            p.Grouped(p.GaussianLoss(4.0), 2, relation="replace"),
            p.Grouped(p.PoissonSampled(p.GaussianLoss(2.0), q=0.1), 2),
            p.Grouped(p.PoissonSampled(p.GaussianLoss(1.0), q=0.05), 2, relation="replace"),
            p.Grouped(p.Repeated(p.LaplaceLoss(8.0), 3), 2),
            p.Grouped(p.KRRLoss(3, 0.5), 1),
        ),
        "per_person": (
            p.PerPerson(p.PureLoss(0.2), 3, "patient_id"),
            p.PerPerson(p.GaussianLoss(4.0), 5, "patient_id"),
            p.PerPerson(p.GaussianLoss(4.0, unit=Unit("zero_out")), 1, "customer"),
        ),
        "shuffled": _shuffled(),
        "selected": (
            p.Selected(p.PureLoss(0.25), mean=10.0),
            p.Selected(p.GaussianLoss(5.0), mean=10.0, eta=0.0),
            p.Selected(p.GaussianLoss(5.0), mean=10.0, poisson=True),
        ),
    }


def _shuffled() -> tuple[PrivacyLoss, ...]:
    p = privacy
    return (
        p.Shuffled(p.KRRLoss(4, 1.0), n=200),
        p.Shuffled(p.RandomizedResponseLoss(2.0), n=1000),
        p.Shuffled(p.PureLoss(1.0, unit=_REPLACE), n=50, dealt=True),
        p.Shuffled(p.FinitePairLoss((0.5, 0.4, 0.1), (0.1, 0.4, 0.5), unit=_REPLACE), n=30),
        p.Shuffled(p.KRRLoss(3, 0.5), n=1),
    )


def example_families() -> tuple[Family, ...]:
    """More noise, fewer steps, a smaller rate, a smaller group: the price must not rise along any of these.

    >>> example_families()[0].make(2.0)
    GaussianLoss(noise_multiplier=2.0)
    """
    p = privacy
    gauss = p.PoissonSampled(p.GaussianLoss(1.0), q=0.1)
    base = p.GaussianLoss(1.0, unit=_REPLACE)
    base_report = p.PureLoss(1.0, unit=_REPLACE)
    return (
        Family("gaussian noise", p.GaussianLoss, (0.5, 1.0, 1.01, 2.0, 50.0, float("inf"))),
        Family("laplace noise", p.LaplaceLoss, (0.5, 1.0, 1.01, 2.0, 50.0, float("inf"))),
        Family("discrete laplace noise", p.DiscreteLaplaceLoss, (0.5, 1.0, 1.01, 10.0)),
        Family("discrete gaussian noise", p.DiscreteGaussianLoss, (0.7, 1.0, 2.0, 10.0)),
        Family(
            "mixture, more noise",
            lambda s: p.MixtureOfGaussiansLoss(s, (0.0, 1.0, 2.0), (0.5, 0.4, 0.1)),
            (0.8, 1.0, 1.01, 5.0, float("inf")),
        ),
        Family(
            "mixture, rarer", lambda w: p.MixtureOfGaussiansLoss(1.0, (0.0, 2.0), (1.0 - w, w)), (0.9, 0.5, 0.1, 1e-3)
        ),
        Family("skellam noise", p.SkellamLoss, (1.0, 4.0, 4.1, 100.0)),
        Family("staircase", p.StaircaseLoss, (2.0, 1.0, 0.99, 0.1)),
        Family("tree, fewer steps", lambda n: p.TreeAggregationLoss(4.0, n), (1000, 100, 8, 7, 1)),
        Family(
            "larger batches",
            lambda b: p.TruncatedPoissonSampled(p.GaussianLoss(1.0), q=0.1, batch=b, n=50),
            (2, 5, 8, 20, 60),
        ),
        Family(
            "fewer draws", lambda m: p.WithReplacementSampled(p.LaplaceLoss(2.0, unit=_REPLACE), m, 20), (9, 3, 1, 0)
        ),
        Family("geometric noise", p.GeometricLoss, (0.1, 0.5, 0.51, 0.99)),
        Family("pure", p.PureLoss, (2.0, 1.0, 0.99, 0.1, 0.0)),
        Family("approximate epsilon", lambda e: p.ApproxLoss(e, 1e-7), (2.0, 1.0, 0.99, 0.0)),
        Family("approximate delta", lambda d: p.ApproxLoss(0.5, d), (1e-6, 1e-7, 0.0)),
        Family("exponential", p.ExponentialLoss, (2.0, 1.0, 0.99, 0.0)),
        Family("randomized response", p.RandomizedResponseLoss, (2.0, 1.0, 0.0)),
        Family("k-RR, more values", lambda k: p.KRRLoss(k, 1.0), (2, 3, 4, 100)),
        Family("partial response, smaller share", lambda s: p.PartialResponseLoss(1.0, s), (1.0, 0.9, 0.5, 0.01, 0.0)),
        Family("zcdp", p.ZcdpLoss, (1.0, 0.5, 0.01, 0.0)),
        Family("gdp", p.GdpLoss, (1.0, 0.5, 0.01, 0.0)),
        Family("fewer steps", lambda n: p.Repeated(p.LaplaceLoss(4.0), n), (20, 19, 2, 1, 0)),
        Family("fewer sampled steps", lambda n: p.Repeated(gauss, n), (20, 19, 2, 1, 0)),
        Family("smaller q, gaussian", lambda q: p.PoissonSampled(p.GaussianLoss(1.0), q), (1.0, 0.9, 0.1, 0.01, 0.0)),
        Family("smaller q, laplace", lambda q: p.PoissonSampled(p.LaplaceLoss(1.0), q), (1.0, 0.9, 0.1, 0.0)),
        Family("smaller m", lambda m: p.FixedSampled(base, m, 100), (100, 99, 50, 1, 0)),
        Family("smaller group", lambda k: p.Grouped(p.LaplaceLoss(8.0), k), (4, 3, 2, 1)),
        Family("smaller sampled group", lambda k: p.Grouped(gauss, k), (3, 2, 1)),
        Family("larger crowd", lambda n: p.Shuffled(p.KRRLoss(3, 1.0), n), (1, 2, 10, 100, 1000)),
        Family("larger crowd of dealt randomisers", lambda n: p.Shuffled(base_report, n, dealt=True), (1, 10, 300)),
        Family("shuffled, more noise", lambda e: p.Shuffled(p.RandomizedResponseLoss(e), 100), (2.0, 1.0, 0.5)),
        Family("fewer expected runs", lambda m: p.Selected(p.GaussianLoss(5.0), m), (100.0, 10.0, 1.0)),
    )


def loss_strategy(
    *, relation: Relation = "add_remove", extreme: bool = False, selection: bool = False
) -> "SearchStrategy[PrivacyLoss]":
    """A hypothesis strategy for random prices, nested combinators included, all with the same unit.

    With `extreme` the parameters run over hundreds of orders of magnitude and counts up to 10^12: for tests that only
    demand an honest answer or a clear refusal. `selection` adds private selection, whose Rényi bound is costly to compute.
    hypothesis is loaded here, not with the package.

    >>> from hypothesis import given
    >>> @given(loss_strategy())
    ... def test(loss):
    ...     assert loss.unit.relation == "add_remove"
    >>> test()
    """
    from hypothesis import strategies as st

    unit = Unit(relation)
    times = [0, 1, 2, 1000, 10**9, 10**12] if extreme else [0, 1, 2, 3, 4]
    rates = [0.0, 5e-324, 1e-60, 1e-9, 0.5, 1.0 - 1e-16, 1.0] if extreme else [0.0, 0.1, 0.5, 1.0]
    means = [1.0, 3.0, 20.0]

    def build(kind: Callable[..., PrivacyLoss], *parameters: "SearchStrategy[Any]") -> "SearchStrategy[PrivacyLoss]":
        return st.tuples(*parameters).map(lambda values: _or_refused(lambda: kind(*values), unit))

    def nested(children: "SearchStrategy[PrivacyLoss]") -> "SearchStrategy[PrivacyLoss]":
        some = st.lists(children, min_size=1, max_size=3)
        choices = [
            build(lambda losses: privacy.Composed(losses, unit=unit), st.lists(children, max_size=3)),
            build(privacy.Repeated, children, st.sampled_from(times)),
            build(lambda losses: privacy.Parallel(losses, fixed_blocks=True), some),
        ]
        if selection:
            choices.append(build(privacy.Selected, children, st.sampled_from(means), st.sampled_from([0.0, 1.0])))
        if relation == "replace":
            choices.append(build(privacy.FixedSampled, children, st.integers(0, 5), st.just(5)))
        else:
            choices.append(build(privacy.PoissonSampled, children, st.sampled_from(rates)))
        return st.one_of(choices)

    return st.recursive(_leaves(unit, extreme=extreme), nested, max_leaves=4)


def _leaves(unit: Unit, *, extreme: bool) -> "SearchStrategy[PrivacyLoss]":
    from hypothesis import strategies as st

    p = privacy
    positive: SearchStrategy[float]
    epsilon: SearchStrategy[float]
    if extreme:
        corners = [5e-324, 1e-200, 1e-60, 1e-17, 1e-9, 0.5, 30.0, 699.0, 710.0, 800.0, 1e5, 1e60, 1e200, 1.7e308]
        positive = st.sampled_from(corners)
        epsilon = st.sampled_from([0.0, *corners])
    else:
        positive = st.floats(0.5, 20.0)
        epsilon = st.one_of(st.just(0.0), st.floats(0.05, 2.0))
    sensitivity = st.integers(1, 3)
    weights = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=4)
    pairs = weights.filter(_has_mass).map(lambda items: _pair(items, unit))

    def build(kind: Callable[..., PrivacyLoss], *parameters: "SearchStrategy[Any]") -> "SearchStrategy[PrivacyLoss]":
        return st.tuples(*parameters).map(lambda values: _or_refused(lambda: kind(*values, unit=unit), unit))

    return st.one_of(
        build(p.PureLoss, epsilon),
        build(p.ApproxLoss, epsilon, st.sampled_from([0.0, 1e-9, 1e-7])),
        build(p.LaplaceLoss, positive),
        build(p.GaussianLoss, positive),
        build(p.DiscreteLaplaceLoss, positive, sensitivity),
        build(p.DiscreteGaussianLoss, positive, sensitivity),
        build(p.ExponentialLoss, epsilon, st.booleans()),
        build(p.KRRLoss, st.integers(2, 6), epsilon),
        build(p.PartialResponseLoss, epsilon, st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])),
        build(p.AboveThresholdLoss, epsilon),
        build(p.ZcdpLoss, epsilon),
        build(p.GdpLoss, epsilon),
        build(lambda v, unit: p.RdpLoss((2.0, 8.0, 64.0), (v, 2.0 * v, 9.0 * v), unit=unit), epsilon),
        pairs,
    )


def _or_refused(make: Callable[[], PrivacyLoss], unit: Unit) -> PrivacyLoss:
    """The price, or a plain one where the parameters are refused (that is tested elsewhere)."""
    try:
        return make()
    except InvalidParameter:
        return privacy.PureLoss(1.0, unit=unit)


def _has_mass(weights: list[tuple[int, int]]) -> bool:
    return all(sum(side) > 0 for side in zip(*weights, strict=True))


def _pair(weights: list[tuple[int, int]], unit: Unit) -> PrivacyLoss:
    p, q = (tuple(Fraction(weight, sum(side)) for weight in side) for side in zip(*weights, strict=True))
    return privacy.FinitePairLoss(p, q, unit=unit)
