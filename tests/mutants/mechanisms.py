"""Bugs in the mechanisms: too little noise, a forgotten count, a clip that is dropped, a door that looks at values."""

from tests.mutants.mutant import Table, stem

MECHANISMS = Table("tests/mechanisms", "tests/laws/test_mechanisms.py -m ''", "tests/audit/test_every_mechanism.py")

NOISE = "tests/mechanisms/test_noise_that_runs.py"

# Whose laws are asked first: a base is seen through the mechanisms that build on it.
MEMBERS = {
    "additive": "laplace or gaussian",
    "integer": "geometric or discrete",
    "records": "bounded",
    "response": "krr or randomized",
    "selection": "exponential or noisy or top_k",
    "vectors": "vector",
    "two_sided_geometric": "geometric",
    "counting": "count",
    "sensitivities": "histogram",
    "smooth_sensitivity": "smooth_median",
    "mechanism": "laplace or count",
    "target": "laplace or gaussian",
}


def plant(name: str, place: str, old: str, new: str, *tests: str) -> None:
    """The laws of the noise and of the mechanism first, since they take seconds, then its own tests, then everything."""
    member = stem(place)
    laws = f"tests/laws/test_mechanisms.py -m '' -k 'test_law and ({MEMBERS.get(member, member)})'"
    own = f"tests/mechanisms -k '{MEMBERS.get(member, member)}'"
    MECHANISMS.plant(name, place, old, new, *(tests or (NOISE, laws, own, *MECHANISMS.tests)))


plant(
    "additive: half the noise of one number",
    "mechanisms:AdditiveMechanism._draw",
    "drawn = self._noisy(rest, self._steps, source, size=runs)\n            return",
    "drawn = self._noisy(rest, self._steps / 2, source, size=runs)\n            return",
)
plant(
    "additive: half the noise of a list",
    "mechanisms:AdditiveMechanism._draw_ratios",
    "return self._finished(steps.plus(np.asarray(self._noisy(centers, self._steps, source))))",
    "return self._finished(steps.plus(np.asarray(self._noisy(centers, self._steps / 2, source))))",
)
plant(
    "additive: numbers that are no doubles stay 0",
    "mechanisms:AdditiveMechanism._draw",
    "if prepared.apart is not None:",
    "if prepared.apart is None:",
)
plant(
    "additive: integers are rounded to doubles before noise",
    "mechanisms:read_doubles",
    "if -_WHOLE <= top <= _WHOLE and bottom",
    "if bottom",
)
plant(
    "additive: the last bits of 64 are lost",
    "mechanisms:AdditiveMechanism._draw_whole",
    "added += last",
    "added += 0 * last",
)
plant(
    "additive: half the noise of an array",
    "mechanisms:AdditiveMechanism._draw_array",
    "drawn = np.asarray(self._noisy(np.broadcast_to(steps.rest, block.shape), self._steps, source))",
    "drawn = np.asarray(self._noisy(np.broadcast_to(steps.rest, block.shape), self._steps / 2, source))",
)
plant(
    "additive: one noise for all coordinates",
    "mechanisms:AdditiveMechanism._draw_array",
    "block[:] = self._finished(steps.plus(drawn))",
    "block[:] = self._finished(steps.plus(np.broadcast_to(drawn[:, :1], drawn.shape)))",
)
plant(
    "additive: half the noise inside other mechanisms",
    "mechanisms:AdditiveMechanism._protect",
    "noisy = self._noisy(rest, self._steps, source, size=runs)\n        return [self._grid",
    "noisy = self._noisy(rest, self._steps / 2, source, size=runs)\n        return [self._grid",
)
plant(
    "additive: a bar of half the width",
    "mechanisms:AdditiveMechanism.error",
    "return ErrorBar(self._quantile(tail) + self.step / 2.0, confidence, of, self._expected(k))",
    "return ErrorBar(self._quantile(tail) / 2.0, confidence, of, self._expected(k))",
)
plant(
    "additive: a bar for one coordinate only",
    "mechanisms:AdditiveMechanism.error",
    'tail = -math.expm1(math.log(open_fraction("confidence", confidence)) / k)',
    'tail = -math.expm1(math.log(open_fraction("confidence", confidence)) * 1)',
)
plant(
    "integer: half the noise of one number",
    "mechanisms:IntegerMechanism._draw",
    "sums = [self._finish(prepared + drawn) for drawn in self._noise((runs,), source).tolist()]",
    "sums = [self._finish(prepared + drawn // 2) for drawn in self._noise((runs,), source).tolist()]",
)
plant(
    "integer: half the noise of an array",
    "mechanisms:IntegerMechanism._draw",
    "noisy = _saturating_sum(part, self._noise((runs, len(part)), source))",
    "noisy = _saturating_sum(part, self._noise((runs, len(part)), source) // 2)",
)
plant(
    "integer: the noise saturates, not the sum",
    "mechanisms:_saturating_sum",
    "return np.where(wrapped, ends, total)",
    "return np.where(wrapped, exact, total)",
)
plant(
    "integer: a fractional sensitivity is rounded down",
    "mechanisms:whole_sensitivity",
    "if sensitivity.value.denominator != 1:",
    "if False:",
)
plant(
    "Laplace: the price of twice the noise",
    "mechanisms:LaplaceScale.loss",
    "return LaplaceLoss(scale=ratio_down(self.scale, self.sensitivity.value), unit=self.sensitivity.unit)",
    "return LaplaceLoss(scale=2.0 * ratio_down(self.scale, self.sensitivity.value), unit=self.sensitivity.unit)",
)
plant(
    "Laplace: the unit is forgotten",
    "mechanisms:LaplaceScale.loss",
    "return LaplaceLoss(scale=ratio_down(self.scale, self.sensitivity.value), unit=self.sensitivity.unit)",
    "return LaplaceLoss(scale=ratio_down(self.scale, self.sensitivity.value))",
)
plant(
    "Laplace: takes an l2 sensitivity",
    "mechanisms:AdditiveMechanism.__post_init__",
    "set_frozen(self, sensitivity=as_sensitivity(self.sensitivity, norm=self._norm))",
    "set_frozen(self, sensitivity=self.sensitivity)",
)
plant(
    "Gaussian: sigma without the sensitivity",
    "mechanisms:Gaussian._fields_for",
    'return {"scale": scale_for(_multiplier(target), sensitivity)}',
    'return {"scale": scale_for(_multiplier(target), sensitivity / sensitivity)}',
)
plant(
    "Gaussian: the price of one coordinate too few",
    "mechanisms:Gaussian.loss",
    "return GaussianLoss(ratio_down(self.scale, self.sensitivity.value), unit=self.sensitivity.unit)",
    "return GaussianLoss(1.5 * ratio_down(self.scale, self.sensitivity.value), unit=self.sensitivity.unit)",
)
plant(
    "Gaussian: the classic formula from 1 on",
    "mechanisms:Gaussian.classic",
    "if target.epsilon is None or target.epsilon >= 1.0 or target.delta == 0.0:",
    "if target.epsilon is None or target.delta == 0.0:",
)
plant(
    "discrete Gaussian: a scalar curve for vectors",
    "mechanisms:discrete_gaussian._price",
    "    if dimension == 1:\n        return DiscreteGaussianLoss",
    "    if dimension >= 1:\n        return DiscreteGaussianLoss",
)
plant(
    "discrete Gaussian: more coordinates than were priced",
    "mechanisms:DiscreteGaussian._check_size",
    "if size is not None and size != self.dimension:",
    "if size is not None and size < self.dimension:",
)
plant(
    "two-sided geometric: the sensitivity is forgotten",
    "mechanisms:GeometricNoise.loss",
    "DiscreteLaplaceLoss(self.scale, whole_sensitivity(self.sensitivity), unit=",
    "DiscreteLaplaceLoss(self.scale, 1, unit=",
)
plant(
    "randomized response: a lie may be the truth",
    "mechanisms:ResponseMechanism._draw",
    "report += report >= true",
    "report += report > true",
)
plant(
    "randomized response: honest more often",
    "mechanisms:ResponseMechanism._draw",
    "honest = noise.bernoulli(p=self.truth, size=size, source=source)",
    "honest = noise.bernoulli(p=(1 + self.truth) / 2, size=size, source=source)",
)
plant(
    "randomized response: the lie is rounded down",
    "mechanisms:chance_for",
    "lie = math.ceil(Fraction(odds / (1 + odds)) * 2**bits)",
    "lie = max(1, math.floor(Fraction(odds / (1 + odds)) * 2**bits * Fraction(9, 10)))",
)
plant(
    "selection: reach of monotone scores for all",
    "mechanisms:SelectionMechanism._reach",
    "return Fraction(1 if self.monotonic else 2)",
    "return Fraction(1)",
)
plant(
    "selection: monotone under replace",
    "mechanisms:check_monotonic",
    'if flag("monotonic", monotonic) and (unit.relation == "replace" or unit.group_size > 1):',
    'if flag("monotonic", monotonic) and unit.group_size > 1:',
)
plant(
    "selection: the rest of the scores decides",
    "mechanisms:NoisyMax._choose",
    "argmax, scale = _ARGMAX[self.noise], Fraction(self.scale)",
    "argmax, scale = _ARGMAX[self.noise], Fraction(self.scale) / 2",
)
plant(
    "permute and flip: half the scale",
    "mechanisms:PermuteAndFlip._choose",
    "        scale = Fraction(self.scale)\n",
    "        scale = Fraction(self.scale) / 2\n",
)
plant(
    "exponential: half the scale",
    "mechanisms:Exponential._choose",
    "scale=Fraction(self.scale)",
    "scale=Fraction(self.scale) / 2",
)
plant(
    "top k: the price of one choice",
    "mechanisms:TopK._price",
    "return Repeated(one, self.k)",
    "return Repeated(one, 1)",
)
plant(
    "gap: price without the reach",
    "mechanisms:NoisyMaxGap.loss",
    "return self._price(up(self._reach * moved / self._steps(self.scale)))",
    "return self._price(up(moved / self._steps(self.scale)))",
)
plant(
    "gap: half the noise",
    "mechanisms:NoisyMaxGap._draw",
    "noise.discrete_laplace(scale=self._steps(self.scale), size=shape, source=source)",
    "noise.discrete_laplace(scale=self._steps(self.scale) / 2, size=shape, source=source)",
)
plant(
    "gap: the noise of the runner-up is left out",
    "mechanisms:NoisyMaxGap._draw",
    "names = [int(i) if",
    "gaps = noisy[np.arange(runs), first] - np.sort(prepared)[-2]\n        names = [int(i) if",
)
plant(
    "staircase: steps of half the width",
    "mechanisms:Staircase._noisy",
    "width = scale * self._epsilon  # of a step, in the same units as `scale`",
    "width = scale * self._epsilon / 2",
)
plant("staircase: arrays are welcome", "mechanisms:Staircase._admit", "if not is_number(value) and (", "if False and (")
plant(
    "vectors: rows are not clipped",
    "mechanisms:clipped_steps",
    "shrink = np.where(norm > clip_norm, clip_norm / norm, 1.0)",
    "shrink = np.where(norm > 2 * clip_norm, 2 * clip_norm / norm, 1.0)",
)
plant("vectors: too long rows stay", "mechanisms:clipped_steps", "        if not len(long):\n", "        if True:\n")
plant(
    "vectors: replace moves one row only",
    "mechanisms:row_reach",
    'ends = 2 if neighbours.relation == "replace" else 1',
    "ends = 1",
)
plant(
    "vectors: rows of a person are forgotten",
    "mechanisms:row_reach",
    'rows = count("max_rows", max_rows, 1) * neighbours.group_size\n    return Sensitivity(length',
    "rows = neighbours.group_size\n    return Sensitivity(length",
)
plant(
    "vector mean: the count is free",
    "mechanisms:VectorMean._square",
    "return 2 if self.n is None else 1\n",
    "return 1\n",
)
plant(
    "records: bounds are not applied",
    "mechanisms:clean_doubles",
    "    return np.clip(kept, *bounds)\n",
    "    return np.clip(kept, -1e15, 1e15)\n",
)
plant(
    "records: rows of a person are forgotten",
    "mechanisms:row_sensitivity",
    'rows = count("max_rows", max_rows, 1) * neighbours.group_size\n    return Sensitivity(value * rows',
    "rows = neighbours.group_size\n    return Sensitivity(value * rows",
)
plant(
    "records: the size of a group is forgotten",
    "mechanisms:row_sensitivity",
    'rows = count("max_rows", max_rows, 1) * neighbours.group_size\n    return Sensitivity(value * rows',
    'rows = count("max_rows", max_rows, 1)\n    return Sensitivity(value * rows',
)
plant(
    "records: half the noise of several totals",
    "mechanisms:_drawn",
    "drawn = np.asarray(noise._noisy(centers, scale, source))",
    "drawn = np.asarray(noise._noisy(centers, scale / 2, source))",
)
plant(
    "records: half the noise of one total",
    "mechanisms:noisy_steps",
    "drawn = noise._noisy(rest, scale, source, size=runs)",
    "drawn = noise._noisy(rest, scale / 2, source, size=runs)",
)
plant(
    "records: dropping under replace",
    "mechanisms:public_missing",
    '        if unit.relation != "add_remove":\n            raise InvalidParameter(\n                \'missing="drop"',
    '        if False:\n            raise InvalidParameter(\n                \'missing="drop"',
)
plant(
    "mean: a public count under add/remove",
    "mechanisms:check_public_count",
    'if unit.relation != "replace" and n is not None:',
    "if False:",
)
plant(
    "mean: several records under replace",
    "mechanisms:check_public_count",
    'if unit.relation == "replace" and max_rows > 1:',
    "if False:",
)
plant(
    "sum: a record comes for free under replace",
    "mechanisms:bounded_sum._moves",
    'steps = highest - lowest if unit.relation == "replace" else 0',
    "steps = 0",
)
plant(
    "variance: l1 of a smaller table",
    "mechanisms:_shift",
    'return Fraction(9 if norm == "l1" else 8, 4) + _SLACK',
    'return Fraction(8 if norm == "l1" else 7, 4) + _SLACK',
)
plant(
    "variance: rounding of squares is free",
    "mechanisms:_shift",
    'return Fraction(1) if norm == "l1" else Fraction(3, 2)',
    'return Fraction(1) if norm == "l1" else Fraction(4, 3)',
)
plant(
    "count: rows of a person are forgotten",
    "mechanisms:CountingMechanism.__post_init__",
    "if bound.value < self.max_rows * bound.unit.group_size:",
    "if bound.value < 1:",
)
plant(
    "histogram: one bin moves under replace",
    "mechanisms:histogram_sensitivity",
    "patterns = [(1, 0), (0, 1)]",
    "patterns = [(1, 0), (0, 0)]",
)
plant(
    "histogram: a smaller noise is taken",
    "mechanisms:Histogram.__post_init__",
    "if bound.value < histogram_sensitivity(norm=bound.norm, unit=bound.unit, max_rows=self.max_rows).value:",
    "if False:",
)
plant(
    "quantile: an exchange moves a rank by half",
    "mechanisms:Quantile.sensitivity",
    'one = max(self.q, 1 - self.q) if self.unit.relation == "add_remove" else Fraction(1)',
    "one = max(self.q, 1 - self.q)",
)
plant(
    "quantile: rows of a person are forgotten",
    "mechanisms:Quantile.sensitivity",
    "return one * self.unit.group_size * self.max_rows",
    "return one * self.unit.group_size",
)
plant(
    "quantile: price without the factor 2",
    "mechanisms:Quantile.loss",
    "return ExponentialLoss(up(2 * self.sensitivity / Fraction(self.scale)), unit=self.unit)",
    "return ExponentialLoss(up(self.sensitivity / Fraction(self.scale)), unit=self.unit)",
)
plant(
    "threshold: no noise on it",
    "mechanisms:AboveThreshold._noisy_threshold",
    "return self._rounded(np.array([self.threshold])) + self._noise(self.threshold_scale, (runs, 1), source)",
    "return self._rounded(np.array([[self.threshold]])).repeat(runs, axis=0)",
)
plant(
    "threshold: half the noise of queries",
    "mechanisms:AboveThreshold._leads",
    "self._noise(self.query_scale, queries.shape, source) - threshold",
    "self._noise(self.query_scale / 2, queries.shape, source) - threshold",
)
plant(
    "threshold: numbers with the noise that was compared",
    "mechanisms:AboveThreshold._draw",
    "numbers = leads * self.step if self.gaps else self._numbers(queries, source)",
    "numbers = leads * self.step",
)
plant(
    "threshold: a positive answer is not counted",
    "mechanisms:ThresholdStream._compare",
    "self._left -= lead >= 0",
    "self._left -= 0",
)
plant(
    "threshold: numbers are free",
    "mechanisms:AboveThreshold.loss",
    "return Composed((signs, Repeated(one, c)))",
    "return signs",
)
plant(
    "threshold: a stream in two processes",
    "mechanisms:ThresholdStream._compare",
    "if self._process != os.getpid():",
    "if False:",
)
plant(
    "propose-test-release: half the noise of the value",
    "mechanisms:ProposeTestRelease._draw",
    "released = self.noise._protect(value, runs, source)",
    "released = [value + (x - value) / 2 for x in self.noise._protect(value, runs, source)]",
)
plant(
    "propose-test-release: no noise in the test",
    "mechanisms:ProposeTestRelease._draw",
    "seen = self.test._protect(Fraction(distance), runs, source)",
    "seen = [Fraction(distance)] * runs",
)
plant(
    "propose-test-release: the threshold is halved",
    "mechanisms:ProposeTestRelease.threshold",
    "return self.test.scale * -math.log(2.0 * self.delta)",
    "return 0.5 * self.test.scale * -math.log(2.0 * self.delta)",
)
plant(
    "propose-test-release: no half step",
    "mechanisms:ProposeTestRelease._draw",
    "+ Fraction(self.test.step) / 2",
    "",
    "tests/mechanisms/test_ptr.py -k half_a_step",
)
plant(
    "propose-test-release: rows of a person are forgotten",
    "mechanisms:StableMedian.exact_distance",
    "return edits // self.max_rows",
    "return edits",
)
plant(
    "smooth median: half the noise",
    "mechanisms:SmoothMedian._draw",
    "scale = coarser.length(Fraction(smooth) / Fraction(self.share))",
    "scale = coarser.length(Fraction(smooth) / Fraction(self.share)) / 2",
)
plant(
    "smooth median: the local sensitivity alone",
    "mechanisms:SmoothMedian._prepare",
    "return int(padded[middle]), max(_FLOOR, _smooth_sensitivity(padded, middle, self.beta))",
    "return int(padded[middle]), max(_FLOOR, _smooth_sensitivity(padded, middle, 50.0))",
)
plant(
    "budget: rounded to the wrong side",
    "mechanisms:scale_for",
    "return up(Fraction(multiplier) * sensitivity)",
    "return down(Fraction(multiplier) * sensitivity) * (1 - 2.0**-40)",
)
plant(
    "budget: the price is rounded down",
    "mechanisms:ratio_down",
    "return down(Fraction(scale) / sensitivity)",
    "return up(Fraction(scale) / sensitivity) * (1 + 2.0**-40)",
)
plant(
    "budget: delta is ignored",
    "privacy:Guarantee.covers",
    "return loss.pure() <= self.epsilon if self.delta == 0.0 else bool(loss.profile(self.epsilon) <= self.delta)",
    "return loss.pure() <= self.epsilon if self.delta == 0.0 else bool(loss.profile(self.epsilon) <= 2.0 * self.delta)",
)
plant(
    "door: seeded noise is not stamped",
    "mechanisms:Mechanism._made",
    "insecure = _is_insecure(source)",
    "insecure = False",
)
plant(
    "door: the release names another price",
    "mechanisms:Mechanism._made",
    "            loss=self.loss,\n",
    "            loss=__import__('privet').privacy.PureLoss(1e-3, unit=self.unit),\n",
)
plant(
    "door: a ledger in force is not asked",
    "mechanisms:Mechanism._pass",
    "return pay(self, value, run, source)\n",
    "return run()\n",
    "tests/ledger",
)
plant(
    "whole: a seeded part passes for secure",
    "mechanisms:body_of",
    "if body.insecure and secure:",
    "if body.insecure and not secure:",
    "tests/seams/test_algorithms.py -k seeded",
)
