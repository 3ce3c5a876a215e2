"""Bugs of private training: noise that is not the noise of the clip, and streams that repeat."""

from tests.mutants.mutant import Table

STEP = "tests/deep/test_step_noise.py"
STREAM = "tests/deep/test_stream.py"
KEYED = "tests/noise/test_keyed.py"
MIXING = "tests/deep/test_mixing.py"
DEEP_NOISE = Table(STEP, STREAM, "tests/deep")
plant = DEEP_NOISE.plant

plant(
    "step: half of the noise",
    "deep:StepNoise._sigma",
    "return Fraction(self.noise_multiplier) * self._reach",
    "return Fraction(self.noise_multiplier) * self._reach / 2",
)
plant(
    "step: the rounding to the grid is not charged",
    "deep:StepNoise._reach",
    "return clip if self.strict else clip + Fraction(root_up(self.dimension))",
    "return clip",
)
plant(
    "step: rounding counts once, not once a coordinate",
    "deep:StepNoise._reach",
    "clip + Fraction(root_up(self.dimension))",
    "clip + 1",
)
plant(
    "step: a replaced record is priced as an added one",
    "deep:_records",
    'return unit.group_size * (2 if unit.relation == "replace" else 1)',
    "return unit.group_size",
)
plant(
    "step: a group is priced as one record",
    "deep:_records",
    'return unit.group_size * (2 if unit.relation == "replace" else 1)',
    'return 2 if unit.relation == "replace" else 1',
)
plant(
    "step: the sum is not put on the grid",
    "deep:StepNoise._on_grid",
    "steps = np.rint(numbers.astype(np.float64) * self._per_step)",
    "return numbers.astype(np.float64) * self._per_step",
)
plant(
    "step: one noise for all coordinates",
    "deep:step_noise._added",
    "spare += drawn",
    "spare += drawn[0]",
)
plant(
    "step: sums that do not fit are added quickly all the same",
    "deep:step_noise._added",
    "if not (float(numbers.min()) > -most and float(numbers.max()) < most):",
    "if False:",
)
plant(
    "step: a replay compares sums with what is promised for nothing",
    "deep:StepNoise.sensitivity",
    "self._reach * self.grid.step",
    "self._reach * 2 * self.grid.step",
)
plant(
    "step: records of a strict sum are not clipped",
    "deep:StepNoise.exact_steps",
    "clipped_steps(rows, self.clip, self.grid)",
    "clipped_steps(rows, 2.0 * self.clip, self.grid)",
)
plant(
    "step: infinity moves a sum to the end of the grid",
    "deep:StepNoise._on_grid",
    "np.where(np.isfinite(steps), steps, 0.0)",
    "np.where(np.isnan(steps), 0.0, steps)",
)
plant(
    "device: places of the cipher begin anew",
    "deep:stream._blocks",
    "torch.arange(begin, begin + blocks, device=device)",
    "torch.arange(0, blocks, device=device)",
)
plant(
    "device: steps beyond 32 bits repeat",
    "deep:stream._blocks",
    "(*_CONSTANTS, *key, 0, domain, low, high)",
    "(*_CONSTANTS, *key, 0, domain, low, low)",
)
plant(
    "device: a coin is compared with its sign",
    "deep:stream.coins",
    "(found ^ _LOWEST) < limit - 2**63",
    "found < limit - 2**63",
)
plant(
    "device: numbers that are none stay what they are",
    "deep:stream.NoiseOnDevice._add",
    "torch.where(value.isfinite(), value, 0.0)",
    "value",
)
plant(
    "keyed: coins and noise share their words",
    "noise:KeyedStream.rounded_gaussian",
    "self.words(NOISE, step, len(part), first + start)",
    "self.words(COINS, step, len(part), first + start)",
    KEYED,
)
plant(
    "keyed: every step has the same words",
    "noise:keyed._nonce",
    'return struct.pack("<LQ", domain, step)',
    'return struct.pack("<LQ", domain, 0)',
    KEYED,
)
plant(
    "keyed: q is rounded up",
    "noise:threshold",
    "return (rate.numerator << 64) // rate.denominator",
    "return -((-rate.numerator << 64) // rate.denominator)",
    KEYED,
)
plant(
    "keyed: all places share what they need besides a word",
    "noise:keyed._OfPlaces.block",
    "self._places[draws])",
    "0 * self._places[draws])",
    KEYED,
)
plant(
    "strips: every place of a draw with words of its own is kept",
    "noise:Strips._kept_each",
    "heads = points < chance - margin",
    "heads = points < chance + 1.0",
    KEYED,
)
plant(
    "keyed: a stream can be copied",
    "noise:KeyedStream.__reduce_ex__",
    "raise InvalidParameter(",
    "return KeyedStream, (self._key,)\n        raise InvalidParameter(",
    KEYED,
)
plant(
    "keyed: every draw of a source has the same words",
    "noise:_StepSource.stream",
    "self._calls + 1",
    "self._calls",
    KEYED,
)
plant(
    "strips: every place of what is left is kept",
    "noise:Strips._kept",
    "compare(stream, chance, margin,",
    "compare(stream, chance + 1.0, margin,",
    "tests/noise/test_strips.py",
)
plant(
    "strips: half a step goes down",
    "noise:Strips.inside",
    "out += added\n",
    "out += added - 1\n",
    "tests/noise/test_strips.py",
)
plant(
    "strips: what is left is drawn once for all pieces",
    "noise:strips._Others.take",
    "self._kept[:count], self._kept[count:]",
    "self._kept[:count], self._kept",
    "tests/noise/test_strips.py",
)
plant(
    "strips: a child of a fork hands out what its parent does",
    "noise:strips._Others.take",
    "if self._process != process():",
    "if False:",
    "tests/noise/test_entropy.py",
)
plant(
    "step: sum and noise are rounded together",
    "deep:step_noise._added",
    "spare += middle\n    spare += drawn",
    "spare += drawn\n    spare += middle",
)
plant(
    "strips: half a step goes down in doubles",
    "noise:Strips._middles",
    "(2**_SHORT + 1)",
    "(2**_SHORT - 1)",
    "tests/noise/test_strips.py",
)
plant(
    "strips: middles of one grid serve another",
    "noise:Strips._middles",
    "if kept is None or kept[0] != unit:",
    "if kept is None:",
    "tests/noise/test_strips.py",
)
plant(
    "step: the loop of a compiler stays in float32 where Python runs it",
    "deep:step_noise._added_by_one",
    "float(numbers[i]) * unit",
    "numbers[i] * unit",
)
plant(
    "compiled: what cannot be compiled ends the release",
    "_compiled:Compiled._or_in_numpy",
    "return self.in_numpy(*given)",
    "raise",
    "tests/package/test_compiled.py",
)
plant(
    "strips: what rectangles leave lies in the middle",
    "noise:Strips.placed",
    "drawn[found[:open_]] = taken * unit",
    "pass",
    "tests/noise/test_strips.py",
)
plant(
    "step: the sum of a step is held until the next one is there",
    "deep:Training._block",
    "del value  # the step",
    "pass  # the step",
    "tests/deep/test_trainer.py",
)
plant(
    "strips: what is left is always positive",
    "noise:Strips.outside",
    "fair_bits(stream, count).astype(np.uint64)",
    "0 * fair_bits(stream, count).astype(np.uint64)",
    "tests/noise/test_strips.py",
)
plant(
    "strips: rectangles reach above the curve",
    "noise:_FLOORS",
    "1.0 - 2.0**-30",
    "1.0 + 2.0**-6",
    "tests/noise/test_strips.py",
)
plant(
    "banded: records take part whenever they like",
    "deep:BandedPoisson.drawn",
    "np.flatnonzero(here & stream.coins(now, size, q=self._rate))",
    "np.flatnonzero(stream.coins(now, size, q=self.q))",
    MIXING,
)
plant(
    "banded: places are drawn anew in every round",
    "deep:BandedPoisson.drawn",
    "stream.words(_PLACES, 0, size)",
    "stream.words(_PLACES, step, size)",
    MIXING,
)
plant(
    "banded: places are equal parts by position",
    "deep:BandedPoisson.drawn",
    "stream.words(_PLACES, 0, size) % np.uint64(self.bands)",
    "np.arange(size) % self.bands",
    MIXING,
)
plant(
    "banded: the rate is that of a plain sample",
    "deep:BandedPoisson._priced",
    "min(1.0, up(self._rate))",
    "self.q",
    MIXING,
)
plant(
    "banded: an unsampled block is priced as a sampled one",
    "deep:BandedPoisson.drawn",
    "q=self._rate",
    "q=1",
    MIXING,
)
plant(
    "banded: the length of a column is forgotten",
    "deep:banded.column",
    "short = (1.0 - _SLACK * math.sqrt(bands)) / length",
    "short = 1.0",
    MIXING,
)
plant(
    "banded: rounding of the rows of a column is not charged",
    "deep:banded.column",
    "short = (1.0 - _SLACK * math.sqrt(bands)) / length",
    "short = 1.0 / length",
    MIXING,
)
plant(
    "banded: places of groups are not asked for",
    "deep:BandedPoisson.groups",
    "groups = False",
    "groups = True",
    MIXING,
)
plant(
    "tree: the length of a column is forgotten",
    "deep:TreeOrder._priced",
    "TreeAggregationLoss(noise_multiplier / reach(one), self.round_steps, unit=one)",
    "TreeAggregationLoss(noise_multiplier / reach(one), 1, unit=one)",
    MIXING,
)
plant(
    "tree: C for 2C",
    "deep:TreeOrder._priced",
    "noise_multiplier / reach(one)",
    "noise_multiplier",
    MIXING,
)
plant(
    "tree: the tree of an epoch goes on with that of the one before",
    "deep:_Nodes.exact_mixed",
    "self._mixed % self._steps + 1",
    "self._mixed + 1",
    MIXING,
)
plant(
    "past sums are kept in the state of a training",
    "deep:Training._block",
    '"average": _off(average), "clip": stepping.clip',
    '"average": _off(average), "clip": stepping.clip, "past": stepping._mixing and list(stepping._mixing._sums)',
    MIXING,
)
plant(
    "sums are mixed, and released as they are",
    "deep:stepping.OneByOne.descend",
    "noisy = self._mixing.read(noisy)",
    "pass",
    MIXING,
)
plant(
    "a loop of one's own runs without its matrix",
    "deep:Steps.__init__",
    "plan.sampling.round_steps != 1 or plan.correlated",
    "plan.sampling.round_steps != 1",
    MIXING,
)
plant(
    "step: the least noise for a budget is that of one clip, under replace too",
    "deep:StepNoise.for_budget",
    "sensitivity=_records(neighbours)",
    "sensitivity=1",
    "tests/laws/test_mechanisms.py -k 'step_noise and meets_its_budget'",
)
plant(
    "device: what is left of a strip is taken for all of it",
    "noise:strip_tables._excess",
    "density / (density - law.leading * law.buckets[strip] / ALL_PREFIXES)",
    "Fraction(1)",
    "tests/noise/test_strip_tables.py",
)
plant(
    "device: the series breaks off early",
    "noise:strip_tables.strip_tables",
    "range(TERMS + 1, 1, -1)",
    "range(8, 1, -1)",
    "tests/noise/test_strip_tables.py",
)
plant(
    "device: densities are those of the middle of a strip",
    "noise:strip_tables._excess",
    "near = strip / law.leading",
    "near = (strip + Fraction(1, 2**40)) / law.leading",
    "tests/noise/test_strip_tables.py",
)
plant(
    "device: thresholds are those of floats",
    "noise:strip_tables.strip_tables",
    "from_tails(law).thresholds()",
    "strips._rest.thresholds()",
    "tests/noise/test_strip_tables.py",
)
