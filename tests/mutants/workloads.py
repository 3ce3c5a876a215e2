"""Bugs in the workloads: a level or a pair that no price knows, noise of the wrong weight, streams that answer twice."""

from tests.mutants.mutant import Table

_LAWS = "tests/laws/test_mechanisms.py -m '' -k 'test_law and (linear_queries or tree_count or square_root_count)'"
WORKLOADS = Table(
    "tests/workloads/test_designs.py",
    "tests/workloads/test_release.py tests/workloads/test_newcomer.py",
    "tests/workloads/test_streams.py tests/workloads/test_intervals.py tests/workloads/test_several_dimensions.py",
    "tests/workloads/test_golden.py tests/workloads/test_inference.py tests/workloads/test_lectures.py",
    _LAWS,
)
plant = WORKLOADS.plant
STREAMS = ("tests/workloads/test_streams.py", _LAWS)

# What the issue of this room names.
plant(
    "noise that does not know the weight of its level",
    "workloads:LinearQueries._draw",
    "drawn = whole_noise(self.norm, Fraction(self.scale) / weight, (runs, size), source)",
    "drawn = whole_noise(self.norm, Fraction(self.scale), (runs, size), source)",
)
plant(
    "least squares with the weight of the leaves on every level",
    "workloads:Tree.reconstruct",
    "own_variance = [1.0 / float(weight) ** 2 for weight in self.weights]",
    "own_variance = [1.0 / float(self.weights[0]) ** 2 for weight in self.weights]",
)
plant(
    "tree: a level is forgotten in the price",
    "workloads:Tree._longest",
    'weight if norm == "l1" else weight**2 for weight in self.weights), Fraction(0))',
    'weight if norm == "l1" else weight**2 for weight in self.weights[:-1] or self.weights), Fraction(0))',
)
plant(
    "tree: the root is paid for under replace",
    "workloads:Tree._farthest",
    "strict=True) if size > 1]",
    "strict=True) if size > 0]",
)
plant(
    "the longest column alone under replace",
    "workloads:Design.sensitivity",
    "reach = max(self._farthest(norm), reach)",
    "reach = max(reach, reach)",
)
plant(
    "pairs of columns alone under replace",
    "workloads:Design.sensitivity",
    "reach = max(self._farthest(norm), reach)",
    "reach = self._farthest(norm)",
)
plant(
    "grid: the product of the factors under replace",
    "workloads:Grid._farthest",
    "return 2 * (longest - reduce(lambda a, b: a * b, shared))",
    "return reduce(lambda a, b: a * b, (factor._farthest(norm) for factor in self.factors))",
)
plant(
    "clipping before inference",
    "workloads:LinearQueries._draw",
    "return [self._answers(row) for row in noisy]",
    "return [self._answers(np.maximum(row, 0)) for row in noisy]",
)
plant(
    "a choice that looks at data",
    "workloads:RangeQueries.release",
    "return self.for_budget(strategy=strategy, **promise).release(histogram, source=source)",
    "worst = self.plan(strategy=strategy, **promise).candidates[-1 if np.max(histogram) > 100 else 0]\n"
    "            return worst.mechanism.release(histogram, source=source)",
)

# Noise and price of linear queries.
plant(
    "half the noise",
    "workloads:LinearQueries._draw",
    "drawn = whole_noise(self.norm, Fraction(self.scale) / weight, (runs, size), source)",
    "drawn = whole_noise(self.norm, Fraction(self.scale) / weight / 2, (runs, size), source)",
)
plant(
    "one noise for a whole group",
    "workloads:LinearQueries._draw",
    "drawn = whole_noise(self.norm, Fraction(self.scale) / weight, (runs, size), source)",
    "drawn = whole_noise(self.norm, Fraction(self.scale) / weight, (runs, 1), source)",
)
plant(
    "l2 for Laplace noise",
    "workloads:Design.sensitivity",
    'reach if norm == "l1" else Fraction(root_up(reach))',
    "Fraction(root_up(reach))",
)
plant(
    "one row a person",
    "workloads:Design.sensitivity",
    "unit=neighbours, max_rows=max_rows\n",
    "unit=neighbours, max_rows=1\n",
)
plant(
    "a square root rounded down",
    "workloads:Design.sensitivity",
    "else Fraction(root_up(reach))",
    "else Fraction(float(reach) ** 0.5)",
)
plant("sums that overflow", "workloads:Design.most", "return _LARGEST // max(1, self._widest)", "return _LARGEST")
plant(
    "weights that vanish",
    "workloads:whole_weight",
    "Fraction(max(1, round(float(weight) * 2**20)), 2**20)",
    "Fraction(round(float(weight) * 2**20), 2**20)",
)
plant(
    "a query that was not measured is answered",
    "workloads:Answers.linear",
    "if not self.design.determines(weights):",
    "if self.design.determines(weights) is None:",
)
plant(
    "intervals that hold one by one sold as simultaneous",
    "workloads:Answers.answers",
    "1.0 - (1.0 - confidence) / workload.queries if simultaneous else confidence",
    "confidence",
)
plant(
    "rho as an epsilon that is too large",
    "workloads:linear_queries._calibrated",
    "(2.0 * float(target.rho or 0.0)) ** 0.5",
    "(4.0 * float(target.rho or 0.0)) ** 0.5",
)
plant(
    "the price of a smaller sensitivity",
    "workloads:LinearQueries.loss",
    "PureLoss(_up(reach / Fraction",
    "PureLoss(_up(reach / 2 / Fraction",
)
plant("a bar of another cell", "workloads:cell_radii", ")[which.reshape(-1)]", ")[which.reshape(-1) * 0]")
plant(
    "a radius without its margin",
    "workloads:_found_radius",
    "return unit * (high + ASIDE * SMOOTH)",
    "return unit * (high - ASIDE * SMOOTH)",
)
plant(
    "the unit of the ledger is dropped",
    "workloads:HistogramQuestion.for_budget",
    "self.queries if unit is None else replace(self.queries, domain=None, unit=unit)",
    "self.queries",
)
plant(
    "counts are not cut",
    "workloads:whole_counts",
    "[min(max(whole, -most), most) for whole in wholes]",
    "[min(max(whole, -(2**62)), 2**62) for whole in wholes]",
)

# Other designs.
DENSE, HAAR, RESIDUALS = (f"workloads/families/{name}.py" for name in ("dense", "haar", "residuals"))
plant(
    "dense: the mean column",
    "workloads:Dense._longest",
    "most = np.max(np.sum(np.abs(columns)",
    "most = np.mean(np.sum(np.abs(columns)",
)
plant(
    "dense: neighbouring pairs only",
    "workloads:Dense._farthest",
    "np.abs(columns[place + 1 :] -",
    "np.abs(columns[place + 1 : place + 2] -",
)
plant(
    "dense: the weight is not squared",
    "workloads:Dense._farthest",
    "return Fraction(most) * self.weight**2",
    "return Fraction(most) * self.weight",
)
plant(
    "Haar: the total is free",
    "workloads:Haar._longest",
    'weight if norm == "l1" else weight**2 for weight in self.weights), Fraction(0))',
    'weight if norm == "l1" else weight**2 for weight in self.weights[:-1]), Fraction(0))',
)
plant("Haar: halves that differ by one", "workloads:Haar._farthest", "(2 * weight if norm", "(weight if norm")
plant("Haar: levels below a pair are free", "workloads:Haar._farthest", "+ 2 * below)", "+ below)")
plant("residuals: pairs that agree", "workloads:Residuals._products", "Fraction(-1, self", "Fraction(1, self")
plant("residuals: shorter columns", "workloads:Residuals._square", "prod(n * (n - 1) for", "prod((n - 1) for")
plant(
    "quadtree: no pair is apart", "workloads:Squares._farthest", "else self._tree._farthest(norm)", "else Fraction(0)"
)
plant(
    "grid: columns of the first side only",
    "workloads:Grid._longest",
    "(factor._longest(norm) for factor in self.factors))",
    "(factor._longest(norm) for factor in self.factors[:1]))",
)

# Streams.
plant(
    "stream: a level is forgotten",
    "workloads:BinaryTreeCount._longest",
    "return Fraction(self.levels)",
    "return Fraction(max(1, self.levels - 1))",
    *STREAMS,
)
plant(
    "stream: blocks of one step without noise",
    "workloads:_Blocks.step",
    "= total + self.counter._noise(self.runs, self.source)",
    "= total + self.counter._noise(self.runs, self.source) * bool(width)",
    *STREAMS,
)
plant(
    "stream: wide blocks without noise",
    "workloads:_Blocks.step",
    "= total + self.counter._noise(self.runs, self.source)",
    "= total + (self.noisy[width - 1] * 0 if width else self.counter._noise(self.runs, self.source))",
    *STREAMS,
)
plant(
    "stream: blocks that overlap",
    "workloads:_Blocks.step",
    "sum(self.exact[:width])",
    "sum(self.exact[: width + 1])",
    *STREAMS,
)
plant(
    "stream: pairs of steps that share", "workloads:BinaryTreeCount._farthest", "h + 1 + min(h,", "h + min(h,", *STREAMS
)
plant(
    "stream: replace costs no more",
    "workloads:Counter.sensitivity",
    'if self.unit.relation == "replace":',
    'if self.unit.relation == "other":',
    *STREAMS,
)
plant(
    "stream: one row a person",
    "workloads:Counter.sensitivity",
    "unit=self.unit, max_rows=self.max_rows)",
    "unit=self.unit, max_rows=1)",
    *STREAMS,
)
plant(
    "stream: l2 for Laplace noise",
    "workloads:Counter.sensitivity",
    'length = reach if self.norm == "l1" else Fraction(root_up(reach))',
    "length = Fraction(root_up(reach))",
    *STREAMS,
)
plant(
    "stream: half the noise of the square root",
    "workloads:SquareRootCount._noise",
    "Fraction(self.scale) * 2**_BITS",
    "Fraction(self.scale) * 2 ** (_BITS - 1)",
    *STREAMS,
)
plant(
    "stream: the first coefficient alone",
    "workloads:SquareRootCount._longest",
    "np.sum(self._whole**2)), 4**_BITS)",
    "np.sum(self._whole[:1] ** 2)), 4**_BITS)",
    *STREAMS,
)
plant(
    "stream: columns that share more",
    "workloads:SquareRootCount._farthest",
    "(int(second[i]) - 2 * int(",
    "(int(second[i]) - 3 * int(",
    *STREAMS,
)
plant(
    "stream: a fork goes on",
    "workloads:CountStream.add",
    "if self._process != os.getpid():",
    "if self._process is None:",
    *STREAMS,
)
plant(
    "stream: a step is answered again",
    "workloads:CountStream._next",
    'count("step", step, 1) != after',
    'count("step", step, 1) > after',
    *STREAMS,
)
plant(
    "stream: a step beyond the horizon",
    "workloads:CountStream._next",
    "if after > self._mechanism.horizon:",
    "if after > self._mechanism.horizon + 1:",
    *STREAMS,
)
plant(
    "stream: an interrupted step is taken again",
    "workloads:CountStream.add",
    "self._step, self._broken = after, True",
    "self._step, self._broken = after, False",
    *STREAMS,
)
plant(
    "stream: a copy is made",
    "workloads:CountStream.__reduce_ex__",
    "def __reduce_ex__(self, protocol: object)",
    "def _reduce_ex_(self, protocol: object)",
    *STREAMS,
)

# The square root as a series.
SERIES = ("tests/workloads/test_root_series.py",)
plant(
    "series: columns are priced without their weight",
    "workloads:RootSeries._longest",
    "found.append(square * self.columns[own] ** 2)",
    "found.append(square * self.columns[0] ** 2)",
    *SERIES,
)
plant(
    "series: rows are priced without their weight",
    "workloads:RootSeries._longest",
    "(row**2 * part for row, part in zip(self.rows, parts, strict=True))",
    "(min(self.rows) ** 2 * part for row, part in zip(self.rows, parts, strict=True))",
    *SERIES,
)
plant(
    "series: a replaced row costs no more",
    "workloads:RootSeries._farthest",
    "return 2 * self._longest(norm)",
    "return self._longest(norm)",
    *SERIES,
)
plant(
    "series: digits that are too long",
    "workloads:exact_product",
    "bits = digit_bits(series[:terms], terms)",
    "bits = digit_bits(series[:terms], terms) + 16",
    *SERIES,
)
plant(
    "series: what the blocks before add is forgotten",
    "workloads:RootSeries._prefix_trace",
    "held += (share[block] - share[block + 1]) * _from(sums, stop - 1, first, last)",
    "held += 0.0 * _from(sums, stop - 1, first, last)",
    *SERIES,
)
plant(
    "stream: far coefficients that are priced and not measured",
    "workloads:_Window.step",
    "measured += int(self.shared @ -np.diff(self.sums[at]))",
    "measured += 0",
    "tests/workloads/test_long_counters.py",
)

# Trees over time.
TREES = ("tests/workloads/test_tree_count.py",)
plant(
    "tree over time: a width is forgotten in the price",
    "workloads:TreeCount._longest",
    "return sum(self._sizes(), Fraction(0))",
    "return sum(self._sizes()[:1], Fraction(0))",
    *TREES,
)
plant(
    "tree over time: a replaced row moves one block",
    "workloads:TreeCount._farthest",
    "sum(sizes[: place + 1], Fraction(0)) + sum(second, Fraction(0))",
    "sum(sizes[: place + 1], Fraction(0))",
    *TREES,
)
plant(
    "tree over time: noise that does not know its share",
    "workloads:TreeCount._noise",
    "Fraction(self.scale) / self._weights[level]",
    "Fraction(self.scale) / self._weights[0]",
    *TREES,
)
plant(
    "tree over time: a block that begins with the last one",
    "workloads:_Open.measure",
    "exact, self.exact[level] = self.exact[level], 0",
    "exact = self.exact[level]",
    *TREES,
)
plant(
    "tree over time: blocks inside that count twice",
    "workloads:_Open.step",
    "self.ended[level - 1] = 0.0",
    "self.ended[level - 1] *= 1.0",
    *TREES,
)
plant(
    "tree over time: bars of fewer digits",
    "workloads:TreeCount._radii",
    "-(-digits // grain) * grain",
    "digits // grain * grain",
    *TREES,
)
plant(
    "the front of running counts forgets the rows of a person",
    "workloads:ContinualCount.candidates",
    '"max_rows": self.max_rows',
    '"max_rows": 1',
    *STREAMS,
)
plant(
    "the front of running counts forgets whom it protects",
    "workloads:ContinualCount.candidates",
    '"unit": self.unit',
    '"unit": None',
    *STREAMS,
)
