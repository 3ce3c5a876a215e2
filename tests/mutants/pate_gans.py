"""Bugs of generators that learn from votes: those of published code, and those that are easily made here."""

from tests.mutants.mutant import Table

PATE_GAN = "tests/pate/test_pate_gan.py"
G_PATE = "tests/pate/test_g_pate.py"
RULES = "tests/pate/test_pate_gan_rules.py"
PATE_GANS = Table(PATE_GAN, G_PATE, RULES)
plant = PATE_GANS.plant

plant(
    "real rows to the student",
    "pate:PATEGANPlan._run",
    "public.learn(points, told, labels, self.student_steps)",
    "public.learn(teachers._points[[0] * size], told, labels, self.student_steps)",
)
plant(
    "the student is a teacher",
    "pate:PATEGANPlan._run",
    'work = track("labels", self.labels)',
    'public.student[:] = [each[0].detach() for each in teachers.exact_layers()]; work = track("labels", self.labels)',
)
plant(
    "unanimous labels are free",
    "pate:PATEGANPlan._run",
    "self.aggregator(size).release(votes, source=source).value",
    "votes.exact_counts.argmax(axis=1)",
)
plant(
    "the student learns the means of teachers",
    "pate:PATEGANPlan._run",
    "public.learn(points, told, labels, self.student_steps)",
    "public.learn(getattr(teachers, '_means', points)[[0] * size].reshape(size, -1)[:, :points.shape[1]], told, labels, 2)",
    RULES,
)
plant(
    "linear rules compare themselves with each other",
    "pate:Centroids.exact_votes",
    "ways = self._means[:, each] - centres[each]",
    "ways = self._means[:, each] - self._means[:, each].mean(dim=0)",
    RULES,
)
plant(
    "one batch is paid for",
    "pate:PATEGANPlan.loss",
    "self.aggregator(self.labels).loss",
    "self.aggregator(min(self.batch, self.labels)).loss",
)
plant(
    "a replaced person is one teacher",
    "pate:PATEGANPlan.aggregator",
    ", unit=self.task.unit",
    "",
)
plant(
    "exact shares of classes",
    "pate:gans.teacher_plan.TeacherPlan._shares",
    "np.maximum(np.asarray(noisy, dtype=float), 1.0)",
    "np.maximum(np.asarray(self.task.exact_counts(prepared, salts), dtype=float), 1.0)",
)
plant(
    "parts by the order of rows",
    "pate:exact_parts",
    "assigned = part_of[units.owners]",
    "assigned = np.arange(len(units.owners)) * parts // max(len(units.owners), 1)",
)
plant(
    "equal rows all in one part",
    "pate:gans.parts._names",
    "seen[content] += 1",
    "seen[content] += 0",
)
plant(
    "rows of a person in several parts",
    "pate:TableTask.exact_units",
    "numbers[known, -1] if self.scan.persons else np.arange(int(known.sum()))",
    "np.arange(int(known.sum()))",
)
plant(
    "one stream for all teachers",
    "pate:Discriminators.__init__",
    "uniforms(stream, i, 0, size_of(widths))",
    "uniforms(stream, 0, 0, size_of(widths))",
)
plant(
    "teachers share a loss",
    "pate:Discriminators._step",
    "loss.sum()",
    "loss.sum().square()",
)
plant(
    "a teacher without numbers votes real",
    "pate:Discriminators.exact_votes",
    "[..., 0] > 0.0",
    "[..., 0].nan_to_num(1.0) > 0.0",
)
plant(
    "gradients without noise",
    "pate:GPATEPlan._run",
    "self.aggregator.release(votes, source=source).value",
    "votes.exact_counts.argmax(axis=1)",
    G_PATE,
)
plant(
    "a point costs one vote, not one for each direction",
    "pate:GPATEPlan.loss",
    "Repeated(self.aggregator.loss, self.rounds)",
    "Repeated(replace(self, dimensions=1).aggregator.loss, self.rounds)",
    G_PATE,
)
plant(
    "a replaced person moves the votes of one teacher",
    "pate:GPATEPlan.aggregator",
    "GNMax(sigma=self.sigma2, unit=self.task.unit, **asked)",
    "GNMax(sigma=self.sigma2, **asked)",
    G_PATE,
)
plant(
    "the longest gradient of all teachers is the measure of each",
    "pate:gans.gradients.counted",
    "ways.norm(dim=-1, keepdim=True)",
    "ways.norm(dim=-1, keepdim=True).max()",
    G_PATE,
)
plant(
    "a teacher without numbers is dropped",
    "pate:gans.gradients.counted",
    "return functional.one_hot(torch.bucketize(told, inner), bins).sum(dim=0)",
    "return (functional.one_hot(torch.bucketize(told, inner), bins) * (ways == ways).all(-1)[..., None, None]).sum(dim=0)",
    G_PATE,
)
plant(
    "a person's rows move the counts of classes as one",
    "pate:TableTask.counts_reach",
    "Fraction(root_up(Fraction(self._labels.reach.l2_squared(self.unit))))",
    "1",
)
plant(
    "an exchanged image moves the counts of classes as one that comes",
    "pate:ImageTask.counts_reach",
    '2 if self.of.relation == "replace" else 1',
    "1",
)
plant(
    "counts of classes with noise for less are taken",
    "pate:TeacherPlan._check_counts",
    "bound.value < needed.value or bound.unit != needed.unit",
    "False",
)
plant(
    "images of another unit are taken",
    "pate:ImageTask.admit",
    "(value.shape, value.classes, value.unit) != (self.shape, self.many, self.of,)",
    "(value.shape, value.classes) != (self.shape, self.many)",
)
