"""Skellam, staircase, trees, truncated and repeated draws, random allocation: against enumeration and forty digits."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from mpmath import mp, mpf

from privet import accounting, privacy
from privet.errors import InvalidParameter, MixedUnits, NoGuarantee
from privet.privacy import random_allocation
from tests.oracles import closed_forms

REPLACE, ZERO = privacy.Unit("replace"), privacy.Unit("zero_out")
EPSILONS = (-0.7, 0.0, 0.05, 0.2, 0.6, 1.3)


def hockey_stick(p, q, epsilon):
    return float(np.maximum(np.asarray(p) - math.exp(epsilon) * np.asarray(q), 0.0).sum())


# --- Skellam --------------------------------------------------------------------------------------------------------


def skellam_law(variance, reach):
    return {x: mp.exp(-mpf(variance)) * mp.besseli(abs(x), mpf(variance)) for x in range(-reach, reach + 1)}


@pytest.mark.parametrize(("variance", "shift"), [(0.5, 1), (4.0, 3), (100.0, 2), (200.0, 70)])
def test_skellam_in_forty_digits(variance, shift):
    loss = privacy.SkellamLoss(variance, sensitivity=shift)
    reach = 40 + math.ceil(9 * math.sqrt(variance)) + shift
    with mp.workdps(40):
        law = skellam_law(variance, reach)
        pair = [(law[x], law[x - shift]) for x in range(shift - reach, reach + 1)]
        for share in (0.0, 1.0, 4.0):
            epsilon = share * shift / math.sqrt(variance)
            exact = mp.fsum(max(p - mp.exp(mpf(epsilon)) * q, 0) for p, q in pair)
            low, high = loss.variable("remove").enclose(epsilon)
            assert low <= exact * (1 + mpf(10) ** -15) + mpf(10) ** -17
            assert high >= exact - mpf(10) ** -17
            assert high - low <= 1e-9 * high + 1e-15
        exact = mp.log(mp.fsum(p**2 / q for p, q in pair))
        assert exact * (1 - mpf(10) ** -12) <= loss.rdp([2.0]).values[0] <= exact * (1 + mpf(10) ** -7)


def test_skellam_masses_keep_what_they_state():
    variable = privacy.SkellamLoss(50.0).variable("remove")
    with mp.workdps(40):
        for index in range(20, len(variable.losses), 60):
            x = (len(variable.losses) - 1) // 2 - index + 1  # losses rise as outcomes fall
            exact = mp.exp(-mpf(50)) * mp.besseli(abs(x), mpf(50))
            assert abs(variable.p[index] - exact) <= variable.mass_error * exact
            other = mp.exp(-mpf(50)) * mp.besseli(abs(x - 1), mpf(50))
            assert abs(variable.losses[index] - mp.log(exact / other)) <= variable.blur + 1e-15


@pytest.mark.parametrize(("variance", "shift"), [(100.0, 3), (100.0, 600), (1.0, 200)])
def test_skellam_lists_hold_all_mass_however_far_the_query_moves(variance, shift):
    variable = privacy.SkellamLoss(variance, sensitivity=shift).variable("remove")
    assert abs(variable.p.sum() - 1.0) < 1e-12
    assert abs(variable.q.sum() - 1.0) < 1e-12


def test_skellam_vectors_are_no_worse_than_the_scalar():
    """Two coordinates, 2 and 1 apart, against one that moves by 3."""
    reach, law = 60, privacy.SkellamLoss(6.0, sensitivity=3)
    with mp.workdps(20):
        table = np.array([float(value) for value in skellam_law(6.0, reach).values()])
    p = np.outer(table, table)
    q = np.outer(np.roll(table, 2), np.roll(table, 1))
    for epsilon in (0.0, 0.5, 1.5):
        assert hockey_stick(p, q, epsilon) <= float(law.profile(epsilon)) + 1e-12
        assert hockey_stick(p, q, epsilon) > float(privacy.SkellamLoss(6.0, sensitivity=2).profile(epsilon))


def test_wide_skellam_noise_is_priced_like_normal_noise_and_beyond_by_its_divergence():
    wide = accounting.epsilon(privacy.SkellamLoss(1e6), delta=1e-6)
    assert wide.upper == pytest.approx(accounting.epsilon(privacy.GaussianLoss(1e3), delta=1e-6).upper, rel=1e-4)
    wider = privacy.SkellamLoss(1e8)
    with pytest.raises(NoGuarantee):
        wider.variable("remove")
    assert wider.rdp([2.0]).values[0] == pytest.approx(1e-8, rel=1e-4)


@pytest.mark.parametrize(("variance", "sensitivity"), [(1e10, 1), (1.4e9, 50_000), (1e7, 230_000), (4.0, 2_000_000)])
def test_skellam_noise_without_a_price_is_refused_where_it_is_made(variance, sensitivity):
    with pytest.raises(InvalidParameter, match=r"1,500,000 at most.*variance of 1.4e9.*sensitivity of 200,000"):
        privacy.SkellamLoss(variance, sensitivity)


def test_skellam_noise_that_can_be_made_has_a_price_and_its_groups_have_one():
    for loss in (privacy.SkellamLoss(1.4e9), privacy.SkellamLoss(1e7, 200_000)):
        assert np.isfinite(loss.rdp(np.array([2.0])).values[0])
    assert privacy.SkellamLoss(1e6, 1000).grouped(1000) == privacy.SkellamLoss(1e6, 1_000_000)
    assert privacy.SkellamLoss(1.4e9).grouped(40_000) is None
    assert privacy.Grouped(privacy.SkellamLoss(4.0), 2_000_000).chained


# --- staircase and trees --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("shape", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_staircase_by_its_density(epsilon, shape):
    """Densities on a fine lattice of cells, on which the steps fall when 60 cells make a unit; all smaller shifts too."""
    cells, reach = 60, 60
    at = np.abs((np.arange(-reach * cells, reach * cells) + 0.5) / cells)
    level = np.floor(at) + (at - np.floor(at) > shape)
    density = np.exp(-epsilon * level)
    density /= density.sum()
    loss = privacy.StaircaseLoss(epsilon, shape)
    for share in (-0.5, 0.0, 0.3, 0.8):
        values = []
        for shift in (60, 45, 20, 1):
            p, q = density[shift:], density[:-shift]
            values.append(hockey_stick(p, q, share * epsilon) if share >= 0.0 else 0.0)
        if share >= 0.0:
            assert float(loss.profile(share * epsilon)) == pytest.approx(values[0], rel=1e-6)
            assert max(values) <= values[0] * (1.0 + 1e-9)


def test_the_default_staircase_has_the_least_error():
    best = privacy.StaircaseLoss(1.0)
    assert best.shape == pytest.approx(1.0 / (1.0 + math.exp(0.5)))
    assert best == privacy.StaircaseLoss(1.0, best.shape)


@pytest.mark.parametrize(("steps", "epsilon"), [(8, 1.765648), (100, 2.399029), (1000, 2.921601)])
def test_trees(steps, epsilon):
    tree = privacy.TreeAggregationLoss(noise_multiplier=5.0, steps=steps)
    assert accounting.epsilon(tree, delta=1e-6).upper == pytest.approx(epsilon, abs=1e-6)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 9, 33])
def test_levels_by_counting_nodes(steps):
    nodes = [range(i << h, (i + 1) << h) for h in range(7) for i in range(steps >> h)]
    assert (
        max(sum(step in node for node in nodes) for step in range(steps))
        == privacy.TreeAggregationLoss(1.0, steps).levels
    )


# --- sampling -------------------------------------------------------------------------------------------------------


def table_of(rng, keys, outputs, spread):
    """A random mechanism on batches: an output law for each."""
    return {key: rng.dirichlet(np.full(outputs, spread)) for key in keys}


def worst_pair(table, neighbours):
    """The largest curve over neighbouring batches, as a function of epsilon."""

    def curve(epsilon):
        return max(hockey_stick(table[a], table[b], epsilon) for a, b in neighbours)

    return curve


def truncated_law(table, records, q, batch):
    """The output law under truncated Poisson sampling, all samples enumerated; `None` is a null record."""
    total = 0.0
    for coins in product((0, 1), repeat=len(records)):
        sample = tuple(r for r, coin in zip(records, coins, strict=True) if coin)
        weight = math.prod(q if coin else 1.0 - q for coin in coins)
        kept = list(combinations(sample, min(batch, len(sample))))
        for subset in kept:
            key = tuple(sorted(r for r in subset if r is not None))
            total = total + weight / len(kept) * table[key]
    return total


@pytest.mark.parametrize("relation", ["add_remove", "zero_out"])
@pytest.mark.parametrize(("q", "batch"), [(0.3, 1), (0.6, 2), (0.9, 2)])
def test_truncated_sampling_dominates_random_tables(relation, q, batch):
    """All samples of three records, all subsets of a full batch; the base is as private as the table shows."""
    rng = np.random.default_rng(11)
    everyone = (1, 2, 3)
    keys = [key for size in range(4) for key in combinations(everyone, size)]
    for _ in range(6):
        table = table_of(rng, keys, 4, 3.0)
        single = [(a, b) for a in keys for b in keys if len(set(a) ^ set(b)) == 1]
        epsilon = max(float(np.abs(np.log(table[a] / table[b])).max()) for a, b in single)
        base = privacy.PureLoss(epsilon, unit=privacy.Unit(relation))
        claim = privacy.TruncatedPoissonSampled(base, q=q, batch=batch, n=3)
        with_x = truncated_law(table, everyone, q, batch)
        without = truncated_law(table, (1, 2) if relation == "add_remove" else (1, 2, None), q, batch)
        for at in EPSILONS:
            assert hockey_stick(with_x, without, at) <= float(claim.profile(at, "remove")) + 1e-12
            assert hockey_stick(without, with_x, at) <= float(claim.profile(at, "add")) + 1e-12


def truncated_gaussian_excess(claim, q, batch, others, relation):
    """Opposite vectors: the record is +1, the others are -1 each; the most that a full batch can show."""
    x = np.linspace(-14.0, 14.0, 5601)
    width = x[1] - x[0]

    def law(records):
        total = 0.0
        for coins in product((0, 1), repeat=len(records)):
            sample = [r for r, coin in zip(records, coins, strict=True) if coin]
            weight = math.prod(q if coin else 1.0 - q for coin in coins)
            kept = list(combinations(range(len(sample)), min(batch, len(sample))))
            for subset in kept:
                mean = sum(sample[i] for i in subset)
                total = total + weight / len(kept) * np.exp(-0.5 * (x - mean) ** 2) * width / math.sqrt(2.0 * math.pi)
        return total

    p, q_law = law([1.0, *others]), law(others if relation == "add_remove" else [0.0, *others])
    remove = max(hockey_stick(p, q_law, e) - float(claim.profile(e, "remove")) for e in EPSILONS)
    add = max(hockey_stick(q_law, p, e) - float(claim.profile(e, "add")) for e in EPSILONS)
    return max(remove, add)


@pytest.mark.parametrize("relation", ["add_remove", "zero_out"])
@pytest.mark.parametrize(("q", "batch"), [(0.3, 1), (0.5, 2)])
def test_truncated_gaussians_with_opposite_records(relation, q, batch):
    base = privacy.GaussianLoss(1.0, unit=privacy.Unit(relation))
    claim = privacy.TruncatedPoissonSampled(base, q=q, batch=batch, n=5)
    assert truncated_gaussian_excess(claim, q, batch, [-1.0] * 4, relation) <= 1e-9
    ignored = privacy.PoissonSampled(base, q=q)
    if relation == "add_remove" or batch == 1:  # a null record that takes a place hides most of it
        assert truncated_gaussian_excess(ignored, q, batch, [-1.0] * 4, relation) > 5e-4


def test_a_batch_that_never_overflows_is_plain_sampling():
    base = privacy.GaussianLoss(1.0)
    assert privacy.TruncatedPoissonSampled(base, q=0.1, batch=10, n=10) == privacy.PoissonSampled(base, q=0.1)
    cut = privacy.Repeated(privacy.TruncatedPoissonSampled(base, q=0.01, batch=150, n=10_000), 1000)
    whole = privacy.Repeated(privacy.PoissonSampled(base, q=0.01), 1000)
    bounds = [accounting.epsilon(loss, delta=1e-5).upper for loss in (cut, whole)]
    assert bounds[1] <= bounds[0] * (1 + 1e-4) <= bounds[1] * 1.002
    with mp.workdps(30):
        exact = mp.fsum(mp.binomial(9999, k) * mpf("0.01") ** k * mpf("0.99") ** (9999 - k) for k in range(150, 400))
    overflow = privacy.TruncatedPoissonSampled(base, q=0.01, batch=150, n=10_000).overflow
    assert exact <= overflow * (1 + 1e-15) <= exact * (1 + mpf(10) ** -8)


def drawn_law(table, records, m):
    draws = list(product(range(len(records)), repeat=m))
    return sum(table[tuple(sorted(records[i] for i in draw))] for draw in draws) / len(draws)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 2), (2, 3)])
def test_drawing_with_replacement_dominates_random_tables(n, m):
    rng = np.random.default_rng(2)
    universe = range(n + 1)
    keys = sorted({tuple(sorted(draw)) for draw in product(universe, repeat=m)})

    def distance(a, b):
        return m - sum(min(a.count(r), b.count(r)) for r in set(a))

    single = [(a, b) for a in keys for b in keys if distance(a, b) == 1]
    for _ in range(5):
        table = table_of(rng, keys, 4, 4.0)
        epsilon = max(float(np.abs(np.log(table[a] / table[b])).max()) for a, b in single)
        claim = privacy.WithReplacementSampled(privacy.PureLoss(epsilon, unit=REPLACE), m=m, n=n)
        left, right = drawn_law(table, tuple(range(n)), m), drawn_law(table, (*range(n - 1), n), m)
        for at in EPSILONS:
            assert hockey_stick(left, right, at) <= float(claim.profile(at)) + 1e-12
            assert hockey_stick(right, left, at) <= float(claim.profile(at)) + 1e-12


def binomial_weights(m, n):
    return [math.comb(m, j) * n**-j * (1.0 - 1.0 / n) ** (m - j) for j in range(m + 1)]


@pytest.mark.parametrize(("m", "n", "z"), [(6, 20, 2.0), (3, 3, 1.0), (40, 1000, 0.7), (5, 2, 4.0)])
def test_drawing_gaussians_with_replacement(m, n, z):
    """Between what sums of records attain and the formula that tells the observer how often the record was drawn."""
    loss = privacy.WithReplacementSampled(privacy.GaussianLoss(z, unit=REPLACE), m=m, n=n)
    weights, p = binomial_weights(m, n), 1.0 - (1.0 - 1.0 / n) ** m
    x = np.linspace(-14.0 - m / z, 14.0 + m / z, 40001)
    attained = np.zeros(4)
    epsilons = (0.0, 0.3, 2.0, 6.0)
    for share in (0.0, 0.2, 0.5, 0.8, 1.0):  # where the other records lie between the two versions of this one
        laws = [
            sum(w * np.exp(-0.5 * (x - side * j / z) ** 2) for j, w in enumerate(weights)) * (x[1] - x[0])
            for side in (1.0 - share, -share)
        ]
        attained = np.maximum(attained, [hockey_stick(*(law / law.sum() for law in laws), e) for e in epsilons])
    for epsilon, least in zip(epsilons, attained, strict=True):
        inner = math.log1p(math.expm1(epsilon) / p)
        told = sum(w * float(closed_forms.gaussian_delta(inner, mpf(j) / mpf(z))) for j, w in enumerate(weights) if j)
        claim = float(loss.profile(epsilon))
        assert least - 1e-12 <= claim <= told * (1.0 + 1e-4)
        assert claim <= 2.5 * least + 1e-12 or m > n  # of the same size as what is attained
    once = privacy.FixedSampled(privacy.GaussianLoss(z, unit=REPLACE), m=min(m, n), n=n)
    if m <= n:  # a price that counts the record once is caught
        assert attained[3] > float(once.profile(6.0))


def test_one_draw_is_sampling_without_replacement():
    base = privacy.GaussianLoss(0.8, unit=REPLACE)
    drawn, kept = privacy.WithReplacementSampled(base, m=1, n=50), privacy.FixedSampled(base, m=1, n=50)
    for epsilon in (0.0, 0.01, 0.1, 1.0, 5.0):
        assert 1.0 <= float(drawn.profile(epsilon) / kept.profile(epsilon)) < 1.002  # chords between nodes
    for direction in ("remove", "add"):
        assert drawn.variable(direction).symmetric
    many = [accounting.epsilon(privacy.Repeated(x, 100), delta=1e-8).upper for x in (drawn, kept)]
    assert 1.0 <= many[0] / many[1] < 1.001


def test_vectors_drawn_with_replacement_stay_below():
    """Plane vectors whose differences have length one at most, in any position: never above the curve."""
    rng = np.random.default_rng(5)
    m, n, z = 2, 4, 0.8
    weights = binomial_weights(m, n)
    loss = privacy.WithReplacementSampled(privacy.GaussianLoss(z, unit=REPLACE), m=m, n=n)
    axis = np.linspace(-8.0, 8.0, 321)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    largest = 0.0
    for _ in range(12):
        points = rng.normal(size=(3, 2))
        points /= max(np.linalg.norm(points[i] - points[j]) for i, j in ((0, 1), (0, 2), (1, 2))) * z
        laws = []
        for mine in points[:2]:
            law = sum(
                w * np.exp(-0.5 * ((grid - j * (mine - points[2])) ** 2).sum(axis=-1)) for j, w in enumerate(weights)
            )
            laws.append((law / law.sum()).ravel())
        for epsilon in (0.0, 0.5, 1.5, 3.0):
            ratio = hockey_stick(*laws, epsilon) / float(loss.profile(epsilon))
            largest = max(largest, ratio)
            assert ratio <= 1.0 + 1e-9
    assert largest > 0.6  # the pairs tried come near


# --- random allocation ----------------------------------------------------------------------------------------------


def allocation_pair(p, q, steps):
    """All outputs of `steps` releases, the record in one of them."""
    outputs = list(product(range(len(p)), repeat=steps))
    without = np.array([math.prod(q[i] for i in output) for output in outputs])
    ratios = [sum(p[i] / q[i] for i in output) / steps for output in outputs]
    return without * np.array(ratios), without


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_allocation_of_finite_pairs(steps):
    p, q = (0.6, 0.3, 0.1), (0.2, 0.3, 0.5)
    loss = privacy.RandomAllocation(privacy.FinitePairLoss(p, q), steps)
    mixed, without = allocation_pair(p, q, steps)
    for epsilon in EPSILONS:
        for direction, pair in (("remove", (mixed, without)), ("add", (without, mixed))):
            exact, found = hockey_stick(*pair, epsilon), float(loss.profile(epsilon, direction))
            assert exact - 1e-12 <= found <= exact * 1.001 + 1e-5


def test_allocation_of_gaussians_by_simulation_and_moments():
    steps, z = 20, 1.0
    variable = privacy.RandomAllocation(privacy.GaussianLoss(z), steps).variable("remove")
    losses, p, _ = variable.atoms()
    assert float((p * np.exp(losses)).sum()) == pytest.approx(1.0 + math.expm1(1.0) / steps, rel=2e-3)
    assert float((p * np.exp(losses)).sum()) >= 1.0 + math.expm1(1.0) / steps  # spreading raises it
    x = np.random.default_rng(4).standard_normal((400_000, steps))
    x[:, 0] += 1.0 / z
    seen = np.log(np.exp(x / z - 0.5 / z**2).mean(axis=1))
    for epsilon in (0.0, 0.3, 0.8):
        terms = np.maximum(1.0 - np.exp(epsilon - seen), 0.0)
        error = 5.5 * float(terms.std()) / math.sqrt(len(terms))
        assert abs(float(variable.delta(epsilon)) - float(terms.mean())) <= error + 1e-3 * float(terms.mean())


def test_allocation_beside_the_best_known_bounds():
    epoch = privacy.RandomAllocation(privacy.GaussianLoss(1.0), 100)
    bound = accounting.epsilon(privacy.Repeated(epoch, 10), delta=1e-5)
    assert 1.6644 <= bound.upper <= 1.7398
    assert 1.6644 <= bound.lower <= bound.upper
    assert bound.slack <= 0.01 * bound.upper


def test_a_grid_that_loses_mass_is_seen(monkeypatch):
    """Rounding every ratio down, in place of spreading it, must fall below the truth somewhere."""

    def down(values, mass, nodes):
        place = np.clip(np.searchsorted(nodes, values, side="right") - 1, 0, len(nodes) - 1)
        return nodes, np.bincount(place, weights=mass, minlength=len(nodes))

    monkeypatch.setattr(random_allocation, "_spread", down)
    random_allocation._allocated.cache_clear()
    p, q = (0.6, 0.3, 0.1), (0.2, 0.3, 0.5)
    loss = privacy.RandomAllocation(privacy.FinitePairLoss(p, q), 6)
    mixed, without = allocation_pair(p, q, 6)
    gaps = [hockey_stick(mixed, without, e) - float(loss.profile(e, "remove")) for e in EPSILONS]
    random_allocation._allocated.cache_clear()
    assert max(gaps) > 1e-9


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: privacy.SkellamLoss(0.0), InvalidParameter),
        (lambda: privacy.SkellamLoss(1.0, sensitivity=0), InvalidParameter),
        (lambda: privacy.StaircaseLoss(0.0), InvalidParameter),
        (lambda: privacy.StaircaseLoss(1.0, 1.5), InvalidParameter),
        (lambda: privacy.TreeAggregationLoss(1.0, 0), InvalidParameter),
        (lambda: privacy.TreeAggregationLoss(0.0, 3), InvalidParameter),
        (lambda: privacy.TruncatedPoissonSampled(privacy.PureLoss(1.0, unit=REPLACE), 0.1, 3, 10), MixedUnits),
        (lambda: privacy.TruncatedPoissonSampled(privacy.PureLoss(1.0), 0.1, 0, 10), InvalidParameter),
        (lambda: privacy.TruncatedPoissonSampled(privacy.PureLoss(1.0), 1.1, 3, 10), InvalidParameter),
        (lambda: privacy.TruncatedPoissonSampled(3, 0.1, 3, 10), InvalidParameter),
        (lambda: privacy.WithReplacementSampled(privacy.PureLoss(1.0), 3, 10), MixedUnits),
        (lambda: privacy.WithReplacementSampled(privacy.PureLoss(1.0, unit=REPLACE), 3, 0), InvalidParameter),
        (lambda: privacy.RandomAllocation(privacy.PureLoss(1.0, unit=REPLACE), 3), MixedUnits),
        (lambda: privacy.RandomAllocation(privacy.PureLoss(1.0), 0), InvalidParameter),
        (lambda: privacy.RandomAllocation(privacy.PureLoss(1.0), 10**6), InvalidParameter),
    ],
)
def test_refused(build, error):
    with pytest.raises(error):
        build()


def allocated_twice(mu, epsilon, count=1601):
    """One record in one of two Gaussian steps, by cells of the plane: delta from below and nearly exact."""
    edges = np.linspace(-9.0, 9.0 + mu, count)
    step = edges[1] - edges[0]
    x = 0.5 * (edges[1:] + edges[:-1])
    q = np.exp(-0.5 * x * x) * step / math.sqrt(2.0 * math.pi)
    ratio = np.exp(mu * x - mu * mu / 2.0)
    mixed = 0.5 * (ratio[:, None] + ratio[None, :])
    mass = q[:, None] * q[None, :]
    gamma = math.exp(epsilon)
    return float((mass * np.maximum(mixed - gamma, 0.0)).sum()), float(
        (mass * np.maximum(1.0 - gamma * mixed, 0.0)).sum()
    )


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_allocation_from_both_sides(mu):
    """The certified interval holds the integral over the plane and is narrow."""
    loss = privacy.RandomAllocation(privacy.GaussianLoss(1.0 / mu), 2)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        truth = max(allocated_twice(mu, epsilon))
        bound = accounting.delta(loss, epsilon=epsilon)
        assert bound.lower <= truth * (1.0 + 1e-5)
        assert truth <= bound.upper * (1.0 + 1e-5)
        assert bound.lower >= 0.98 * bound.upper


def test_a_lower_pair_that_is_spread_outwards_is_seen(monkeypatch):
    truth = max(allocated_twice(2.0, 2.0))
    below = privacy.RandomAllocation(privacy.GaussianLoss(0.5), 2).attained()
    assert below.variable("remove").enclose(2.0)[0] <= truth
    random_allocation._below.cache_clear()
    monkeypatch.setattr(random_allocation, "_merged", random_allocation._added)
    monkeypatch.setattr(random_allocation, "_NODES", 60)
    assert below.variable("remove").enclose(2.0)[0] > truth * (1.0 + 1e-5)
    random_allocation._below.cache_clear()


@pytest.mark.parametrize("pair", [((0.5, 0.5), (0.2, 0.8)), ((0.6, 0.3, 0.1), (0.1, 0.3, 0.6))])
def test_allocated_finite_pairs_from_both_sides(pair):
    p, q = (np.array(side) for side in pair)
    loss = privacy.RandomAllocation(privacy.FinitePairLoss(*pair), 3)
    whole = np.array([np.prod(w) for w in product(q, repeat=3)])
    mixed = (
        sum(
            np.array(
                [
                    np.prod([(p if i == place else q)[k] for i, k in enumerate(w)])
                    for w in product(range(len(p)), repeat=3)
                ]
            )
            for place in range(3)
        )
        / 3.0
    )
    for epsilon in (0.0, 0.2, 0.5):
        truth = max(hockey_stick(mixed, whole, epsilon), hockey_stick(whole, mixed, epsilon))
        bound = accounting.delta(loss, epsilon=epsilon)
        assert bound.lower <= truth + 1e-12
        assert truth <= bound.upper + 1e-12
        assert bound.lower >= 0.9 * truth


def test_a_truncated_sample_costs_at_least_plain_sampling():
    base = privacy.GaussianLoss(1.0)
    cut = privacy.Repeated(privacy.TruncatedPoissonSampled(base, 0.01, 150, 10_000), 100)
    plain = privacy.Repeated(privacy.PoissonSampled(base, 0.01), 100)
    ends = [accounting.epsilon(loss, delta=1e-5) for loss in (cut, plain)]
    assert ends[0].lower == pytest.approx(ends[1].lower, rel=1e-3)
    assert ends[0].lower <= ends[1].upper <= ends[0].upper
