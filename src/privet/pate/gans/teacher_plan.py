"""The common ground of both generators: shares of classes, coins, and the generator at its beginning and its end."""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from privet._numerics import Array
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Form, Gaussian, Kept, Source
from privet.noise import KeyedStream
from privet.pate.gans.generated_model import GeneratedModel
from privet.pate.gans.parts import Parts
from privet.pate.gans.task import GanTask
from privet.pate.gans.teacher_gan import check_device, widths
from privet.privacy import Composed, Guarantee, PrivacyLoss

if TYPE_CHECKING:
    from privet.pate.gans.centroids import Centroids
    from privet.pate.gans.discriminators import Discriminators
    from privet.pate.gans.generator import Generator

RATE = 0.01  # the learning rate of Adam, for teachers and student: by trials; accuracy only
COMPARED = 64  # generated points of each class, whose mean a linear rule compares its own with


def paid_counts(task: GanTask, promise: Guarantee, share: float) -> Gaussian | None:
    """The release of the counts of classes for a share of a promise, or none where they are uniform."""
    if task.classes == 1 or not share:
        return None
    return Gaussian.for_budget(sensitivity=task.counts_reach, **promise.as_mu().share(share).keywords())


class Opening(NamedTuple):
    """The beginning of a run: a generator with its public stream, and the coins of parts and teachers."""

    generator: "Generator"
    open: KeyedStream
    key: bytes
    secret: KeyedStream


class TeacherPlan:
    """Base of the plans of both generators, before `Algorithm`, whose coins it draws."""

    task: GanTask
    teachers: int
    counts: Gaussian | None
    latent: int
    hidden: tuple[int, ...]
    teacher_hidden: tuple[int, ...]
    device: str
    gains: ClassVar[tuple[float, float]] = (1.0, 1.0)  # of the generator at its beginning

    def _check_networks(self) -> None:
        """A check of what both plans are told about their task and their networks."""
        instance("task", self.task, GanTask)
        self._check_counts()
        set_frozen(self, hidden=widths("hidden", self.hidden), latent=count("latent", self.latent, 1))
        set_frozen(self, teacher_hidden=widths("teacher_hidden", self.teacher_hidden))
        check_device(self.device)

    def _check_counts(self) -> None:
        """Refuse counts of classes without classes, and noise that was made for less than a person can move them."""
        given = instance("counts", self.counts, Gaussian, type(None))
        if given is None:
            return
        if self.task.classes == 1:
            raise InvalidParameter("there is a single class, which is not counted: leave counts= out")
        bound, needed = given.sensitivity, self.task.counts_reach
        if bound.value < needed.value or bound.unit != needed.unit:
            raise InvalidParameter("counts was made for a smaller reach, or another unit, than this task has")

    def _with_counts(self, votes: PrivacyLoss) -> PrivacyLoss:
        """The price of the votes, and of the counts of classes where they are paid for."""
        return votes if self.counts is None else Composed((self.counts.loss, votes))

    def _classes_in_words(self) -> str:
        if self.counts is None:
            return "; classes are uniform"
        return f"; counts of classes with noise of deviation {self.counts.scale:.4g}"

    @property
    def form(self) -> Form:
        """A generator."""
        return Kept("pate.generator")

    def _admit(self, value: Any) -> None:
        self.task.admit(value)

    def _shares(self: Any, prepared: Any, source: Source) -> Array:
        """The shares of classes: paid for, or uniform."""
        if self.counts is None:
            return np.ones(self.task.classes)
        salts = self._coins("rows", self.task.salts, source)
        noisy = self.counts.release(self.task.exact_counts(prepared, salts), source=source).value
        return np.maximum(np.asarray(noisy, dtype=float), 1.0)

    def _opened(self: Any, prepared: Any, source: Source) -> Opening:
        """The beginning of a run: shares are asked for, and all coins are drawn; nothing here is private but these."""
        from privet.pate.gans.generator import Generator

        shares = self._shares(prepared, source)
        key = self._coins("parts", KeyedStream.fresh_key, source)
        secret = self._coins("teachers", KeyedStream.fresh, source)
        open_ = self._coins("networks", KeyedStream.fresh, source)
        begun = Generator.begun(self.task.heads, shares, self.latent, self.hidden, open_, self.device, self.gains)
        return Opening(begun, open_, key, secret)

    def _teachers(self, parts: Parts, secret: KeyedStream) -> "Centroids | Discriminators":
        """The teachers of these parts."""
        from privet.pate.gans.centroids import Centroids
        from privet.pate.gans.discriminators import Discriminators

        if not self.teacher_hidden:
            return Centroids(parts, self.task.classes, device=self.device)
        return Discriminators(parts, self.task.classes, self.teacher_hidden, secret, rate=RATE, device=self.device)

    def _given_out(self, generator: "Generator", method: str) -> GeneratedModel:
        """The generator as it is given out."""
        return GeneratedModel(self.task.to_dict(), generator.numbers(), generator.shares, self.latent, method)
