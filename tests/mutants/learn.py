"""Bugs in private learning: less noise, a record that counts for more, a part that is not paid, a look at the data."""

from tests.mutants.mutant import Table

LEARN = Table("tests/learn/test_canaries.py -m 'not slow'", "tests/learn -m 'not slow'")
CANARY = "tests/learn/test_canaries.py -m 'not slow' -k '{}'"
LAWS = "tests/laws -m 'not slow' -k '{}'"


def plant(name: str, place: str, old: str, new: str, *tests: str) -> None:
    """Canaries and laws of the fit first, or the tests that are named, then all of the room."""
    LEARN.plant(name, place, old, new, *tests, *LEARN.tests)


# --- the price of objective perturbation ---

plant(
    "objective price: no Jacobian",
    "privacy:ObjectivePerturbationLoss._jacobian",
    'math.log1p(self.curvature / 4.0 if self.shape == "logistic" else self.curvature)',
    "math.log1p(0.0 * self.curvature)",
    "tests/learn/test_densities.py -k 'the_record_that_is_there or without_the_jacobian'",
)
plant(
    "objective price: the logistic curvature is that of no slope",
    "privacy:_concave_peak.highest",
    "value = a * t * z + 0.5 * (a * t) ** 2 + np.log1p(kappa * t * (1.0 - t))",
    "value = a * t * z + 0.5 * (a * t) ** 2 + np.log1p(kappa * t * t * (1.0 - t) * 0.25)",
    "tests/learn/test_densities.py -k 'the_record_that_is_there or without_the_jacobian'",
)
plant(
    "objective price: one record moves where two do",
    "privacy:ObjectivePerturbationLoss._delta",
    '_rayleigh(e, a) if self.shape == "general" else _folded(e, 2.0 * a)',
    '_rayleigh(e, a) if self.shape == "general" else _folded(e, a)',
    "tests/learn/test_densities.py -k 'replaced_record_is_attained'",
)
plant(
    "objective price: a plane is taken for a line",
    "privacy:ObjectivePerturbationLoss._delta",
    '_rayleigh(e, a) if self.shape == "general" else _folded(e, 2.0 * a)',
    '_folded(e, 2.0 * a) if self.shape == "general" else _folded(e, 2.0 * a)',
    "tests/learn/test_densities.py -k 'two_dimensions_stay'",
)
plant(
    "objective price: a sign that changes is taken for one that does not",
    "privacy:ObjectivePerturbationLoss._delta",
    'return _two_sided(epsilon, a) if self.shape == "general" else _folded(epsilon, a)',
    "return _folded(epsilon, a)",
    "tests/learn/test_densities.py -k 'adding_and_removing or two_dimensions_stay'",
)
plant(
    "objective price: composed by what holds at one epsilon",
    "privacy:ObjectivePerturbationLoss._delta",
    'loose if self.shape == "fixed_sign" else np.minimum(loose, _joint(epsilon, self._a, self.curvature, cells))',
    'loose if self.shape == "fixed_sign" else np.minimum(loose, gaussian_delta(self._a, np.maximum(epsilon, 0.0)))',
    "tests/learn/test_densities.py -k 'composition or without_the_jacobian'",
)

# --- objective and output perturbation ---

plant(
    "objective: half the noise",
    "learn:ObjectiveFit._linear",
    "noise.rounded_gaussian(sigma=self._grid.length(self.sigma),",
    "noise.rounded_gaussian(sigma=self._grid.length(self.sigma / 2.0),",
    CANARY.format("survives_where and objective_fit"),
)
plant(
    "pure objective: half the noise",
    "learn:PureObjectiveFit._linear",
    "scale, p = self._grid.length(self.scale), self._size",
    "scale, p = self._grid.length(self.scale / 2.0), self._size",
    CANARY.format("survives_where and pure_objective_fit"),
)
plant(
    "objective: B where its square belongs",
    "learn:strength_over",
    'whole = 1.0 if model.shape in ("logistic", "softmax") else model.smoothness',
    'whole = 0.25 if model.shape in ("logistic", "softmax") else model.smoothness',
    "tests/learn/test_attack.py -k 'the_promise_of_a_fit_holds'",
    "tests/learn/test_traps.py -k exact_law",
)
plant(
    "objective: the price forgets the Jacobian",
    "learn:ObjectiveFit._price",
    "ObjectivePerturbationLoss(multiplier, curvature, self.model.shape, unit=self.task.unit)",
    "ObjectivePerturbationLoss(multiplier, 0.0 * curvature, self.model.shape, unit=self.task.unit)",
    "tests/learn/test_traps.py -k 'exact_law'",
)
plant(
    "objective: noise is drawn again",
    "learn:_Fit._draw",
    "        minima = [minimiser(Objective(passes, self.model, self.strength, b), nearly) for b in terms]\n",
    "        try:\n"
    "            minima = [minimiser(Objective(passes, self.model, self.strength, b), nearly) for b in terms]\n"
    "        except Exception:\n"
    "            return self._draw(prepared, runs, source)\n",
    "tests/learn/test_traps.py -k 'never_drawn_again'",
)
plant(
    "objective: the tolerance is not covered",
    "learn:_Fit.__post_init__",
    "if self.output.sensitivity.value < Fraction(2) * Fraction(tolerance) / Fraction(strength):",
    "if False:",
    "tests/learn/test_attack.py -k 'output_noise_for_less'",
)
plant(
    "pure objective: one record moves where two do",
    "learn:pure_price",
    "return inner + (gradients - 1.0) * rate",
    "return inner",
    "tests/learn/test_analyses.py -k published_pure",
)
plant(
    "output: one record moves where two do",
    "learn:minimum_reach",
    'ends = (2 if unit.relation == "replace" else 1) * unit.group_size',
    "ends = unit.group_size",
    CANARY.format("survives_where and output_fit"),
)
plant(
    "output: the tolerance is not covered",
    "learn:minimum_reach",
    "moved = (ends * Fraction(loss.lipschitz) + 2 * Fraction(tolerance)) / Fraction(strength)",
    "moved = ends * Fraction(loss.lipschitz) / Fraction(strength)",
    "tests/learn/test_traps.py -k 'computed_minima'",
)
plant(
    "minimum: the certificate is ignored",
    "learn:minimiser",
    "        if found.bound <= tolerance:\n",
    "        if tolerance > 0.0:\n",
    "tests/learn/test_minimise.py",
)
plant(
    "minimum: the exact certificate is ignored",
    "learn:_certain",
    "if here.bound <= tolerance:",
    "if tolerance > 0.0:",
    "tests/learn/test_minimise.py -k spoils_the_certificate",
)
plant(
    "minimum: slopes of doubles are taken for those of pairs",
    "learn:exact_gradient",
    "each = error_of_slopes(loss, wide,",
    "each = error_of_slopes(loss, True,",
    "tests/learn/test_minimise.py -k as_far_off_as_they_say",
)
plant(
    "objective: a tolerance that rounding may exceed is taken",
    "learn:chosen_tolerance",
    "if given is not None and given < least:",
    "if given is not None and given < 0.0:",
    "tests/learn/test_tolerance.py -k refused",
)
plant(
    "minimum: rounding is not certified",
    "learn:Objective._rounding",
    "return _UNIT * (records * each + tiles + sums + rest)",
    "return 0.0",
    "tests/learn/test_minimise.py",
)

# --- rows and sums of clipped gradients ---

plant(
    "task: the intercept lies outside the bound",
    "learn:Task.length",
    "return self.row_norm * math.hypot(1.0, _INTERCEPT) if self.intercept else self.row_norm",
    "return self.row_norm",
    "tests/learn/test_task.py",
)
plant(
    "task: long rows are kept",
    "learn:Task._fill",
    "clip = np.minimum(1.0, self.row_norm * _SHRINK / lengths)",
    "clip = np.ones_like(lengths)",
    "tests/learn/test_task.py",
)
plant(
    "task: entries that stand twice count twice",
    "learn:Task._unit_csr",
    "        made.sum_duplicates()\n",
    "",
    "tests/learn/test_task.py",
)
plant(
    "task: rows with NaN are kept",
    "learn:Task._fill",
    "            made[bad] = 0.0\n",
    "            pass\n",
    "tests/learn/test_task.py",
)
plant(
    "task: rows round by where they stand",
    "learn:Task._unit_rows",
    'np.require(rows[piece], np.float64, ("C", "A"))',
    "np.asarray(rows[piece], dtype=np.float64)",
    "tests/learn/test_task.py",
)
plant(
    "gradients: no clip",
    "learn:grid_rows._clipped",
    "        cut = np.minimum(slopes, caps)\n        np.maximum(cut, -caps, out=cut)\n",
    "        cut = slopes.copy()\n",
    "tests/learn/test_grid_rows.py",
)
plant(
    "gradients: clipped after they are added up",
    "learn:_gradient",
    "steps = _clipped(loss.slope(rows @ w.T, targets), caps, exponent)",
    "steps = _clipped(loss.slope(rows @ w.T, targets), caps * len(targets), exponent)",
    "tests/learn/test_grid_rows.py",
)
plant(
    "gradients: several classes, each clipped by itself",
    "learn:grid_rows._clipped",
    "np.minimum(1.0, caps * _BELOW / np.sqrt(squares))",
    "np.minimum(1.0, caps * _BELOW / np.abs(slopes).max(axis=1))",
    "tests/learn/test_grid_rows.py",
)
plant(
    "gradients: half the reach",
    "learn:gradient_reach",
    "row_reach(clip_norm, unit, 1).times(1 / gradient_grid(clip_norm).step)",
    "row_reach(clip_norm, unit, 1).times(1 / (2 * gradient_grid(clip_norm).step))",
    CANARY.format("replaying and noisy_gd_fit"),
)
plant(
    "Gram: entries off the diagonal weigh too much",
    "learn:GridRows.gram",
    "np.where(first == second, 5, 7)",
    "np.where(first == second, 5, 10)",
    "tests/learn/test_grid_rows.py",
)
plant(
    "Gram: the root of two is dropped",
    "learn:gram_reach",
    "Fraction(math.nextafter(math.sqrt(2.0), 2.0))",
    "Fraction(1)",
    "tests/learn/test_grid_rows.py",
)
plant(
    "softmax: the root of two is dropped",
    "learn:Softmax.lipschitz",
    "return 1.4142135623730952",
    "return 1.0",
    "tests/learn/test_steps.py -k softmax",
)
plant(
    "logistic: a label beyond 1 counts for more",
    "learn:Logistic.slope",
    "halves = 0.5 * np.sign(targets)  #",
    "halves = 0.5 * targets  #",
    "tests/learn/test_attack.py -k 'no_target'",
)

# --- noisy steps ---

STEPS = "tests/learn/test_laws_of_fits.py"
plant(
    "noisy steps: one of them is paid",
    "learn:NoisyGDFit.loss",
    "steps = Repeated(self.noise.loss, self.steps)",
    "steps = Repeated(self.noise.loss, 1)",
    LAWS.format("noisy_gd_fit"),
)
plant(
    "noisy steps: the number of records is free",
    "learn:known_rows",
    "    if counting is None:\n",
    "    if data is not None:\n",
    LAWS.format("noisy_gd_fit"),
)
plant(
    "samples: divided by how many were drawn",
    "learn:NoisySGDFit._run",
    "noisy / self.expected_batch",
    "noisy / max(1, len(drawn))",
    "tests/learn/test_laws_of_fits.py -k a_sample_falls",
)
plant(
    "samples: always the same records",
    "learn:NoisySGDFit._run",
    "noise.poisson_subset(size, q=self.q, source=s)",
    "np.arange(round(size * self.q)) + 0 * noise.uniform_int(bound=2, source=s)",
    "tests/learn/test_laws_of_fits.py -k a_sample_falls",
)
plant(
    "samples: one record moves where two do",
    "learn:step_price",
    'return Grouped(sampled, 2 * unit.group_size, "replace")',
    'return Grouped(sampled, unit.group_size, "replace")',
    "tests/learn/test_laws_of_fits.py -k replaced_record",
)
plant(
    "one record a step: always the first",
    "learn:ProjectedSGDFit._run",
    "data.picked(place).gradient",
    "data.picked(0 * place).gradient",
    "tests/learn/test_traps.py -k 'one_of_a_step'",
)
plant(
    "preconditioned: the Gram is free",
    "learn:PreconditionedFit.loss",
    "return Composed((self.gram.loss, Repeated(self.noise.loss, self.steps)))",
    "return Repeated(self.noise.loss, self.steps)",
    "tests/learn/test_steps.py -k spends",
)
plant(
    "exponential: one record moves where two do",
    "learn:exponential.score_reach",
    'ends = task.unit.group_size * (2 if task.unit.relation == "replace" else 1)',
    "ends = task.unit.group_size",
    "tests/learn/test_more_solvers.py -k exchanged_record",
    CANARY.format("replaying and grid_exponential_fit"),
)
plant(
    "Frank-Wolfe: one choice is paid",
    "learn:FrankWolfeFit.loss",
    "return Repeated(self.best.loss, self.steps)",
    "return self.best.loss",
    "tests/learn/test_coordinates.py -k meet_their_target",
    "tests/learn/test_traps.py -k all_parts",
)

# --- sums of squares, moments, clusters ---

MOMENTS = "tests/learn/test_moments.py"
plant(
    "symmetric noise: too little off the diagonal",
    "learn:_HALF_ROOT",
    "_HALF_ROOT = math.sqrt(0.5)",
    "_HALF_ROOT = 0.5 * math.sqrt(0.5)",
    "tests/learn/test_sufficient_statistics.py -k noise_off",
)
plant(
    "symmetric noise: half of it on the diagonal",
    "learn:SymmetricGaussian._draw",
    "_doubles(self.noise, prepared[0], runs, source)",
    "_doubles(Gaussian(scale=self.noise.scale / 2.0, sensitivity=self.noise.sensitivity), prepared[0], runs, source)",
    "tests/learn/test_sufficient_statistics.py -k noise_off",
)
plant(
    "sums: a replaced record moves as one that comes",
    "learn:reach",
    'Fraction(replace if unit.relation == "replace" else add)',
    "Fraction(add)",
    CANARY.format("replaying"),
)
plant(
    "sums: what is out of bounds is not clipped",
    "learn:whole",
    "    made = np.minimum(values, 1.0)\n    np.maximum(made, -1.0, out=made)\n",
    "    made = np.array(values)\n",
    MOMENTS,
)
plant(
    "moments: every class has noise for itself alone",
    "learn:moment_reach",
    "apart = 2 * alone if classes > 1 else alone",
    "apart = alone",
    MOMENTS,
)
plant(
    "moments: the weight of counts is free",
    "learn:moment_reach",
    "count_weight(columns, unit) ** 2 + columns",
    "1 + columns",
    MOMENTS,
)
plant(
    "moments: squares are taken as they are",
    "learn:_moments",
    "np.square(steps) - counts[:, None]",
    "np.square(steps)",
    MOMENTS,
)
plant(
    "clusters: one round is paid",
    "learn:NoisyLloyd.loss",
    "return Repeated(self.noise.loss, self.rounds)",
    "return self.noise.loss",
    LAWS.format("noisy_lloyd"),
)
plant(
    "clusters: a record counts twice",
    "learn:_clusters",
    "counts = member.sum(axis=0) * float(STEPS**2)",
    "counts = 2.0 * member.sum(axis=0) * float(STEPS**2)",
    MOMENTS,
)
plant(
    "clusters: empty ones are seen",
    "learn:NoisyLloyd._run",
    "                if many <= blur:\n",
    "                if totals[k * (1 + columns)] == 0:\n",
    "tests/learn/test_traps.py -k 'empty_clusters'",
)

# --- estimators and search ---

SEARCH, TRIES = "learn/search/private_search.py", "tests/learn/test_search.py"
plant(
    "search: the score is not paid",
    "learn:SearchFit._tries",
    "(*losses_of(self.encoders_of(place), plan), self.judge.loss)",
    "(*losses_of(self.encoders_of(place), plan), *())",
    TRIES,
)
plant(
    "search: an encoder is not paid",
    "learn:losses_of",
    "(*(each.plan.loss for each in encoders if each.plan is not None), plan.loss)",
    "(plan.loss,)",
    "tests/learn/test_search_chains.py -k paid_for",
)
plant(
    "search: the score is exact",
    "learn:SearchFit._run",
    "score = self.judge.release(self._score(place, value, held), source=source).value",
    "score = float(self._score(place, value, held))",
    TRIES,
)
plant(
    "search: the number of tries is told",
    "learn:SearchFit",
    "        return best\n\n    def _number",
    '        return {**best, "tries": tries}\n\n    def _number',
    TRIES,
)
plant(
    "search: the number of tries is fixed",
    "learn:SearchFit._number",
    "return int(noise.truncated_negative_binomial(eta=eta, gamma=gamma, source=source))",
    "return round(self.mean) + 0 * int(noise.truncated_negative_binomial(eta=eta, gamma=gamma, source=source))",
    TRIES,
)
plant(
    "search: held-out records are fitted",
    "learn:SearchFit._run",
    "            fitted, held = in_two(\n",
    "            _, held = in_two(\n",
    "tests/learn/test_traps.py -k 'fits_no_record'",
)
plant(
    "a fit draws seeded noise",
    "learn:PrivateEstimator._paid",
    "return pay(plan, records, ledger=self.ledger, key=asked.key, about=asked.about)",
    "return plan.release(records, source=noise.Seeded(0))",
    "tests/learn/test_estimators.py",
)
plant(
    "no privacy under a ledger",
    "learn:PrivateEstimator._is_exact",
    '        if self.ledger is not None or current() is not None:\n            raise InvalidParameter("epsilon=inf',
    '        if False:\n            raise InvalidParameter("epsilon=inf',
    "tests/learn/test_estimators.py -k nothing_runs_while",
)
