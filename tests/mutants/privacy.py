"""Bugs in the price language: a price below the truth, or one that is not a value."""

from tests.mutants.mutant import Table, stem

PRIVACY = Table("tests/privacy", "tests/laws/test_losses.py", "tests/accounting", "tests/laws")

# Whose laws are asked first: a base is seen through the prices that build on it.
MEMBERS = {
    "normal": "gaussian-",
    "normal_loss": "gaussian-",
    "loss": "pure or laplace",
    "unit": "composed",
    "composed": "composed or repeated",
    "k_rr": "krr or k_rr",
}


def plant(name: str, place: str, old: str, new: str) -> None:
    """The laws of the price first, since they take seconds, then its own tests, then everything."""
    member = stem(place)
    laws = f"tests/laws/test_losses.py -m '' -k 'test_every_law and ({MEMBERS.get(member, member)})'"
    own = f"tests/privacy -k '{member}'"
    PRIVACY.plant(name, place, old, new, laws, own, *PRIVACY.tests)


plant(
    "Gaussian: mu of half the distance",
    "privacy:GaussianLoss.mu",
    "return ratio_up(1.0, self.noise_multiplier)",
    "return ratio_up(0.5, self.noise_multiplier)",
)
plant(
    "Gaussian: a group costs its root",
    "privacy:GaussianLoss.grouped",
    "GaussianLoss(ratio_down(self.noise_multiplier, size), unit=self.unit)",
    "GaussianLoss(self.noise_multiplier / size**0.5, unit=self.unit)",
)
plant(
    "GDP: a group is one record",
    "privacy:GdpLoss.grouped",
    "GdpLoss(product_up(self.mu, size), unit=self.unit)",
    "GdpLoss(self.mu, unit=self.unit)",
)
plant(
    "GDP: a group costs its root",
    "privacy:GdpLoss.grouped",
    "GdpLoss(product_up(self.mu, size), unit=self.unit)",
    "GdpLoss(self.mu * size**0.5, unit=self.unit)",
)
plant(
    "zCDP: a group costs its size, not the square",
    "privacy:ZcdpLoss.grouped",
    "product_up(self.rho, size, size)",
    "product_up(self.rho, size)",
)
plant(
    "pure: a group costs its root",
    "privacy:PureLoss.grouped",
    "PureLoss(product_up(self.epsilon, size), unit=self.unit)",
    "PureLoss(self.epsilon * size**0.5, unit=self.unit)",
)
plant(
    "Laplace: a group is one record",
    "privacy:LaplaceLoss.grouped",
    "LaplaceLoss(ratio_down(self.scale, size), unit=self.unit)",
    "LaplaceLoss(self.scale, unit=self.unit)",
)
plant(
    "Laplace: a group costs its root",
    "privacy:LaplaceLoss.grouped",
    "LaplaceLoss(ratio_down(self.scale, size), unit=self.unit)",
    "LaplaceLoss(self.scale / size**0.5, unit=self.unit)",
)
plant(
    "Laplace: density of the other side",
    "privacy:LaplaceVariable.atoms",
    "side = np.array([math.exp(-e) / 2.0, 0.5])",
    "side = np.array([math.exp(-e) / 2.0, 0.45])",
)
plant(
    "Laplace: curve of twice the scale",
    "privacy:LaplaceVariable.delta",
    "inside = -np.expm1((np.minimum(e, self.epsilon) - self.epsilon) / 2.0) + 0.0",
    "inside = -np.expm1((np.minimum(e, self.epsilon) - self.epsilon) / 4.0) + 0.0",
)
plant(
    "Laplace: Renyi of order a for a - 1",
    "privacy:LaplaceLoss.rdp",
    "return RdpCurve(np.minimum(value, np.minimum(e, line)), 0.0)",
    "return RdpCurve(np.minimum(value, np.minimum(e, line / 2.0)), 0.0)",
)
plant(
    "discrete Laplace: a group is one record",
    "privacy:DiscreteLaplaceLoss.grouped",
    "self.sensitivity * size, unit=self.unit)",
    "self.sensitivity, unit=self.unit)",
)
plant(
    "discrete Laplace: the pair forgets the sensitivity",
    "privacy:DiscreteLaplaceLoss.variable",
    "shifted_geometric(1.0 / self.scale, self.sensitivity)",
    "shifted_geometric(1.0 / self.scale, 1)",
)
plant(
    "geometric: a group is one record",
    "privacy:GeometricLoss.grouped",
    "self.sensitivity * size, unit=self.unit)",
    "self.sensitivity, unit=self.unit)",
)
plant(
    "geometric: the pair forgets the sensitivity",
    "privacy:GeometricLoss.variable",
    "shifted_geometric(-math.log(self.ratio), self.sensitivity)",
    "shifted_geometric(-math.log(self.ratio), 1)",
)
plant(
    "discrete Gaussian: a group is one record",
    "privacy:DiscreteGaussianLoss.grouped",
    "self.sensitivity * size, self.dimension, unit=self.unit)",
    "self.sensitivity, self.dimension, unit=self.unit)",
)
plant(
    "discrete Gaussian: half of rho",
    "privacy:DiscreteGaussianLoss.zcdp",
    "square_up(ratio_up(self.sensitivity, self.sigma)) / 2.0",
    "square_up(ratio_up(self.sensitivity, self.sigma)) / 4.0",
)
plant(
    "discrete Gaussian: a scalar pair in every dimension",
    "privacy:DiscreteGaussianLoss.variable",
    "if self.dimension > 1 or self.sigma",
    "if self.sigma",
)
plant(
    "randomized response: lies too rarely",
    "privacy:RandomizedResponseLoss.lie_probability",
    "return 1.0 / (1.0 + math.exp(self.epsilon)) if",
    "return 0.9 / (1.0 + math.exp(self.epsilon)) if",
)
plant(
    "k-RR: a truth too few",
    "privacy:KRRLoss.variable",
    "truth = 1.0 / (1.0 + (self.k - 1) * math.exp(-self.epsilon))",
    "truth = 1.0 / (1.0 + self.k * math.exp(-self.epsilon))",
)
plant(
    "exponential: monotone for all",
    "privacy:ExponentialLoss.range",
    "return self.epsilon / 2.0 if self.monotonic else self.epsilon",
    "return self.epsilon / 2.0",
)
plant(
    "exponential: rho of a bounded range halved",
    "privacy:ExponentialLoss.zcdp",
    "square_up(self.range) / 8.0",
    "square_up(self.range) / 16.0",
)
plant(
    "approx: delta is forgotten",
    "privacy:ApproxLoss.approximate",
    "return Approximate(self.epsilon, self.delta)",
    "return Approximate(self.epsilon, 0.0)",
)
plant(
    "rdp: delta0 is forgotten",
    "privacy:RdpLoss.rdp",
    "return RdpCurve(np.where(orders > known[-1], math.inf, result), self.delta0)",
    "return RdpCurve(np.where(orders > known[-1], math.inf, result), 0.0)",
)
plant(
    "rdp: beyond the last order its value serves",
    "privacy:RdpLoss.rdp",
    "np.where(orders > known[-1], math.inf, result)",
    "np.where(orders > known[-1], values[-1], result)",
)
plant(
    "composed: counts are forgotten",
    "privacy:merge_parts",
    "counts[part] = counts.get(part, 0) + n",
    "counts[part] = n",
)
plant(
    "composed: mu adds up under the root",
    "privacy:Total.gdp",
    "return round_up(math.sqrt(sum_up((square_up(mu), n) for mu, n in mus)))",
    "return round_up(math.sqrt(sum_up((square_up(mu), 1) for mu, n in mus)))",
)
plant(
    "composed: deltas are not added",
    "privacy:Total",
    "return Approximate(epsilon, min(1.0, delta))\n\n    def zcdp",
    "return Approximate(epsilon, max((point[1] for point, _ in points), default=0.0))\n\n    def zcdp",
)
plant(
    "composed: groups of the first part only",
    "privacy:Total._of_known",
    "known = [Repeated(group, n) for group, n in groups if group is not None]",
    "known = [Repeated(group, 1) for group, n in groups if group is not None]",
)
plant(
    "grouped: pure price of one",
    "privacy:Grouped.pure",
    "return product_up(self.size, self.of.pure())",
    "return self.of.pure()",
)
plant(
    "grouped: rho without the square",
    "privacy:Grouped.zcdp",
    "ZcdpBound(product_up(rho, self.size, self.size), 0.0)",
    "ZcdpBound(product_up(rho, self.size), 0.0)",
)
plant(
    "grouped: delta does not grow",
    "privacy:Grouped.approximate",
    "math.exp(min(0.0, math.log(delta) + growth))",
    "delta",
)
plant(
    "sampled: the mixture is the base",
    "privacy:SampledVariable.atoms",
    "mixed = (1.0 - self.q) * q + self.q * p",
    "mixed = (1.0 - self.q * self.q) * q + self.q * self.q * p",
)
plant(
    "sampled: cells of a smaller rate",
    "privacy:SampledVariable.cells",
    "return (1.0 - self.q) * q + self.q * p, q\n",
    "return (1.0 - 0.5 * self.q) * q + 0.5 * self.q * p, q\n",
)
plant(
    "sampled: replace is welcome",
    "privacy:PoissonSampled.__post_init__",
    'inner = of_one_record(self.of, relation="add_remove", name="Poisson sampling", coin=self.coin)',
    "inner = self.of.simplest()",
)
plant(
    "sampled: the add direction is the remove one",
    "privacy:PoissonSampled.variable",
    'self._removed if direction == "remove" else self._added',
    "self._removed",
)
plant(
    "sampled Gaussian: Renyi of a smaller rate",
    "privacy:PoissonSampled.rdp",
    "sampled_gaussian_rdp(self.q, mu, a)",
    "sampled_gaussian_rdp(0.9 * self.q, mu, a)",
)
plant(
    "fixed sample: add/remove is welcome",
    "privacy:FixedSampled.__post_init__",
    'of_one_record(self.of, relation="replace", name="sampling a fixed number without replacement", coin=self.coin)',
    "self.of.simplest()",
)
plant(
    "sampling: rows of a person with coins of their own",
    "privacy:of_one_record",
    'if of.unit.person is not None and coin == "record":',
    "if False:",
)
plant(
    "fixed sample: rate m - 1 of n",
    "privacy:FixedSampled.q",
    "return self.m / self.n",
    "return (self.m - 1) / self.n if self.m > 1 else self.m / self.n",
)
plant(
    "normal: curve of a smaller mu",
    "privacy:gaussian_delta",
    "below, above = e / mu - mu / 2.0, e / mu + mu / 2.0",
    "below, above = e / mu - mu / 2.1, e / mu + mu / 2.1",
)
plant(
    "normal: Renyi divergence halved",
    "privacy:NormalLoss.rdp",
    "orders_of(alphas) * self.zcdp().rho * (1.0 + 4.0 * UNIT_ROUNDOFF)",
    "orders_of(alphas) * self.zcdp().rho / 2.0",
)
plant(
    "default zCDP of a pure price",
    "privacy:PrivacyLoss.zcdp",
    "ZcdpBound(square_up(epsilon) / 2.0, delta)",
    "ZcdpBound(square_up(epsilon) / 8.0, delta)",
)
plant(
    "default profile: one direction",
    "privacy:PrivacyLoss.profile",
    'return np.maximum(self.variable("remove").delta(at), self.variable("add").delta(at))',
    'return self.variable("remove").delta(at)',
)
plant(
    "default mu of a pure price",
    "privacy:PrivacyLoss.gdp",
    "-2.0 * ndtri(1.0 / (1.0 + math.exp(epsilon)))",
    "-1.9 * ndtri(1.0 / (1.0 + math.exp(epsilon)))",
)
plant(
    "finite pair: losses that only P shows",
    "privacy:FinitePairLoss.pure",
    "if self._forward.p_only > 0.0 or self._forward.q_only > 0.0:",
    "if False:",
)
plant("unit: relations mix", "privacy:same_unit", "if other != first:", "if other.group_size != first.group_size:")
plant("unit: group sizes mix", "privacy:same_unit", "if other != first:", "if other.relation != first.relation:")
plant(
    "parallel: the cheapest block",
    "privacy:Parallel.pure",
    "return max(block.pure() for block in self.blocks)",
    "return min(block.pure() for block in self.blocks)",
)
plant(
    "parallel: rho of the cheapest block",
    "privacy:Parallel.zcdp",
    "max(b.rho for b in bounds)",
    "min(b.rho for b in bounds)",
)
plant(
    "parallel: replace is welcome",
    "privacy:Parallel.__init__",
    'if not fixed_blocks and (shared.relation == "replace" or shared.group_size > 1):',
    "if not fixed_blocks and shared.group_size > 1:",
)
plant(
    "selected: as if run once",
    "privacy:Selected.pure",
    "product_up(sum_up([(2.0, 1), (self.eta, 1)]), self.of.pure())",
    "product_up(sum_up([(1.0, 1), (self.eta, 1)]), self.of.pure())",
)
plant(
    "selected: the mean is free",
    "privacy:Selected._at_order",
    "spread = max(0.0, math.log(self.mean)) / (orders - 1.0)",
    "spread = 0.0",
)

_SPLIT = "tests/privacy/test_guarantee_split.py"
for _name, _place, _old, _new in (
    ("split: the square of mu is shared as mu", "share", "math.sqrt(part)", "part**0.25"),
    ("split: all of delta for each", "share", "_held(self.delta * share)", "self.delta"),
    ("split: shares may exceed the whole", "split", "1.0 + 2.0**-50", "2.0"),
    ("as mu: rho taken for mu", "as_mu", "math.sqrt(2.0 * self.rho)", "2.0 * math.sqrt(self.rho)"),
    ("a group: rho grows with its size", "for_each_of", "self.rho / size**2", "self.rho / size"),
    ("a group: delta is shared evenly", "for_each_of", "_held(self.delta * share * _SHARED)", "self.delta / size"),
    ("rest: other parts are free", "rest", "Composed((*spent, GaussianLoss", "Composed((*spent[1:], GaussianLoss"),
    (
        "rest: mu adds up like epsilon",
        "_left",
        "self.mu**2 - math.fsum(each.gdp() ** 2",
        "self.mu - math.fsum(each.gdp()",
    ),
):
    PRIVACY.plant(_name, f"privacy:Guarantee.{_place}", _old, _new, _SPLIT)
plant(
    "truncated: a cap is an exact number",
    "privacy:TruncatedPoissonSampled._told",
    "variable_of_envelope([plain, *(self._of_crowd(chance, rate, plain, swap) for chance, rate in crowds)])",
    "self._of_crowd(*crowds[-1], plain, swap)",
)
plant(
    "truncated: the rate of twice as many records",
    "privacy:TruncatedPoissonSampled._full",
    "* (batch / records)",
    "* (batch / records / 2.0)",
)
plant(
    "Skellam: outcomes are listed as if the query did not move",
    "privacy:_shifted_skellam",
    "_reach_of(variance) + shift",
    "_reach_of(variance)",
)
