"""Bugs of private aggregation: those of published code, and those that are easily made here."""

from tests.mutants.mutant import Table

AGGREGATORS = "tests/pate/test_aggregators.py"
LAWS = "tests/pate/test_vote_law.py"
TEACHERS = "tests/pate/test_teachers.py"
APART = "tests/pate/test_teachers_apart.py -k 'is_given or frames_of or row_of_one'"
THEOREMS = "tests/pate/test_vote_theorems.py"
INTERACTIVE = "tests/pate/test_interactive.py"
SMOOTH = "tests/pate/test_smooth_release.py"
PATE = Table(AGGREGATORS, INTERACTIVE, LAWS, SMOOTH, TEACHERS, THEOREMS)
plant = PATE.plant

plant(
    "a query is priced as if one count moved",
    "pate:GNMax._query",
    "GaussianLoss(ratio_down(self.sigma, ROOT_TWO), unit=unit)",
    "GaussianLoss(self.sigma, unit=unit)",
)
plant(
    "gamma for two gamma",
    "pate:LNMax._query",
    "product_up(2.0, self.gamma)",
    "self.gamma",
)
plant(
    "Gumbel noise priced as for counts that only grow",
    "pate:GumbelMax._query",
    "ratio_up(2.0, self.scale)",
    "ratio_up(1.0, self.scale)",
)
plant(
    "a replaced id touches one teacher",
    "pate:Aggregator.loss",
    "if moved == 2:",
    "if False:",
)
plant(
    "a binary vote of a replaced id moves one vote",
    "pate:Aggregator.loss",
    "min(moved, self.teachers)",
    "1",
    AGGREGATORS,
)
plant(
    "votes of other teachers than were priced",
    "pate:check_votes",
    "if teachers is not None and votes.teachers != teachers:",
    "if False:",
    AGGREGATORS,
)
plant(
    "thresholds of replaced ids move by one teacher",
    "pate:TwoNoises._thresholds",
    "teachers = teachers_of(self.unit, self.fixed_ids)",
    "teachers = 1",
    AGGREGATORS,
    "tests/laws/test_mechanisms.py -k 'test_law and pate_confident'",
)
plant(
    "unanimous labels are free: more answers than were paid for",
    "pate:ConfidentGNMax._run",
    "np.flatnonzero(reached)[: self.answers]",
    "np.flatnonzero(reached)",
)
plant(
    "thresholds priced as one number",
    "pate:ConfidentGNMax.threshold_part",
    "self._thresholds(self.queries)",
    "self._thresholds(1)",
)
plant(
    "one direction of the divergence",
    "pate:worst_of",
    "np.maximum(renyi(mine, theirs, orders), renyi(theirs, mine, orders))",
    "renyi(mine, theirs, orders)",
    LAWS,
)
plant(
    "one seed for all teachers",
    "pate:Teachers._seed",
    'f"teacher {part}".encode()',
    'b"teacher"',
)
plant(
    "parts by the order of rows",
    "pate:KeyedPartition.assign",
    "return np.array([known[name] for name in names], dtype=np.int64)",
    "return np.arange(len(names), dtype=np.int64) * self.parts // max(len(names), 1)",
    TEACHERS,
)
plant(
    "rows of a list are one array",
    "pate:one_by_one.apart",
    "return _objects(list(rows))",
    "return np.array(list(rows), dtype=object)",
    APART,
)
plant(
    "a complex number makes all of its column complex",
    "pate:one_by_one._cell",
    "value.imag == 0.0",
    "False",
    APART,
)
plant(
    "what is missing is what it was called",
    "pate:one_by_one._cell",
    'if value is None or type(value).__name__ in ("NAType", "NaTType"):',
    "if False:",
    APART,
)
plant(
    "a teacher that fails is dropped",
    "pate:Teachers.vote",
    "for part, model in enumerate(self._models):",
    "for part, model in enumerate([each for each in self._models if each is not None]):",
    TEACHERS,
)
plant(
    "figures of adaptive queries",
    "pate:check_figure",
    "if votes.adaptive:",
    "if False:",
    LAWS,
)
plant(
    "the condition on q is missing",
    "pate:ln_theorem",
    "np.where(holds, np.minimum(plain, found), plain)",
    "found",
    THEOREMS,
)
plant(
    "orders beyond mu1",
    "pate:gn_theorem",
    "(orders <= first) & ",
    "",
    THEOREMS,
)
plant(
    "sigma for the root of two times sigma1",
    "pate:threshold_theorem",
    "np.sqrt(2.0) * sigma1, orders",
    "sigma1, orders",
    THEOREMS,
)
plant(
    "silence costs nothing",
    "pate:ConfidentVotes._with_silence",
    "np.concatenate([silent, told + chances], axis=-1)",
    "chances",
    THEOREMS,
)
plant(
    "rounds pay for their answers alone",
    "pate:InteractiveGNMax.blocks",
    "Composed((self.threshold_part(queries).loss, self.answer_part(answers).loss))",
    "self.answer_part(answers).loss",
    INTERACTIVE,
)
plant(
    "every round has the answers of all rounds",
    "pate:InteractiveGNMax._block",
    "_even(self.answers, self.rounds)[index]",
    "self.answers",
    INTERACTIVE,
)
plant(
    "the student is compared with the votes of one teacher",
    "pate:InteractiveGNMax._block",
    "self.teachers * chances",
    "1 * chances",
    INTERACTIVE,
)
plant(
    "a student who was not asked is believed",
    "pate:InteractiveGNMax._block",
    "chances.max(axis=1) > self.confidence",
    "chances.max(axis=1) > 0.0",
    INTERACTIVE,
)
plant(
    "interactive rounds are priced as one query",
    "pate:InteractiveGNMax.threshold_part",
    "self._thresholds(queries)",
    "self._thresholds(1)",
    INTERACTIVE,
)
plant(
    "the largest change of each query, added up afterwards",
    "pate:SmoothRelease._prepare",
    "max(self.bound.smooth(changes, self.beta), self._largest * _FLOOR)",
    "sum(n * self.bound.smooth(self.bound.changes(row, value.teachers), self.beta) for row, n in zip(rows, many))",
    SMOOTH,
)
plant(
    "local sensitivity for smooth",
    "pate:SmoothVotes.smooth",
    "np.max(changes * np.exp(-beta * np.arange(len(changes))))",
    "changes[0]",
    SMOOTH,
)
plant(
    "a figure of one direction",
    "pate:SmoothRelease.bound",
    "two_sided=True",
    "two_sided=False",
    SMOOTH,
)
plant(
    "figures of adaptive votes are published",
    "pate:SmoothRelease._admit",
    "if value.adaptive:",
    "if False:",
    SMOOTH,
)
plant(
    "C6 is not checked",
    "pate:SmoothVotes.refuse_unless_monotone",
    "if np.any(np.diff(self.cost(self.moved(below, 1)) - self.cost(below)) < -_ROUNDING):",
    "if False:",
    SMOOTH,
)
plant(
    "the margin is free",
    "pate:SmoothRelease.loss",
    "margin * (1.0 + _SLACK)",
    "0.0",
    SMOOTH,
)
plant(
    "votes move away from the plateau",
    "pate:SmoothVotes.changes",
    "_to_a_tie(votes, most) if agree else _apart(votes, most)",
    "_apart(votes, most) if agree else _to_a_tie(votes, most)",
    SMOOTH,
)
plant(
    "noise of a neighbour is as wide",
    "privacy:SmoothReleaseLoss.rdp",
    "found = np.maximum(spread, 0.0) + shifted",
    "found = shifted",
    "tests/privacy/test_smooth_release.py",
)
plant(
    "a kept teacher of other rows is taken",
    "pate:digest_of",
    "for each in (rows, targets):",
    "for each in ():",
    TEACHERS,
)
plant(
    "a kept teacher of another kind is taken",
    "pate:digest_of",
    "pickle.dumps(model)",
    'b""',
    TEACHERS,
)
plant(
    "what is left of a neighbour is the chance of its smallest class",
    "pate:NormalVotes.around",
    "np.argmax(moved, axis=1)",
    "np.argmin(moved, axis=1)",
    LAWS,
)
