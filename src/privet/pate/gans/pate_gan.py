"""PATE-GAN: a generator that learns what is real from the noisy votes of teachers, and from nothing else."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from privet import accounting
from privet._progress import track
from privet._validate import above, count, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, Example, Gaussian, Source, register
from privet.pate.gans.bought import kept, most_bought
from privet.pate.gans.generated_model import GeneratedModel
from privet.pate.gans.parts import exact_parts
from privet.pate.gans.small_rows import counted_pair, image_pair, replaced_pair, single_pair, table_pair
from privet.pate.gans.task import GanTask
from privet.pate.gans.teacher_gan import TeacherGAN
from privet.pate.gans.teacher_plan import COMPARED, RATE, TeacherPlan, paid_counts
from privet.pate.gn_max import GNMax
from privet.pate.votes import Votes
from privet.privacy import Guarantee, PrivacyLoss

if TYPE_CHECKING:
    from torch import Tensor

    from privet.pate.gans.adversary import Adversary
    from privet.pate.gans.centroids import Centroids
    from privet.pate.gans.discriminators import Discriminators

_Z_95 = 1.6448536269514722  # of a standard normal variable, one in twenty is larger
_LEAST_SIGMA = 1e-3  # votes are whole numbers: less noise changes none of them
_WHOLE = ("teachers", "labels", "batch", "teacher_steps", "student_steps", "generator_steps")


@final
@dataclass(frozen=True, kw_only=True)
class PATEGAN(TeacherGAN):
    """A generator of tables or images by PATE-GAN (`pip install 'privet[torch]'`).

    Teacher discriminators see a part of the private rows each. A student discriminator sees generated points alone, and for
    each the label (real or generated) that most teachers give after noise; the generator learns from the student. Every
    label costs. `sigma` is the most noise on the votes, from which the number of labels follows: as many as the budget buys
    with it. It is a fifth of the number of teachers unless you say otherwise, or more where that buys less than a `batch`
    of labels. The plan then takes the least noise that still buys as many. `labels` asks for fewer, with less noise.

    A teacher is a linear rule for each class: a point is real for it that lies further than generated ones do on the way to
    the mean of its own. With the inner layers `teacher_hidden` it is a network that makes `teacher_steps` steps a round, as
    published; such teachers soon tell all generated points from rows, and labels that are all the same teach nobody. `rate`
    is the learning rate of the generator in the first round, and shrinks to nothing: a fast one is at an edge of its range
    before the student knows where to go.

    At an epsilon of 1 a few hundred labels are bought for some hundreds of teachers, few for a table: for tables take
    `synth.AIM` (benchmarks/README.md).

    **Guarantee:** that of the promise, whatever the teachers agree on. **Reference:** Jordon, Yoon & van der Schaar 2019.

    >>> import privet as pv
    >>> made = PATEGAN(teachers=466, sigma=100.0, label_share=0.0)
    >>> plan = made.plan({"age": pv.Int(0, 99), "ill": pv.Bool()}, epsilon=1.0, delta=1e-5)
    >>> plan.labels, plan.teachers_wanted
    (479, 466)
    """

    sigma: float | None = None
    labels: int | None = None
    batch: int = 32
    teacher_hidden: Sequence[int] = ()
    teacher_steps: int = 20
    student_steps: int = 50
    generator_steps: int = 20
    rate: float = 0.002

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sigma is not None and self.labels is not None:
            raise InvalidParameter(
                "give sigma (the labels follow from the budget) or labels (the noise does), not both"
            )
        if self.sigma is not None:
            set_frozen(self, sigma=above("sigma", self.sigma, 0.0))
        if self.labels is not None:
            set_frozen(self, labels=count("labels", self.labels, 1))

    def _plan(self, task: GanTask, promise: Guarantee) -> "PATEGANPlan":
        made = PATEGANPlan(
            task=task,
            teachers=self.teachers,
            sigma=self.sigma or max(self.teachers / 5.0, 1.0),
            labels=self.labels or 1,
            counts=paid_counts(task, promise, self.label_share),
            batch=self.batch,
            teacher_steps=self.teacher_steps,
            student_steps=self.student_steps,
            generator_steps=self.generator_steps,
            rate=self.rate,
            latent=self.latent,
            hidden=tuple(self.hidden),
            teacher_hidden=tuple(self.teacher_hidden),
            device=self.device,
        )
        if self.labels is None and self.sigma is None and not kept(promise, replace(made, labels=self.batch).loss):
            made = replace(made, labels=self.batch)  # a batch of labels with as much noise as it takes
        elif self.labels is None:
            bought = most_bought(lambda n: replace(made, labels=n).loss, promise, "label")
            made = replace(made, labels=bought)
        return _with_least_noise(made, promise)._charged_at(promise)


def _with_least_noise(plan: "PATEGANPlan", promise: Guarantee) -> "PATEGANPlan":
    """The plan with the least noise on the votes of so many labels: a count of labels rarely uses a budget up."""
    far = plan.sigma
    while not kept(promise, replace(plan, sigma=far).loss):
        far *= 2.0
    near = far / 64.0
    while kept(promise, replace(plan, sigma=near).loss) and near > _LEAST_SIGMA:
        near /= 64.0
    least = accounting.calibrate(
        lambda sigma: replace(plan, sigma=sigma).loss, bounds=(near, far), **promise.keywords()
    )
    return replace(plan, sigma=min(least, far))


@final
@register
@dataclass(frozen=True, kw_only=True)
class PATEGANPlan(TeacherPlan, Algorithm[Any, GeneratedModel]):
    """A generator trained by the noisy labels of teacher discriminators: its weights.

    **Guarantee:** `labels` binary votes with normal noise, and the counts of classes where they are paid for.
    **Sensitivity:** one person is in one part, and changes one teacher; a person who is replaced changes two.
    **Proof:** docs/proofs/pate/pate_gan.md.
    """

    name = "pate_gan"
    gains = (4.0, 3.0)  # votes on points that are all alike tell nothing apart

    task: GanTask
    teachers: int
    sigma: float
    labels: int
    counts: Gaussian | None = None
    batch: int = 32
    teacher_steps: int = 20
    student_steps: int = 50
    generator_steps: int = 20
    rate: float = 0.002
    latent: int = 16
    hidden: tuple[int, ...] = (64,)
    teacher_hidden: tuple[int, ...] = ()
    device: str = "cpu"
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_networks()
        set_frozen(self, sigma=above("sigma", self.sigma, 0.0), rate=above("rate", self.rate, 0.0))
        set_frozen(self, **{name: count(name, getattr(self, name), 1) for name in _WHOLE})

    def aggregator(self, queries: int) -> GNMax:
        """The aggregator that labels so many points."""
        return GNMax(sigma=self.sigma, queries=queries, classes=2, teachers=self.teachers, unit=self.task.unit)

    @property
    def loss(self) -> PrivacyLoss:
        return self._with_counts(self.aggregator(self.labels).loss)

    @property
    def rounds(self) -> tuple[int, ...]:
        """The number of labels in each round."""
        whole, rest = divmod(self.labels, self.batch)
        return (self.batch,) * whole + ((rest,) if rest else ())

    @property
    def teachers_wanted(self) -> int:
        """The number of teachers for which the verdict of three in four of them wins 19 times in 20: half of the teachers
        against noise of deviation sigma sqrt 2 on the difference of two counts (1e-6 for the rounding of the plan)."""
        return math.ceil(2.0 * math.sqrt(2.0) * _Z_95 * self.sigma - 1e-6)

    def describe(self) -> str:
        """The plan in words."""
        told = (
            f"{self.labels:,} labels by {self.teachers:,} teachers, noise of deviation {self.sigma:.4g} on each count"
        )
        return told + f"; that noise wants {self.teachers_wanted:,} teachers" + self._classes_in_words()

    def _run(self, prepared: Any, source: Source) -> GeneratedModel:
        from privet.pate.gans.adversary import Adversary

        opened = self._opened(prepared, source)
        public = Adversary(opened.generator, self.hidden, opened.open, rate=RATE, making=self.rate)
        parts = exact_parts(self.task.exact_units(prepared), opened.key, self.teachers)
        teachers = self._teachers(parts, opened.secret)
        work = track("labels", self.labels)
        for number, size in enumerate(self.rounds, 1):
            points, told = public.drawn(size)
            votes = self._votes(teachers, number, public, points, told)
            labels = self.aggregator(size).release(votes, source=source).value
            public.learn(points, told, labels, self.student_steps)
            public.teach(4 * self.batch, self.generator_steps, 1.0 - (number - 1) / len(self.rounds))
            work.advance(size)
        return self._given_out(public.generator, "PATE-GAN")

    def _votes(
        self,
        teachers: "Centroids | Discriminators",
        number: int,
        public: "Adversary",
        points: "Tensor",
        classes: "Tensor",
    ) -> Votes:
        """The votes of a round on generated points; networks make their steps before."""
        from privet.pate.gans.centroids import Centroids

        if isinstance(teachers, Centroids):
            return teachers.exact_votes(points, classes, public.centres(COMPARED))
        teachers.train(number, [public.drawn(self.batch) for _ in range(self.teacher_steps)], self.batch)
        return teachers.exact_votes(points, classes)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        small: dict[str, Any] = dict.fromkeys(("teacher_steps", "student_steps", "generator_steps", "latent"), 2)
        small |= {"hidden": (4,), "batch": 4}
        promise = Guarantee(1.0, 1e-5)
        for pair in (table_pair, replaced_pair):
            task, left, right = pair()
            yield Example(cls(task=task, teachers=2, sigma=2.0, labels=6, **small), left, right, cost="costly")
        yield Example(
            cls(task=task, teachers=2, sigma=2.0, labels=6, teacher_hidden=(4,), **small), left, right, cost="costly"
        )
        task, left, right = image_pair()
        bought = PATEGAN(teachers=3, labels=3, label_share=0.0, **small)._plan(task, promise)
        yield Example(bought, left, right, promise, cost="costly")
        task, left, right = counted_pair()
        counts = Gaussian(scale=1.0, sensitivity=task.counts_reach)
        yield Example(
            cls(task=task, teachers=2, sigma=2.0, labels=6, counts=counts, **small), left, right, cost="costly"
        )
        # one teacher, with and without a row: its row turns labels, which a replay has to see
        for ill in (False, True):
            task, left, right = single_pair(ill)
            alone = cls(task=task, teachers=1, sigma=2.0, labels=32, **small | {"teacher_steps": 15, "batch": 16})
            yield Example(alone, left, right, cost="costly")
            yield Example(replace(alone, teacher_hidden=(4,)), left, right, cost="costly")
