"""Bugs of attacks: intervals that are too narrow, a control group that is none, secrets that look safe."""

from tests.mutants.mutant import Table

ROC = "tests/audit/membership/test_roc.py"
MEMBERSHIP = "tests/audit/membership/test_attacks.py"
SHADOWS = "tests/audit/membership/test_shadows.py"
EXPOSURE = "tests/audit/disclosure/test_exposure.py"
INVERSION = "tests/audit/disclosure/test_inversion.py"
REBUILT = "tests/audit/disclosure/test_reconstruction.py"
EXTRACTION = "tests/audit/disclosure/test_extraction.py"
TABLES = "tests/audit/tables/test_reidentification.py"
SYNTHETIC = "tests/audit/test_synthetic.py"
CERTIFICATES = "tests/audit/certificates/test_attacks.py"
ATTACKS = Table("tests/audit")
plant = ATTACKS.plant

plant(
    "attacks: the luck of the threshold is forgotten",
    "audit:statistics.roc.rate_at",
    'strict=beyond(first, "right") if first else 0',
    'strict=beyond(accused + 1, "right")',
    ROC,
)
plant(
    "attacks: equal scores count for the attack",
    "audit:statistics.roc.area",
    "int(2 * below.sum() + equal.sum())",
    "int(2 * below.sum() + 2 * equal.sum())",
    ROC,
)
plant(
    "attacks: the area counts all pairs as independent",
    "audit:Area.auc",
    "min(self.members, self.others)",
    "self.members * self.others",
    ROC,
)
plant(
    "attacks: an end has eight times its level",
    "audit:RateAt.tpr",
    "each = self.alpha / 4.0",
    "each = 2.0 * self.alpha",
    ROC,
    CERTIFICATES,
)
plant(
    "attacks: records on both sides are kept",
    "audit:Suspects.__post_init__",
    "if set(names[inside]) & set(names[~inside]):",
    "if False:",
    MEMBERSHIP,
)
plant(
    "attacks: a split by hand is a test of the claim",
    "audit:MembershipAttack.verdict",
    'return "not refuted" if self.test is None else self.test.verdict',
    'return "violated" if self.above_ceiling else "not refuted"',
    MEMBERSHIP,
)
plant(
    "LiRA: offline, by models that were trained on the suspect too",
    "audit:membership.lira.lira",
    "out = _fitted(seen, ~inside)",
    "out = _fitted(seen, np.ones_like(inside))",
    MEMBERSHIP,
)
plant(
    "LiRA: a variance of zero stays zero",
    "audit:membership.lira._fitted",
    "spread = np.where(spread > 0.0, spread, 1.0)",
    "spread = spread",
    MEMBERSHIP,
)
plant(
    "LiRA: log-odds by ln(p/(1 - p))",
    "audit:membership.signals.sureness",
    "return _own(logs, places) - np.maximum(rest, _LEAST)",
    "return _own(logs, places) - np.log1p(-np.exp(_own(logs, places)))",
    MEMBERSHIP,
)
plant(
    "RMIA: the population may hold suspects",
    "audit:membership.rmia.rmia",
    "if set(record_names(x, y)) & set(record_names(suspects.x, suspects.y)):",
    "if False:",
    MEMBERSHIP,
)
plant(
    "RMIA: references that were trained on the record alone",
    "audit:membership.rmia._stands_out",
    "without = _mean(shares, ~inside)",
    "without = _mean(shares, np.ones_like(inside))",
    MEMBERSHIP,
)
plant(
    "quantile attack: no conformal correction",
    "audit:membership.quantile.quantile_attack",
    "shift = float(left[min(rank, len(left)) - 1])",
    "shift = 0.0",
    MEMBERSHIP,
)
plant(
    "a model's error is quoted",
    "audit:membership.signals._failed",
    "({type(problem).__name__})",
    "({problem})",
    MEMBERSHIP,
)
plant(
    "shadow models: a folder of another pool is taken",
    "audit:membership.shadows._opened",
    'if json.loads((home / _DESIGN).read_text(encoding="utf-8")) != wanted:',
    "if False:",
    SHADOWS,
)
plant(
    "shadow models: one split for all records",
    "audit:membership.shadows._halves",
    "random((many, records))",
    "random((many, 1)) * np.ones((1, records))",
    SHADOWS,
)
plant(
    "exposure: nats for bits",
    "audit:disclosure.exposure.exposure",
    "-np.log2((1.0 + below) / (many + 1.0))",
    "-np.log((1.0 + below) / (many + 1.0))",
    EXPOSURE,
)
plant(
    "exposure: equal scores count for the secret",
    "audit:disclosure.exposure.exposure",
    "<= inside[:, None]",
    "< inside[:, None]",
    EXPOSURE,
)
plant(
    "exposure: secrets of one run are binomial at the known rate",
    "audit:known_rate._bound",
    "if not hits.one_run:",
    "if True:",
    EXPOSURE,
)
plant(
    "exposure: the luck of one sample of references is free",
    "audit:Exposure.hits",
    'if shared and self.method == "sampled":',
    "if False:",
    EXPOSURE,
)
plant(
    "exposure: copies are no group",
    "audit:known_rate_lower",
    "lower=_bound(hits, hits.hits, at, part, unit) / hits.copies",
    "lower=_bound(hits, hits.hits, at, part, unit)",
    EXPOSURE,
)
plant(
    "exposure: a law that does not fit is used",
    "audit:disclosure.exposure._fit",
    "return (shape, place, scale) if judged.pvalue >= _MISFIT else None",
    "return (shape, place, scale)",
    EXPOSURE,
)
plant(
    "inversion: both intervals of a difference have the whole level",
    "audit:Inversion.leak",
    "self.alpha / 2.0",
    "min(0.9, 12.0 * self.alpha)",
    INVERSION,
)
plant(
    "inversion: the control group are members",
    "audit:disclosure.inversion.invert",
    '_checked("others", others, kinds)',
    '_checked("others", members, kinds)',
    INVERSION,
)
plant(
    "extraction: the likeliest beginning last",
    "audit:disclosure.extraction.extract",
    "heapq.heappush(waiting, (cost - log, text + symbol, depth + 1))",
    "heapq.heappush(waiting, (cost + log, text + symbol, depth + 1))",
    EXTRACTION,
)
plant(
    "reconstruction: bits by chance",
    "audit:disclosure.reconstruction.reconstruct",
    "> 0.5).astype(np.int64)",
    "> 0.9).astype(np.int64)",
    REBUILT,
)
plant(
    "tables: rows with something missing are left out",
    "audit:tables.cells._every_row",
    "replace(column, null=True)",
    "column",
    TABLES,
)
plant(
    "tables: cells of five are small",
    "audit:Reidentification.exact_small",
    "size < SMALL",
    "size <= SMALL",
    TABLES,
)
plant(
    "tables: whoever looks for all has the chances of the worst row",
    "audit:Reidentification.exact_marketer",
    "self.cells / self.rows",
    "1.0 / self.least",
    TABLES,
)
plant(
    "synthetic: the control group is not asked",
    "audit:Beside.accused",
    "return self.excess.low > 0.0",
    "return self.members.rate.low > 0.5",
    SYNTHETIC,
)
plant(
    "synthetic: predicates of rows that are not alone",
    "audit:synthetic_rates._alone",
    "return np.flatnonzero(np.bincount(cells)[cells] == 1)",
    "return np.arange(len(table))",
    SYNTHETIC,
)
plant(
    "synthetic: one column is predicate enough",
    "audit:synthetic_rates._singled",
    "if left.sum() == 1:",
    "if True:",
    SYNTHETIC,
)
plant(
    "synthetic: 1 and 1.0 are different answers",
    "audit:exact_synthetic_rates",
    "inside, table, outside = alike(inside, table, outside)",
    "pass",
    SYNTHETIC,
)
plant(
    "synthetic: what is missing equals nothing",
    "audit:columns._missing",
    'type(value).__name__ in ("NAType", "NaTType")',
    "False",
    SYNTHETIC,
)
