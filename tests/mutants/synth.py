"""Bugs in synthesizers: sensitivities of another relation, exact numbers, uncharged parts, trees that are too small."""

from tests.mutants.mutant import Table

_LAWS = "tests/laws/test_mechanisms.py -m '' -k 'test_law and synth'"
_MST, _AIM, _TRAPS = "tests/synth/test_mst.py", "tests/synth/test_aim.py", "tests/synth/test_traps.py"
_PUBLIC, _BARS = "tests/synth/test_public_rows.py", "tests/synth/test_error_bars.py"
_WHOLE = "tests/synth/test_whole_workload.py"
SYNTH = Table(
    "tests/synth/test_mst.py tests/synth/test_aim.py tests/synth/test_traps.py tests/synth/test_contract.py",
    "tests/synth/test_graph.py tests/synth/test_lectures.py",
    _LAWS,
)
plant = SYNTH.plant

plant(
    "a replaced row costs what an added one does",
    "synth:Task.l1",
    "self.coded.reach.l1(self.unit)",
    "self.coded.reach.most_rows",
    _MST,
    _LAWS,
)
plant(
    "a replaced row moves a table by one",
    "synth:Task.l2",
    "self.coded.reach.l2_squared(self.unit)",
    "self.coded.reach.most_rows**2",
    _MST,
    _LAWS,
)
plant(
    "the exact number of rows",
    "synth:IndependentPlan._run",
    "total = least_variance_total(found).value if self.task.rows is None else float(self.task.rows)",
    "total = float(tables[columns[0]].sum())",
    _TRAPS,
    _LAWS,
)
plant(
    "the first tables are not charged",
    "synth:AIMPlan._columns",
    "noise = table_noise(purse.buy(_MEASURE * share), self.task)",
    "noise = table_noise(self.money.share(_MEASURE * share), self.task)",
    _AIM,
    _LAWS,
)
plant(
    "a choice at a quarter of its price",
    "synth:choice_by_distance",
    "reach = task.l1.value * UNITS * largest",
    "reach = task.l1.value * UNITS * largest / 2",
    _MST,
    _LAWS,
)
plant(
    "weights outside of the sensitivity",
    "synth:AIMPlan._run",
    "choice = choice_by_distance(bought, self.task, Fraction(largest))",
    "choice = choice_by_distance(bought, self.task, Fraction(1))",
    _PUBLIC,
    _LAWS,
)
plant(
    "noise is lessened by a look at the data",
    "synth:AIMPlan._run",
    "moved = float(np.abs(model.marginal(chosen) - answers[chosen]).sum())",
    "moved = float(np.abs(model.marginal(chosen) - tables[chosen]).sum())",
    "tests/synth/test_whole_workload.py",
    _LAWS,
)
plant(
    "fill-in is not counted",
    "synth:tree_cells",
    "return sum(prod(sizes[i] for i in _members(bits)) for bits in _eliminated(sizes, cliques))",
    "return sum(prod(sizes[i] for i in each) for each in cliques)",
    _AIM,
)
plant(
    "merged cells with the variance of one",
    "synth:mst._merged",
    "members * each.sigma**2",
    "0.0 * members + each.sigma**2",
    _MST,
)
plant(
    "values are merged by exact counts",
    "synth:MSTPlan._run",
    "total, small = self._total(wide), self._compressed(wide)",
    "exact = [measured(c, tables[c], self._first_noise()) for c in columns]\n"
    "        total, small = self._total(wide), self._compressed(exact)",
    _TRAPS,
    _LAWS,
)
plant(
    "a purse without a bottom",
    "synth:Purse.buy",
    "if math.fsum([*self._spent, share]) > 1.0 + 2.0**-40:",
    "if math.fsum([*self._spent, share]) > 2.0:",
    _AIM,
)
plant(
    "distances in floats of the model, rounded to rows",
    "synth:exact_distance",
    "np.rint(near * UNITS).astype(np.int64)",
    "np.rint(np.asarray(table) * 0.5 * UNITS).astype(np.int64)",
    "tests/synth/test_before_paying.py -k distances",
    _LAWS,
)
plant(
    "SmallDB: the score moves by half of what it does",
    "synth:SmallDBPlan._choice",
    "reach = Sensitivity(Fraction(moves * units), norm=",
    "reach = Sensitivity(Fraction(moves * units) / 2, norm=",
    "tests/synth/test_lectures.py",
    _LAWS,
)
plant(
    "MWEM: an answer with the share of a whole round",
    "synth:MWEMPlan._parts",
    "return choice, kind.for_budget(sensitivity=Sensitivity(self._reach(), norm=norm, unit=unit), **each.keywords())",
    "whole = self.money.share(share).keywords()\n"
    "        return choice, kind.for_budget(sensitivity=Sensitivity(self._reach(), norm=norm, unit=unit), **whole)",
    "tests/laws/test_mechanisms.py -m '' -k 'test_law and synth_mwem-'",
)
plant(
    "a model that was not paid for is small enough",
    "synth:fitting",
    "inside = any(set(each) <= clique for clique in held)",
    "inside = True",
    _AIM,
)
plant(
    "public rows: a public table's score moves by what a private one does",
    "synth:AIMPlan._run",
    "*(2 * weights[each] for each in guesses)",
    "*(weights[each] for each in guesses)",
    _PUBLIC,
    _LAWS,
)
plant(
    "public rows: a choice that ends at a public table is not paid",
    "synth:AIMPlan._run",
    "bought = purse.buy((1.0 - _MEASURE) * share)",
    "bought = (purse.buy if last else self.money.share)((1.0 - _MEASURE) * share)",
    _PUBLIC,
    _LAWS,
)
plant(
    "public rows: taken without a paid choice",
    "synth:AIMPlan._run",
    "if place >= len(answers):",
    "if guesses and max(scores[len(answers) :]) > max(scores[: len(answers)]):",
    _PUBLIC,
    _LAWS,
)
plant(
    "domain from data: codes that nobody has stay without rows",
    "synth:IndependentPlan._run",
    "noisy = noise.release(tables[each], source=source).value",
    "noisy = noise.release(tables[each], source=source).value * (tables[each] > 0)",
    _TRAPS,
    _LAWS,
)
plant(
    "epsilon^2/8 for a choice without bounded range",
    "synth:choice_by_distance",
    'return Exponential.for_budget(sensitivity=Sensitivity(reach, norm="score", unit=task.unit), **share.keywords())',
    'made = Exponential.for_budget(sensitivity=Sensitivity(reach, norm="score", unit=task.unit), **share.keywords())\n'
    "    from privet.mechanisms import PermuteAndFlip\n"
    "    return PermuteAndFlip(scale=made.scale, sensitivity=made.sensitivity)",
    "tests/laws/test_mechanisms.py -m '' -k 'test_law and synth_mst'",
    _LAWS,
)
plant(
    "the number of synthetic rows is that of the data",
    "synth:MWEMGraphPlan._run",
    "if self.task.rows is None: total = least_variance_total(found).value",
    "if self.task.rows is None: total = float(tables[()])",
    _TRAPS,
    _LAWS,
)
plant(
    "a tree is given up by the exact number of rows",
    "synth:MSTPlan._run",
    "if not self._hidden(total):",
    "if not self._hidden(float(tables[columns[0]].sum())):",
    "tests/laws/test_mechanisms.py -m '' -k 'test_law and synth_mst'",
    _LAWS,
)
plant(
    "the rest of the budget twice, where there is no tree",
    "synth:MSTPlan._run",
    "wide += self._measured(columns, tables, purse, purse.left / len(columns), source)",
    "wide += self._measured(columns, tables, Purse(self.money), 1.0 / len(columns), source)",
    _MST,
    _LAWS,
)
plant(
    "rare values begin at 0, not at three deviations",
    "synth:MSTPlan._compressed",
    "made = without_rare(values, _RARE * sigma)",
    "made = without_rare(values, 0.0 * sigma)",
    _MST,
)
plant(
    "bars: codes that were picked by their noise in two looks, as if nobody had looked",
    "synth:error_bars._merged_radius",
    "_look_radius(each, beta / len(asked))",
    "_look_radius(each, beta * 20.0)",
    _BARS,
)
plant(
    "bars: the union over groups that are left, not over the codes that were looked at",
    "synth:error_bars._look_radius",
    "tail = beta / float(members.sum())",
    "tail = beta / members.size",
    _BARS,
)
plant(
    "bars: noise of residual tables is taken as independent",
    "synth:Measurement.variance_of",
    "if self.part_variance is None:",
    "if True:",
    _WHOLE,
)
plant(
    "bars: parts of a table have the noise of the whole domain",
    "synth:WholeWorkload._parts",
    "if i not in held",
    "if i in held",
    _WHOLE,
)
plant(
    "tables for people: labels of neighbouring codes",
    "synth:CountTable.columns",
    "self._keys(place)[codes[place]]",
    "self._keys(place)[codes[place] - 1]",
    "tests/synth/test_count_table.py",
)
plant(
    "all tables: the look at the model's distance is not paid for",
    "synth:AIMPlan._all_is_better",
    "noise = whole.distance_noise(purse.buy(_LOOK))",
    "noise = whole.distance_noise(self.money.share(_LOOK))",
    _WHOLE,
    _LAWS,
)
plant(
    "all tables: decided by the exact distance",
    "synth:AIMPlan._all_is_better",
    "return hidden < off * _worth(1.0 - purse.left)",
    "return hidden < whole.exact_mean_distance(tables, answers) * _worth(1.0 - purse.left)",
    _WHOLE,
    "tests/laws/test_mechanisms.py -m '' -k 'test_law and synth_aim'",
    _LAWS,
)
plant(
    "all tables: a distance moves in l2 as a table does",
    "synth:WholeWorkload.distance_noise",
    'Sensitivity(self.task.l1.value, norm="l2", unit=self.task.unit)',
    'Sensitivity(self.task.l2.value, norm="l2", unit=self.task.unit)',
    _WHOLE,
)
plant(
    "all tables: priced for one row of a person",
    "synth:WholeWorkload.part",
    "max_rows=self.task.coded.reach.most_rows",
    "max_rows=1",
    _WHOLE,
)
plant(
    "all tables: where the promise is pure, each with all that is left",
    "synth:WholeWorkload.part",
    "share.share(1.0 / len(self.weights))",
    "share",
    _WHOLE,
)
plant(
    "all tables: cells that may not occur have rows",
    "synth:WholeWorkload.answers",
    "if open_ is None:",
    "if True:",
    _WHOLE,
)
plant(
    "all tables: the model has the last word",
    "synth:WholeWorkload.answers",
    "moved = guess + (1.0 - noise / length) * off",
    "moved = guess",
    _WHOLE,
)
plant(
    "MST: distances of any size are read as 64 bits",
    "synth:MSTPlan._chosen",
    "if total <= _FITS:",
    "if total > 0.0:",
    _MST,
)
plant(
    "distance: noise that is priced for another unit is taken",
    "synth:MeanDistance.__post_init__",
    "self.part.sensitivity.unit != self.coded.rows.unit.unit",
    "False",
    "tests/synth/test_evaluate.py",
)
