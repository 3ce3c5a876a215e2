"""Bugs in the samplers: a law that is not the one that was priced, or bits that somebody could predict."""

from pathlib import Path

from tests.mutants.mutant import Table, stem

HERE = Path(__file__).parents[1] / "noise"
SMALL = "tests/noise/test_small_laws.py"
NOISE = Table("tests/noise/test_laws.py", "tests/noise/test_low_bits.py", "tests/noise")


def plant(name: str, place: str, old: str, new: str, *tests: str) -> None:
    """Small laws and those of the sampler first, then its own tests, then everything."""
    member = stem(place)
    own = [f"tests/noise/test_{member}.py"] if (HERE / f"test_{member}.py").exists() else []
    first = (SMALL, *own, f"tests/noise/test_laws.py -k '{member}'", f"tests/noise -k '{member}'")
    NOISE.plant(name, place, old, new, *(tests or (*first, *NOISE.tests)))


plant(
    "a word keeps its last bit only",
    "noise:compare_one",
    "point = word * TO_UNIT",
    "point = (word | 1) % 2 * 0.5",
)
plant(
    "coins: the margin counts as heads",
    "noise:compare",
    "heads = points < chance - margin",
    "heads = points < chance + 4096 * margin",
)
plant(
    "coins: exp(-x) becomes 1 - x",
    "noise:accept",
    "chance = np.exp(-x)\n",
    "chance = 1.0 - np.minimum(x, 1.0)\n",
)
plant(
    "coins: fair bits are all tails in the last byte",
    "noise:fair_bits",
    "return np.unpackbits(octets, count=count).view(np.bool_)",
    "return np.unpackbits(octets & 0x7F, count=count).view(np.bool_)",
)
plant(
    "coins: 16 bits decide",
    "noise:flip",
    "near = np.flatnonzero((prefix >= below) & (prefix < above))",
    "near = np.flatnonzero(np.zeros(count, dtype=bool))",
)
plant(
    "single coin: the margin is tails",
    "noise:compare_one",
    "if point > chance + margin:",
    "if point > chance - margin:",
)
plant("refined: ties are heads", "noise:Refined.below", "if self.value + 1 <= lo:", "if self.value <= lo:")
plant(
    "refined: no fresh bits",
    "noise:Refined.grow",
    "self.value = self.value << bits | self.stream.bits(bits)",
    "self.value = self.value << bits",
)
plant("least: stops one early", "noise:least", "while inside - outside > 1:", "while inside - outside > 2:")
plant(
    "entropy: a constant key",
    "noise:_SecureStream._fill",
    "text = _keystream(self._key or _system(_KEY), _KEY + count)",
    "text = _keystream(self._key or bytes(_KEY), _KEY + count)",
)
plant(
    "entropy: the key is kept",
    "noise:_SecureStream._fill",
    "        self._key = bytes(text[:_KEY])\n",
    "",
)
plant(
    "entropy: a fork keeps the buffer",
    "noise:Stream._forget",
    "        self._buffer, self._next, self._single = _EMPTY, 0, []\n",
    "        pass\n",
)
plant(
    "entropy: a source can be copied",
    "noise:Source",
    "def __reduce_ex__(self, protocol: object)",
    "def _unused(self, protocol: object)",
)
plant(
    "entropy: seeded noise calls itself secure",
    "noise:Seeded.insecure",
    "    insecure = True\n",
    "    insecure = False\n",
)
plant(
    "entropy: unused bits shift in as zeros",
    "noise:Stream.bits",
    "return value >> (-count % 64)",
    "return value >> (-count % 64) << 1 >> 1 & ~1",
)
plant(
    "rounded: the rest of the centre is dropped",
    "noise:oriented",
    "return (2.0 * minus - 1.0) * float_rest(rest)",
    "return 0.0 * minus * float_rest(rest)",
)
plant(
    "rounded: saturation of the noise alone",
    "noise:rounded._shift",
    "return np.clip(whole + np.clip(values, -_NOISE, _NOISE), -SATURATION, SATURATION)",
    "return whole + np.clip(values, -SATURATION // 2, SATURATION // 2)",
)
plant(
    "tails: off by one",
    "noise:Tails.cdf",
    "return complement(self.upper(k + 1, bits), bits)",
    "return complement(self.upper(k + 2, bits), bits)",
)
plant(
    "enclosure: the complement is too short",
    "noise:powers",
    "if not hi >> extra:",
    "if not hi >> extra + 20:",
)
plant(
    "discrete Laplace: minus zero counts",
    "noise:sample_laplace",
    "bad = np.flatnonzero(minus & (magnitude == 0))  # minus zero: with it, zero would count twice",
    "bad = np.flatnonzero(minus & (magnitude < 0))",
)
plant(
    "discrete Laplace: one draw counts zero twice",
    "noise:one_laplace",
    "if magnitude or not minus:",
    "if magnitude >= 0 or not minus:",
)
plant(
    "discrete Laplace: half the scale",
    "noise:discrete_laplace",
    'given=(positive("scale", scale),)',
    'given=(positive("scale", scale) / 2,)',
)
plant(
    "discrete Laplace: table off by a factor",
    "noise:_over_one_plus",
    "return (power[0] << bits) // (one + p[1]), -(-(power[1] << bits) // (one + p[0]))",
    "return (power[0] << bits) // (one + one), -(-(power[1] << bits) // (one + one))",
)
plant(
    "discrete Gaussian: proposals are kept",
    "noise:_accepted",
    "x = 0.5 * _distance(np.abs(proposals), t, _as_float(sigma)) ** 2",
    "x = 0.0 * _distance(np.abs(proposals), t, _as_float(sigma)) ** 2",
)
plant(
    "discrete Gaussian: one draw with sigma for sigma squared",
    "noise:discrete_gaussian._one",
    "if accept_one(stream, 0.5 * distance * distance, _density(y, t, sigma)):",
    "if accept_one(stream, 0.5 * distance, _density(y, t, sigma)):",
)
plant(
    "discrete Gaussian: table without the normaliser",
    "noise:_column",
    "least, most = 2 * (half + lows[-1]), 2 * (half + highs[-1])",
    "least, most = 2 * lows[-1], 2 * highs[-1]",
)
plant(
    "geometric: float path is always believed",
    "noise:geometric._filtered",
    "unsure = np.flatnonzero((np.abs(y - out - 0.5) >= 0.5 - MARGIN * float(t)) | (words < np.uint64(FIRST)))",
    "unsure = np.flatnonzero(np.abs(y) < 0.0)",
)
plant(
    "geometric: low bits are uniform",
    "noise:_trailing",
    "    todo = np.flatnonzero(~_kept(stream, out, t))\n",
    "    todo = np.flatnonzero(np.zeros(len(out), dtype=bool))\n",
)
plant(
    "geometric: one draw, low bits missing",
    "noise:one_geometric",
    "return (one_geometric(stream, t / 2**shift) << shift) + _one_trailing(stream, t, shift)",
    "return one_geometric(stream, t / 2**shift) << shift",
)
plant(
    "geometric: scale of the leading part",
    "noise:sample_geometric",
    "    leading = t / 2**shift\n",
    "    leading = t / 2 ** (shift + 1) if shift else t\n",
)
plant(
    "rounded Laplace: half the scale for one draw",
    "noise:rounded_laplace",
    "draw_rounded(_one, _sample,",
    "draw_rounded(lambda stream, s, rest: _one(stream, s / 2, rest), _sample,",
)
plant(
    "rounded Laplace: half the scale for arrays",
    "noise:rounded_laplace",
    "draw_rounded(_one, _sample,",
    "draw_rounded(_one, lambda stream, count, s, rest: _sample(stream, count, s / 2, rest),",
)
plant(
    "rounded Laplace: fraction on the wrong side",
    "noise:_edge",
    "return Fraction(1, 2) + (rest if minus else -rest)",
    "return Fraction(1, 2) + (-rest if minus else rest)",
)
plant(
    "rounded Gaussian: half of sigma for one draw",
    "noise:rounded_gaussian.rounded_gaussian",
    "draw_rounded(_one, _sample,",
    "draw_rounded(lambda stream, s, rest: _one(stream, s / 2, rest), _sample,",
)
plant(
    "rounded Gaussian: 10% too narrow for arrays",
    "noise:rounded_gaussian.rounded_gaussian",
    "draw_rounded(_one, _sample,",
    "draw_rounded(_one, lambda stream, count, s, rest: _sample(stream, count, s * 9 / 10, rest),",
)
plant(
    "rounded Cauchy: half the scale",
    "noise:rounded_cauchy._distance",
    "return scale * x, MARGIN",
    "return 0.5 * scale * x, MARGIN",
)
plant(
    "uniform: a remainder",
    "noise:uniform_int._one",
    "    while (value := stream.bits(length)) >= bound:\n        pass\n    return value",
    "    return stream.bits(length) % bound",
)
plant(
    "uniform: too large counts as zero",
    "noise:uniform_int.below",
    "bad = np.flatnonzero(out >= bound)",
    "out[out >= bound] = 0\n    bad = np.flatnonzero(out >= bound)",
)
plant(
    "permutation: equal keys keep their order",
    "noise:_permute",
    "order[first:last] = order[first:last][_permute(stream, last - first)]",
    "order[first:last] = order[first:last]",
)
plant(
    "choice: every proposal is accepted",
    "noise:_Proposal._accept",
    "accepted = (words * 2.0**-64) < surely",
    "accepted = (words * 2.0**-64) < 2.0 + surely",
)
plant(
    "choice: half the scale",
    "noise:_Proposal.__init__",
    "weights = np.exp(-gaps / float(scale))",
    "weights = np.exp(-2.0 * gaps / float(scale))",
)
plant(
    "argmax: float winner",
    "noise:_contenders",
    "return np.flatnonzero(~((high < best) & np.isfinite(high))).tolist()",
    "return [int(np.argmax(high))]",
)
plant(
    "argmax: Laplace noise without a sign",
    "noise:_Laplace.__init__",
    "self._minus = fair_bits(stream, count)",
    "self._minus = np.zeros(count, dtype=bool)",
)
plant(
    "argmax: noise of another scale",
    "noise:_contenders",
    "down, up = scale * lo, scale * hi",
    "down, up = scale * lo / 2, scale * hi / 2",
)
plant("grid: half to even", "noise:_round", "return math.floor(x + Fraction(1, 2))", "return round(x)")
plant(
    "grid: sensitivity rounded down",
    "noise:Grid.ceil",
    'return math.ceil(exact("x", x) / self.step)',
    'return math.floor(exact("x", x) / self.step)',
)
plant(
    "table: cut cells are not refined",
    "noise:InversionTable._search",
    "for place in np.flatnonzero(words >= self._low[index]).tolist():",
    "for place in np.flatnonzero(words > np.uint64(2**64 - 1)).tolist():",
    "tests/noise/test_table.py",
    "tests/noise",
)
plant(
    "ball: a degree of freedom too few",
    "noise:_Spreads.__init__",
    "self._stream, self._count = stream, (d + 1) // 2",
    "self._stream, self._count = stream, max(d // 2, 1)",
    "tests/seams/test_ball.py",
)
plant(
    "ball: normal noise of the same variance",
    "noise:_rounded",
    "sigma = float(t) * np.sqrt(2.0 * spreads.floats)",
    "sigma = float(t) * np.sqrt(d + 1.0 + 0.0 * spreads.floats)",
    "tests/seams/test_ball.py",
)
plant(
    "ball: the polar number is not squared",
    "noise:_Pairs._values",
    "return -np.log(s) * (squares[:, 0] / s)",
    "return -np.log(s) * (units[:, 0] / s)",
    "tests/seams/test_ball.py",
)
plant(
    "subsets: a gap is one too short",
    "noise:_by_gaps",
    "heads = last + np.cumsum(_gaps(stream, many, q, n) + 1)",
    "heads = last + np.cumsum(np.maximum(_gaps(stream, many, q, n), 1))",
    "tests/seams/test_subsets.py",
)
plant(
    "subsets: an index that was drawn twice makes the sample smaller",
    "noise:_distinct",
    "while len(found) < m:",
    "while len(found) < m and not len(found):",
    "tests/seams/test_subsets.py",
)
plant(
    "ball: numbers that are no doubles are 0",
    "mechanisms:Ball._prepare",
    "return read_value(value)",
    "return super(Ball, self)._prepare(value)",
    "tests/mechanisms/test_lists.py",
)
plant(
    "strips: bits of the places of some draws choose the strips of others",
    "noise:Strips.placed",
    'words.view("<u2")[2 * many : 3 * many]',
    'words.view("<u2")[:many]',
    "tests/noise/test_strips.py",
)
plant(
    "entropy: draws that are kept are handed out again after a fork that bypasses Python",
    "noise:entropy.process",
    "return _forks, os.getpid()",
    "return _forks, 0",
    "tests/noise/test_entropy.py",
)
