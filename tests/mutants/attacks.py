"""Bugs of attacks: intervals that are too narrow, a control group that is none, secrets that look safe."""

from tests.mutants.mutant import Table

ROC = "tests/audit/membership/test_roc.py"
MEMBERSHIP = "tests/audit/membership/test_attacks.py"
SHADOWS = "tests/audit/membership/test_shadows.py"
EXPOSURE = "tests/audit/disclosure/test_exposure.py"
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
    "attacks: an end has four times its level",
    "audit:RateAt.tpr",
    "each = self.alpha / 4.0",
    "each = self.alpha",
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
    "a model's error is quoted",
    "audit:answers.failed",
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
    "np.log2((many + 1.0) / (1.0 + below))",
    "np.log((many + 1.0) / (1.0 + below))",
    EXPOSURE,
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
plant(
    "quantile: the threshold is not corrected for its own strangers",
    "audit:quantile_attack",
    "math.ceil((1.0 - rate) * (len(left) + 1))",
    "math.ceil((1.0 - rate) * len(left))",
    "tests/audit/membership/test_quantile.py",
)
plant(
    "rmia: the average is over all models alike",
    "audit:_stands_out",
    "(_mean(shares, inside) + without) / 2.0",
    "shares.mean(axis=0)",
    "tests/audit/membership/test_rmia.py",
)
