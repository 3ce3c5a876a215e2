"""Bugs of local protocols: those found in other libraries, and those that are easily made here."""

from tests.mutants.mutant import Table

CHANNELS = "tests/local/test_channels.py"
PROTOCOLS = "tests/local/test_protocols.py"
TRAPS = "tests/local/test_traps.py"
GOLDEN = "tests/local/test_golden.py"
EDGES = "tests/local/test_edges.py"
WALKS = "tests/local/test_walks.py"
LOCAL = Table(TRAPS, CHANNELS, PROTOCOLS, GOLDEN)
plant = LOCAL.plant

plant(
    "bits are never flipped back: the own bit is always sent",
    "local:UnaryEncoding._draw",
    "put(drawn, np.broadcast_to(prepared, shape).reshape(-1), mine)",
    "put(drawn, np.broadcast_to(prepared, shape).reshape(-1), mine | True)",
)
plant(
    "RAPPOR: permanent ones are never turned into zeros",
    "local:RAPPOR._permanent",
    "packed(self.bloom[cohort, values] ^ flips)",
    "packed(self.bloom[cohort, values] | flips)",
    CHANNELS,
    "tests/local/test_rappor.py",
)
plant(
    "RAPPOR: a permanent one is always reported",
    "local:RAPPOR._instantaneous",
    "sent[held] = ones[held]",
    "sent[held] = True",
    "tests/local/test_rappor.py",
)
plant(
    "RAPPOR: the parameter is rounded to two digits",
    "local:RAPPOR._kept",
    "return chance_for(ratio_down(self.epsilon, 2.0 * self.hashes))",
    "return Fraction(round(100 * float(chance_for(ratio_down(self.epsilon, 2.0 * self.hashes)))), 100)",
    "tests/local/test_rappor.py",
    PROTOCOLS,
)
plant(
    "a reset leaves the counts",
    "local:State.reset",
    "self.dropped = 0",
    "self.dropped = self.__dict__.get('dropped', 0)",
    TRAPS,
    PROTOCOLS,
)
plant(
    "a merge forgets reports",
    "local:State.merge",
    "merged._grow(each.table, each.n, each.dropped)",
    "merged._grow(each.table, self.n, each.dropped)",
    PROTOCOLS,
)
plant(
    "a merge takes any other protocol",
    "local:State.merge",
    "same = isinstance(other, State) and self.protocol == other.protocol",
    "same = isinstance(other, State)",
    PROTOCOLS,
)
plant(
    "what is no report is counted",
    "local:State.add",
    "kept = rows if valid.all() else rows[valid]",
    "kept = rows",
    PROTOCOLS,
)
plant(
    "the hash has no b",
    "local:hashed",
    "mixed = values.astype(np.uint64) * a + b",
    "mixed = values.astype(np.uint64) * a + b * np.uint64(0)",
    TRAPS,
    GOLDEN,
)
plant(
    "the hash keeps a short multiplier",
    "local:hashed",
    "mixed = values.astype(np.uint64) * a + b",
    "mixed = values.astype(np.uint64) * (a >> _HALF) + (b >> _HALF)",
    TRAPS,
    GOLDEN,
)
plant(
    "EM has a channel of its own",
    "local:EM.apply",
    "channel = np.array([[float(mass) for mass in row] for row in protocol.channel()])",
    "channel = np.array([[float(mass) for mass in row] for row in protocol.channel()]) ** 0.5",
    "tests/local/test_consistency.py",
)
plant(
    "the raw estimate is clipped",
    "local:FrequencyProtocol._estimate",
    "raw = (counts / n - q) / self._gap",
    "raw = np.maximum((counts / n - q) / self._gap, 0.0)",
    PROTOCOLS,
)
plant(
    "a projection keeps the interval",
    "local:FrequencyProtocol._estimate",
    "return Estimate(value, None, raw=raw,",
    "return Estimate(value, None, interval=interval, raw=raw,",
    "tests/local/test_consistency.py",
)
plant(
    "the own bit has the law of the others",
    "local:UnaryEncoding._draw",
    "mine = noise.bernoulli(p=self.own, size=count, source=source)",
    "mine = noise.bernoulli(p=self.other, size=count, source=source)",
)
plant(
    "bits beyond k are left",
    "local:UnaryEncoding._draw",
    "cut(drawn, self.size)",
    "cut(drawn, 64 * words)",
)
plant(
    "the lie may be the truth",
    "mechanisms:ResponseMechanism._draw",
    "report += report >= true",
    "report = (report + noise.uniform_int(bound=2, size=size, source=source)) % self._k",
    CHANNELS,
)
plant(
    "row 0 of Hadamard is used",
    "local:HadamardResponse._draw",
    "prepared.astype(word) + word.type(1)",
    "prepared.astype(word)",
    CHANNELS,
)
plant(
    "Hadamard: the order is k where k + 1 is needed",
    "local:HadamardResponse.order",
    "1 << self.size.bit_length()",
    "1 << (self.size - 1).bit_length()",
    TRAPS,
)
plant(
    "the transform is divided",
    "local:walsh",
    "out, half = out.reshape(table.shape), 2 * half",
    "out, half = out.reshape(table.shape) // 2, 2 * half",
    GOLDEN,
    TRAPS,
)
plant(
    "thresholds are rounded down",
    "mechanisms:chance_for",
    "lie = math.ceil(Fraction(odds / (1 + odds)) * 2**bits)",
    "return 1 - Fraction(math.floor(Fraction(odds / (1 + odds)) * 2**bits), 2**bits)",
)
plant(
    "the price is rounded to nearest",
    "mechanisms:epsilon_of_odds",
    "return up(log)",
    "return float(log)",
    CHANNELS,
    PROTOCOLS,
)
plant(
    "subsets: the chance of randomized response",
    "local:SubsetSelection.own",
    "chance_for(self.epsilon, Fraction(self.size - self._w, self._w))",
    "chance_for(self.epsilon, 1)",
    PROTOCOLS,
    CHANNELS,
)
plant(
    "subsets: the own value may be drawn as another one",
    "local:SubsetSelection._subsets",
    "turn = (absent == (missing[live] > 0)) & (place != values[live])",
    "turn = absent == (missing[live] > 0)",
    CHANNELS,
)
plant(
    "subsets may hold every value",
    "local:SubsetSelection.__post_init__",
    'if not 1 <= count("chosen", w, 1) <= self.size - 1:',
    'if not 1 <= count("chosen", w, 1) <= self.size:',
    TRAPS,
)
plant(
    "local hashing: the cell of the next one",
    "local:OLH.tally",
    "begin = reports[:, 1] - (low << np.uint64(32))",
    "begin = reports[:, 1] - (high << np.uint64(32))",
)
plant(
    "a pool that forgets its price: twice the cells' epsilon",
    "local:_OverCells.response",
    "truth=chance_for(self.epsilon, self.cells - 1)",
    "truth=chance_for(2 * self.epsilon, self.cells - 1)",
    PROTOCOLS,
)
plant(
    "the sketch flips at the whole epsilon",
    "local:CountMeanSketch.own",
    "return chance_for(self.epsilon / 2.0)",
    "return chance_for(self.epsilon)",
    PROTOCOLS,
)
plant(
    "the score interval has the variance of f = 0",
    "local:FrequencyProtocol._line",
    "float((1 - p - q) / (n * (p - q)))",
    "0.0 * float((1 - p - q) / (n * (p - q)))",
    "tests/local/test_estimates.py",
    PROTOCOLS,
)
plant(
    "the exact interval has one tail",
    "local:exact_interval",
    "_inverted(int(c), n, p, q, tail / 2.0)",
    "_inverted(int(c), n, p, q, tail * 1.5)",
    "tests/local/test_estimates.py",
)
plant(
    "simultaneous intervals are single ones",
    "local:FrequencyProtocol._interval",
    "len(raw) if joint else 1",
    "1",
    TRAPS,
)
plant(
    "delta by single outcomes",
    "local:delta_of",
    "return up(contraction(",
    "return 0.5 * up(contraction(",
    "tests/local/test_lectures.py",
    CHANNELS,
)
plant("epsilon of a channel forgets impossible outcomes", "local:epsilon_of", "return math.inf", "continue", CHANNELS)
plant(
    "a population without chance",
    "local:keep_or_uniform",
    "kept + spread(rest, protocol.size, source)",
    "kept + rest // protocol.size + (np.arange(protocol.size) < rest % protocol.size)",
    PROTOCOLS,
)
plant(
    "packed coins: undecided ones are heads",
    "noise:words_of",
    "undecided = undecided & ~drawn",
    "heads, undecided = heads | (undecided if place is None and digits == 3 else heads), undecided & ~drawn",
    "tests/noise/test_bernoulli_words.py",
)
plant(
    "packed coins stop after six digits",
    "noise:words_of",
    "while rest and len(undecided):",
    "while rest and digits < 6:",
    "tests/noise/test_bernoulli_words.py",
)
plant(
    "binomial: what lies beyond is forgotten at the wrong side",
    "noise:_heads",
    "place = np.flatnonzero(coins >> power & 1)",
    "place = np.flatnonzero(coins >> power & (power != 3))",
    "tests/noise/test_binomial.py",
)
plant(
    "partial response: the share is left out",
    "privacy:PartialResponseLoss.variable",
    "self.share * truth]",
    "truth * self.share**2]",
    CHANNELS,
    GOLDEN,
)
plant(
    "shared hashes: intervals of the noise alone",
    "local:FrequencyProtocol._interval",
    "score_interval(raw, a + off, b, tail)",
    "score_interval(raw, a, b, tail)",
    "tests/local/test_covariance.py",
)
plant(
    "shared hashes: two cells are never supported together",
    "local:CountMeanSketch.shared_hashes",
    "Pool(self.hashes, self.width, low, gain, low**2, low * gain)",
    "Pool(self.hashes, self.width, low, gain)",
    "tests/local/test_covariance.py",
)
plant(
    "local hashing: three values as if their cells were independent",
    "local:OLH._extra_cross",
    "float(told.truth - told.lie) * third_collisions(f, told.k)",
    "0.0 * third_collisions(f, told.k)",
    "tests/local/test_covariance.py",
)
plant(
    "RAPPOR: bits as if they were independent of the value",
    "local:RAPPOR._noise",
    "scale * ((mixed * f) @ mixed.T - np.outer(mean, mean))",
    "scale * 0.0 * ((mixed * f) @ mixed.T - np.outer(mean, mean))",
    "tests/local/test_covariance.py",
)
plant(
    "sums: the covariance is left out",
    "workloads:MeasuredCells.variance",
    "float(w @ self.covariance @ w)",
    "float(w**2 @ self.covariance.diagonal())",
    "tests/local/test_covariance.py",
)
plant(
    "many at once: the threshold of one interval",
    "local:FrequencyProtocol._interval",
    "needs_exact_law(n, p, q, tail)",
    "needs_exact_law(n, p, q)",
    "tests/local/test_estimates.py",
)
plant(
    "a gap of floats: own and other are the same number at a tiny epsilon",
    "local:FrequencyProtocol._gap",
    "return float(self.own - self.other)",
    "return float(self.own) - float(self.other)",
    EDGES,
)
plant(
    "people who are drawn one by one: the first of a group holds the value before",
    "local:one_by_one",
    'side="right"',
    'side="left"',
    EDGES,
)
plant(
    "sketches: rows after the first are not summed",
    "local:_summed",
    "totals += row[hashed(values, a, b, protocol.width)]",
    "totals = row[hashed(values, a, b, protocol.width)]",
    PROTOCOLS,
    "tests/local/test_covariance.py",
)
plant(
    "a population wraps",
    "local:people_of",
    "or whole_sum(found.astype(np.int64)) > _MOST",
    "and whole_sum(found.astype(np.int64)) > _MOST",
    EDGES,
)
plant(
    "local hashing, compiled: a value is asked after the step to the next one",
    "local:every_by_one",
    "        for j in range(len(a)):\n            support += at[j] < width[j]\n            at[j] += a[j]",
    "        for j in range(len(a)):\n            at[j] += a[j]\n            support += at[j] < width[j]",
    WALKS,
)
plant(
    "local hashing, compiled: candidates are asked by their place",
    "local:some_by_one",
    "value, support = candidates[place], 0",
    "value, support = candidates[0] * 0 + place, 0",
    WALKS,
)
plant(
    "local hashing: the last piece of reports is not counted",
    "local:supported",
    "for i in range(0, len(a), chunk):",
    "for i in range(0, max(1, len(a) - chunk + 1), chunk):",
    WALKS,
)
plant(
    "prefix search: a set of values is taken, in which equal ones are one report",
    "local:PrefixSearch.privatize",
    "whole.check(values)",
    "pass",
    "tests/local/test_heavy_hitters.py",
)
