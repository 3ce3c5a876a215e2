"""Bugs of shuffled prices, means of numbers, packets, memorised answers and several questions."""

from tests.mutants.mutant import Table

SHUFFLED = "tests/privacy/test_shuffled.py"
NUMBERS = "tests/local/test_numbers.py"
WIRE = "tests/local/test_wire.py"
COUNTING = "tests/local/test_counting.py"
SEVERAL = "tests/local/test_repeated_and_several.py"
LOCAL_NUMBERS = Table(NUMBERS, WIRE, COUNTING, SEVERAL)
plant = LOCAL_NUMBERS.plant

plant(
    "shuffle bound with n + 1",
    "privacy:Shuffled._by_runs",
    "deltas.append(Crowd(self.n - 1, most).mean_excess(laws))",
    "deltas.append(Crowd(self.n, most).mean_excess(laws))",
    SHUFFLED,
)
plant(
    "blanket of k-RR: the other outputs are forgotten",
    "privacy:KRRLoss.blanket",
    "(self.k - 2) * float(lie[0])",
    "(self.k - 3) * float(lie[0])",
    SHUFFLED,
)
plant(
    "crowd: fewer people than are summed count as none",
    "privacy:Crowd._lumped",
    "if not len(self.lumps):",
    "if True:",
    SHUFFLED,
)
plant(
    "crowd table: a block has the signs of its fewest",
    "privacy:_spread_blocks",
    "return Rows(high, drift,",
    "return Rows(low, drift,",
    SHUFFLED,
)
plant(
    "crowd table: what is spread loses its mean",
    "privacy:_hats",
    "part, place = chance * (at - below), below.astype(np.intp)",
    "part, place = chance, below.astype(np.intp)",
    SHUFFLED,
)
plant(
    "crowd table: what lies beyond the blocks is left out",
    "privacy:rows_above",
    "if len(below):",
    "if not len(below):",
    SHUFFLED,
)
plant(
    "numbers: a window that may be left by one cell",
    "local:Window.draw",
    "np.asarray(noise.uniform_int(bound=self.width, size=at.shape, source=source))",
    "np.asarray(noise.uniform_int(bound=self.width + 1, size=at.shape, source=source))",
)
plant(
    "numbers: rounded to the nearest level, not at random",
    "local:Window.draw",
    "(coins < ((at - level) * _FINE).astype(np.int64))",
    "(at - level >= 0.5)",
)
plant(
    "numbers: the price of a window twice as wide",
    "local:Window.odds",
    "Fraction(self.levels, self.width)",
    "Fraction(self.levels, 2 * self.width)",
)
plant(
    "packets: foreign headers are taken",
    "local:read_packets",
    "own = (rows[:, : len(head)] == head).all(axis=1)",
    "own = (rows[:, :3] == head[:3]).all(axis=1)",
)
plant(
    "packets: batches keep the order of people",
    "local:to_arrow",
    "packets = packets[np.lexsort(packets.T[::-1])]",
    "packets = np.ascontiguousarray(packets)",
)
plant(
    "counting: what is no report is counted",
    "local:counting_sql",
    'f"report BETWEEN 0 AND {_outputs(protocol) - 1}"',
    'f"report BETWEEN 0 AND {_outputs(protocol)}"',
)
plant(
    "memo: a fresh answer in every round",
    "local:Memo.report",
    "return self._sent[place]",
    "return self.protocol.privatize(value, source=source)",
)
plant(
    "questions: everyone answers all of them at the full price of one",
    "local:AllQuestions.loss",
    "return Composed([protocol.loss for protocol in self.protocols.values()])",
    "return Parallel([protocol.loss for protocol in self.protocols.values()], fixed_blocks=True)",
)
plant(
    "hybrid: the bit has twice the epsilon",
    "local:Hybrid._both",
    "near.odds / (1 + near.odds)",
    "near.odds**2 / (1 + near.odds**2)",
)
plant(
    "numbers: the price forgets the reports that land in the window of the other end",
    "local:NumberProtocol.loss",
    "w.inside + (1 - w.inside) * Fraction(w.width, w.levels)",
    "w.inside",
)
