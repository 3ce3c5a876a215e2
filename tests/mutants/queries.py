"""Bugs in queries: a condition of SQL that means something else, a batch that pays for less, sums that move further."""

from tests.mutants.mutant import Table

QUERIES = Table("tests/queries/test_sql.py", "tests/queries")
plant = QUERIES.plant

_SQL = ("tests/queries/test_sql_beside_duckdb.py", "tests/queries/test_sql.py")
plant(
    "sql: IS NOT NULL is IS NULL",
    "queries:RowReader.compared",
    "return Negated(missing) if opposite else missing",
    "return missing",
    *_SQL,
)
plant(
    "sql: a constant on the left is not turned",
    "queries:RowReader.compared",
    "_COMPARED[_TURNED.get(sign, sign)]",
    "_COMPARED[sign]",
    *_SQL,
)
plant(
    "sql: NOT is forgotten before IN",
    "queries:RowReader.compared",
    "return Negated(made) if opposite else made",
    "return made",
    *_SQL,
)
plant(
    "sql: NOT takes what AND follows",
    "queries:RowReader.opposite",
    "Negated(self.opposite())",
    "Negated(self.both())",
    *_SQL,
)
plant(
    "sql: BETWEEN leaves out its end",
    "queries:RowReader.between",
    'Compare(of, "<=", self.constant())',
    'Compare(of, "<", self.constant())',
    *_SQL,
)
plant(
    "sql: a part of a day is the first that SELECT names",
    "queries:_Reader.grouped",
    "if self.part_key(item)[1] == part",
    "if self.part_key(item)",
    *_SQL,
)
plant(
    "sql: a sign is lost",
    "queries:RowReader.number",
    'sign = -1 if self.words.took("-") else 1',
    'sign = 1 if self.words.took("-") else 1',
    *_SQL,
)
plant(
    "sql: the condition is forgotten",
    "queries:_Reader.query",
    "self.table = self.table.where(self.either())",
    "self.either()",
    *_SQL,
)
plant(
    "sql: any column is counted as persons",
    "queries:_Reader.counted",
    "if self.within(about, [unit.column]) is not None and self",
    "if self",
    "tests/queries/test_distinct.py",
)
plant(
    "sql: rows are shown",
    "queries:_Reader.key",
    "        if name not in keys:\n",
    "        if False:\n",
    "tests/queries/test_sql.py",
)
plant(
    "sql: HAVING is passed over",
    "queries:_Reader.query",
    'self.words.took(";")\n        if self.words.next.kind != "end":',
    'self.words.took(";")\n        if False:',
    "tests/queries/test_sql.py",
)
plant("sql: a doubled quote ends a text", "queries:_TOKEN", "'(?:[^']|'')*')", "'[^']*')", "tests/queries/test_sql.py")

_BATCH = ("tests/queries/test_batches.py", "tests/laws -k batch_answers")
plant(
    "batch: only the first query is paid",
    "queries:BatchAnswers.loss",
    "return losses[0] if len(losses) == 1 else Composed(losses)",
    "return losses[0]",
    *_BATCH,
)
plant(
    "batch: two units",
    "queries:BatchAnswers.__post_init__",
    "if len({part.unit for part in self.parts}) > 1:",
    "if False:",
    *_BATCH,
)
plant(
    "batch: two units are asked",
    "queries:Batch.__post_init__",
    "if len({query.unit for _, query in self.queries}) > 1:",
    "if False:",
    *_BATCH,
)
plant(
    "batch: everybody gets the whole budget",
    "queries:_shared",
    "return [each / math.fsum(held) for each in held]",
    "return [1.0 for each in held]",
    *_BATCH,
)
plant(
    "batch: delta is given to each",
    "queries:Batch._splits",
    "target.split(_shared(weights, 1), deltas=equal)",
    "tuple(target.share(each, delta=1.0) for each in _shared(weights, 1))",
    *_BATCH,
)

COVARIANCES, COVARIANCE = "queries/covariance_answers.py", ("tests/queries/test_covariances.py",)
plant(
    "covariances: one pair is priced",
    "queries:Design.sensitivity",
    "Fraction(sum(tops) * reach.l1(unit))",
    "Fraction(max(tops) * reach.l1(unit))",
    *COVARIANCE,
)
plant(
    "covariances: squares are not squared",
    "queries:Design.sensitivity",
    "sum(top * top for top in tops)",
    "sum(tops)",
    *COVARIANCE,
)
plant(
    "covariances: rows of a person count once",
    "queries:Design.sensitivity",
    "Fraction(sum(tops) * reach.l1(unit))",
    "Fraction(sum(tops))",
    *COVARIANCE,
)
plant(
    "covariances: a corner is too large",
    "queries:_of_one",
    "((one, 2 * n), (square, -2))",
    "((one, 2 * n), (square, -1))",
    *COVARIANCE,
)
plant(
    "covariances: a missing value is a zero",
    "queries:design_of",
    "Term((each,), present) for each",
    "Term((each,), ()) for each",
    *COVARIANCE,
)
plant(
    "covariances: any noise will do",
    "queries:CovarianceAnswers.__post_init__",
    "or self.part.sensitivity.value < needed.value:",
    "or False:",
    *COVARIANCE,
)
plant(
    "covariances: priced for another unit",
    "queries:CovarianceAnswers.__post_init__",
    "if self.part.sensitivity.unit != about:",
    "if False:",
    *COVARIANCE,
)
plant(
    "covariances: another plan is run",
    "queries:CovarianceAnswers.__post_init__",
    "if design != design_of(rows, self.columns) or about != rows.unit.unit:",
    "if False:",
    *COVARIANCE,
)

plant(
    "intervals: the first cell that ends outside",
    "queries:_last_inside",
    "out = between / cells * bottom - top > wide[between]",
    "out = (between + 1) / cells * bottom - top > wide[between]",
    "tests/queries/test_intervals.py",
)
plant(
    "intervals: the radii are not turned round",
    "queries:ratio_interval",
    "1.0 - middle, in_cell[::-1])",
    "1.0 - middle, in_cell)",
    "tests/queries/test_intervals.py",
)

plant(
    "second moments: half of the radius",
    "queries:covariance_interval",
    "own_radii(*law, weights.T, confidence) / whole",
    "own_radii(*law, weights.T, confidence) / (2.0 * whole)",
    "tests/queries/test_second_moments.py",
)
plant(
    "correlations: rounding is forgotten",
    "queries:correlation_interval",
    "np.arccos(low[safe]) + turned",
    "np.arccos(low[safe])",
    "tests/queries/test_second_moments.py",
)

_KEYS = "tests/queries/test_discovered_keys.py"
plant("discovered keys: a key that nobody has", "queries:DiscoveredKeys._prepare", "counts > 0", "counts >= 0", _KEYS)
plant(
    "discovered keys: the caller's order",
    "queries:DiscoveredKeys._prepare",
    "        there.sort(key=lambda place: _order(listed[place]))\n",
    "",
    _KEYS,
)
plant(
    "discovered keys: a key twice",
    "queries:DiscoveredKeys._admit",
    'if len({_order(key) for key in value["keys"]}) != len(value["keys"]):',
    "if False:",
    _KEYS,
)
plant(
    "answers: rows pass a threshold for persons",
    "queries:TableAnswers._keys",
    '"counts": found.persons',
    '"counts": found.rows',
    _KEYS,
)
plant(
    "answers: the price of keys forgets rows and total",
    "queries:TableAnswers._check_selection",
    "found.keys < reach.most_keys or found.rows < often or found.total < most or",
    "found.keys < reach.most_keys or",
    _KEYS,
)
plant(
    "tables of counts: the price forgets rows of a person",
    "queries:MarginalAnswers.__post_init__",
    "if self.queries.max_rows < self.coded.most_rows or self.queries.unit",
    "if self.queries.unit",
    "tests/queries/test_marginals.py",
)
plant(
    "histogram: the price forgets rows of a person",
    "queries:HistogramAnswers.__post_init__",
    "if self.queries.max_rows < self.plan.reach.most_rows or self.queries.unit",
    "if self.queries.unit",
    "tests/queries/test_histograms.py",
)

_GROUPS = "tests/queries/test_group_quantiles.py"
plant(
    "quantiles by group: the price forgets rows of a person",
    "queries:GroupQuantiles.__post_init__",
    "if self.queries.max_rows < self.plan.reach.most_rows or self.queries.unit",
    "if self.queries.unit",
    _GROUPS,
)
plant(
    "quantiles by group: a replacement is priced inside of one group",
    "queries:GroupQuantiles._price_of",
    'return one if self.about.relation == "add_remove" else to_replace(one)',
    "return one",
    _GROUPS,
)
plant(
    "quantiles by group: intervals hold one by one",
    "queries:joint_radii",
    "tail = (1.0 - _CONFIDENCE) / len(shares)",
    "tail = 0.9",
    _GROUPS,
)

_VALUES = "tests/queries/test_distinct.py"
plant(
    "values: all of one group move by a root",
    "queries:Family.sensitivity",
    "reach = Reach(rows=reach.most_rows)",
    "reach = Reach(keys=reach.most_rows, rows_per_key=1)",
    "tests/queries/test_distinct.py",
)
plant(
    "values: limits of groups are limits of values",
    "queries:Family.plan_of",
    "Derive(in_values(plan.rows, len(plan.keys)), _VALUE, Ref(self.column))",
    "Derive(plan.rows, _VALUE, Ref(self.column))",
    _VALUES,
    "tests/queries/test_sensitivity.py",
)

_BOUNDS = "tests/queries/test_found_bounds.py"
plant(
    "bounds: rows of a person are priced as one",
    "queries:BoundsFinder.__post_init__",
    "self.part.sensitivity.value < moved_by(self.plan.reach, self.about, norm).value",
    "False",
    _BOUNDS,
)
plant(
    "bounds: one noise is looked at, and not all",
    "queries:BoundsFinder.beyond",
    "1.0 - self.failing / self.plan.bins",
    "1.0 - self.failing",
    _BOUNDS,
)

_FEATURES = "tests/queries/test_person_features.py"
plant(
    "features: rows of a person stay priced as rows",
    "tables:PerPerson.unit",
    "Person(about.column, max_rows=1, relation=about.relation)",
    "about",
    _FEATURES,
)
plant(
    "features: sums leave their bounds",
    "tables:FeatureValues._within",
    'return f"least(greatest({sql}, {d.number(low)}), {d.number(high)})"',
    "return sql",
    _FEATURES,
)
