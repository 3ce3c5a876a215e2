"""G-PATE: a generator that follows the noisy votes of teachers on where its points should go."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from privet._progress import track
from privet._validate import above, at_least, count, fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, Example, Gaussian, Source, register
from privet.pate.confident_gn_max import ConfidentGNMax
from privet.pate.gans.bought import kept, most_bought
from privet.pate.gans.generated_model import GeneratedModel
from privet.pate.gans.parts import exact_parts
from privet.pate.gans.small_rows import counted_pair, image_pair, replaced_pair, table_pair
from privet.pate.gans.task import GanTask
from privet.pate.gans.teacher_gan import TeacherGAN
from privet.pate.gans.teacher_plan import COMPARED, TeacherPlan, paid_counts
from privet.pate.gn_max import GNMax
from privet.pate.votes import Votes
from privet.privacy import Guarantee, PrivacyLoss, Repeated

if TYPE_CHECKING:
    from privet.pate.gans.centroids import Centroids
    from privet.pate.gans.discriminators import Discriminators
    from privet.pate.gans.follower import Asked, Follower

_WHOLE = {"teachers": 1, "rounds": 1, "batch": 1, "dimensions": 1, "bins": 2, "teacher_steps": 1, "generator_steps": 1}
_SHARED = ("sigma1", "sigma2", "threshold", "batch", "dimensions", "bins", "reach", "blur", "move", "rate")


@final
@dataclass(frozen=True, kw_only=True)
class GPATE(TeacherGAN):
    """A generator of tables or images by G-PATE (`pip install 'privet[torch]'`).

    In each of `rounds` rounds a batch of points is generated, and each teacher votes, for every point and each of
    `dimensions` public random directions, for one of `bins` of its own gradient along that direction. What most teachers
    say after noise moves the point, and the generator is trained to make the moved points. With a `threshold` (a share of
    the teachers) nothing is moved along directions on which fewer agree, after noise of deviation `sigma1`.

    The batch, the directions and the noise say how many rounds the budget buys; `rounds` takes fewer. Queries depend on
    earlier answers, so that the price is that of the noise, whatever the teachers agree on: sums of data-dependent costs,
    by which published figures were made, promise nothing here. `blur` (images) makes neighbouring pixels move together.

    A teacher is a linear rule for each class: the mean of its own points less that of generated ones. With the inner
    layers `teacher_hidden` it is a network that makes `teacher_steps` steps a round; on images such teachers lag behind the
    generator, and what it makes stays noise (benchmarks/README.md).

    **Guarantee:** that of the promise. **Reference:** Long et al. 2021.

    >>> import privet as pv
    >>> published = GPATE(teachers=4000, sigma1=3000.0, sigma2=1000.0, threshold=0.5, batch=64, dimensions=10, bins=10)
    >>> published.plan({"age": pv.Int(0, 99)}, epsilon=1.0, delta=1e-5).rounds
    53
    """

    sigma2: float
    sigma1: float | None = None
    threshold: float | None = None
    rounds: int | None = None
    teacher_hidden: Sequence[int] = ()
    batch: int = 16
    dimensions: int = 10
    bins: int = 2
    reach: float = 0.1
    blur: float = 0.0
    teacher_steps: int = 4
    generator_steps: int = 10
    move: float = 1.0
    rate: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds is not None:
            set_frozen(self, rounds=count("rounds", self.rounds, 1))

    def _plan(self, task: GanTask, promise: Guarantee) -> "GPATEPlan":
        made = GPATEPlan(
            task=task,
            teachers=self.teachers,
            rounds=self.rounds or 1,
            counts=paid_counts(task, promise, self.label_share),
            teacher_steps=self.teacher_steps,
            generator_steps=self.generator_steps,
            latent=self.latent,
            hidden=tuple(self.hidden),
            teacher_hidden=tuple(self.teacher_hidden),
            device=self.device,
            **{name: getattr(self, name) for name in _SHARED},
        )
        if self.rounds is None:
            made = replace(made, rounds=most_bought(lambda n: replace(made, rounds=n).loss, promise, "round"))
        elif not kept(promise, made.loss):
            raise InvalidParameter("the promise does not buy so many rounds: take fewer, or more noise")
        return made._charged_at(promise)


@final
@register
@dataclass(frozen=True, kw_only=True)
class GPATEPlan(TeacherPlan, Algorithm[Any, GeneratedModel]):
    """A generator moved by the noisy votes of teachers on their gradients: its weights.

    **Guarantee:** `rounds` rounds of `batch` x `dimensions` votes with normal noise, and the counts of classes.
    **Sensitivity:** one person changes one teacher, and so a vote in each of these; one who is replaced changes two.
    **Proof:** docs/proofs/pate/g_pate.md.
    """

    name = "g_pate"
    at_most = True  # directions on which teachers do not agree are not answered

    task: GanTask
    teachers: int
    rounds: int
    sigma2: float
    sigma1: float | None = None
    threshold: float | None = None
    counts: Gaussian | None = None
    batch: int = 16
    dimensions: int = 10
    bins: int = 2
    reach: float = 0.1
    blur: float = 0.0
    teacher_steps: int = 4
    generator_steps: int = 10
    move: float = 1.0
    rate: float = 0.01
    latent: int = 16
    hidden: tuple[int, ...] = (64,)
    teacher_hidden: tuple[int, ...] = ()
    device: str = "cpu"
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_networks()
        if (self.threshold is None) != (self.sigma1 is None):
            raise InvalidParameter("a threshold needs sigma1, the noise on it, and sigma1 needs a threshold")
        if self.threshold is not None:
            share, noise = fraction("threshold", self.threshold), above("sigma1", self.sigma1, 0.0)
            set_frozen(self, threshold=share, sigma1=noise)
        set_frozen(self, **{name: count(name, getattr(self, name), low) for name, low in _WHOLE.items()})
        set_frozen(
            self, **{name: above(name, getattr(self, name), 0.0) for name in ("sigma2", "reach", "move", "rate")}
        )
        set_frozen(self, blur=at_least("blur", self.blur, 0.0))

    @property
    def aggregator(self) -> "ConfidentGNMax | GNMax":
        """The aggregator of the votes of one round."""
        asked: dict[str, Any] = {
            "queries": self.batch * self.dimensions,
            "classes": self.bins,
            "teachers": self.teachers,
        }
        if self.threshold is None:
            return GNMax(sigma=self.sigma2, unit=self.task.unit, **asked)
        least, noise = self.threshold * self.teachers, self.sigma1 or 0.0
        return ConfidentGNMax(
            threshold=least, sigma1=noise, sigma2=self.sigma2, answers=asked["queries"], unit=self.task.unit, **asked
        )

    @property
    def loss(self) -> PrivacyLoss:
        return self._with_counts(Repeated(self.aggregator.loss, self.rounds))

    def describe(self) -> str:
        """The plan in words."""
        asked = (
            f"{self.rounds:,} rounds of {self.batch} points and {self.dimensions} directions, {self.bins} bins each, "
        )
        asked += f"by {self.teachers:,} teachers with noise of deviation {self.sigma2:.4g}"
        if self.threshold is not None:
            asked += f", where a share of {self.threshold:g} agrees after noise of deviation {self.sigma1:.4g}"
        return asked + self._classes_in_words()

    def _run(self, prepared: Any, source: Source) -> GeneratedModel:
        from privet.pate.gans.follower import Follower

        opened = self._opened(prepared, source)
        public = Follower(opened.generator, self.task.grid, opened.open, rate=self.rate)
        parts = exact_parts(self.task.exact_units(prepared), opened.key, self.teachers)
        teachers = self._teachers(parts, opened.secret)
        work = track("rounds", self.rounds)
        for number in range(1, self.rounds + 1):
            asked = public.ask(self.batch, self.dimensions, self.blur)
            votes = self._votes(teachers, number, public, asked)
            told = self.aggregator.release(votes, source=source).value
            way = self.move * (1.0 - (number - 1) / self.rounds)  # shorter and shorter: noise then averages out
            public.follow(asked, told, self.bins, self.reach, way, self.generator_steps)
            work.advance()
        return self._given_out(public.generator, "G-PATE")

    def _votes(self, teachers: "Centroids | Discriminators", number: int, public: "Follower", asked: "Asked") -> Votes:
        """The votes of a round on the points that are asked about; networks make their steps before."""
        from privet.pate.gans.centroids import Centroids

        if isinstance(teachers, Centroids):
            middle = public.centres(COMPARED)
            return teachers.exact_bins(middle, asked.classes, asked.along, self.bins, self.reach)
        teachers.train(number, [public.drawn(self.batch) for _ in range(self.teacher_steps)], self.batch)
        return teachers.exact_bins(asked.points, asked.classes, asked.along, self.bins, self.reach)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        small: dict[str, Any] = {"teacher_steps": 2, "generator_steps": 2, "latent": 2, "hidden": (4,), "batch": 2}
        small |= {"teachers": 2, "rounds": 2, "sigma2": 2.0, "dimensions": 2}
        for pair in (table_pair, replaced_pair):
            task, left, right = pair()
            yield Example(cls(task=task, sigma1=2.0, threshold=0.5, bins=4, **small), left, right, cost="costly")
        task, left, right = image_pair()
        one = small | {"teachers": 1, "teacher_steps": 12, "reach": 1.0, "dimensions": 4}
        yield Example(cls(task=task, blur=1.0, **one), left, right, cost="costly")
        # two teachers agree or not: a row turns that, which a replay has to see
        sure = one | {"teachers": 2, "sigma1": 2.0, "threshold": 0.75, "bins": 4}
        yield Example(cls(task=task, **sure), left, right, cost="costly")
        alone = sure | {"teachers": 1, "threshold": 0.5, "sigma1": 0.5}
        yield Example(cls(task=task, **alone), left, right, cost="costly")
        yield Example(cls(task=task, teacher_hidden=(3,), **small), left, right, cost="costly")
        promise = Guarantee(mu=2.0 * (1.0 + 1e-9))  # of two rounds of four queries, each sqrt(2)/sigma2-GDP
        bought = GPATE(label_share=0.0, bins=4, **small)._plan(task, promise)
        yield Example(bought, left, right, promise, cost="costly")
        task, left, right = counted_pair()
        counts = Gaussian(scale=1.0, sensitivity=task.counts_reach)
        yield Example(cls(task=task, counts=counts, **small), left, right, cost="costly")
