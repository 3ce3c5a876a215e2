"""The abstract loss of a linear model: a convex function of the margin x.w and the target of one record."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, final

from privet._numerics import Array
from privet._registry import Registry
from privet.learn.losses.double_double import Pair

Shape = Literal["logistic", "fixed_sign", "general", "softmax"]


class Loss(ABC):
    """psi(m; y), convex in the margin m = x.w. Subclasses are frozen dataclasses of public parameters, one file each,
    under `@register`.

    Solvers work on rows of length at most 1, so `lipschitz` bounds the gradient of one record and `smoothness` its
    Hessian. They are what privacy rests on: laws hold them against the functions themselves, at what `examples` yields.

    `shape` is what is known of the slope: "logistic" (slope t and curvature t(1 - t) belong together), "fixed_sign" (for a
    given target the slope never changes its sign), "softmax" (one margin for each class), or "general".
    """

    shape: ClassVar[Shape] = "general"

    @classmethod
    @abstractmethod
    def examples(cls) -> "Iterable[LossExample]":
        """Losses of this kind, with targets that reach every piece of the function."""

    @property
    def outputs(self) -> int:
        """The number of margins that a record has: 1, or one for each class; then margins and slopes have that many
        columns."""
        return 1

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """The largest |psi'|."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """The largest psi''."""

    @abstractmethod
    def value(self, margins: Array, targets: Array) -> Array:
        """psi, elementwise."""

    @abstractmethod
    def slope(self, margins: Array, targets: Array) -> Array:
        """psi', elementwise; never beyond `lipschitz`, in floats too."""

    @abstractmethod
    def wide_slope(self, margins: Pair, targets: Array) -> Pair:
        """psi', elementwise, from margins as pairs of doubles: within 2^-85 of the exact one, in units of `lipschitz`
        times `smoothness` times the largest of the targets and 1, where these are above 1."""

    @abstractmethod
    def curvature(self, margins: Array, targets: Array) -> Array:
        """psi'', elementwise (where psi' has a kink: either side)."""

    def bent(self, margins: Array, targets: Array, moved: Array) -> Array:
        """psi'' times `moved`, a change of the margins: how far the slopes change with it."""
        return self.curvature(margins, targets) * moved


@final
@dataclass(frozen=True)
class LossExample:
    """A loss and targets at which laws look at it.

    >>> from privet.learn.losses import Huber
    >>> next(iter(Huber.examples())).kind
    'huber'
    """

    loss: Loss
    targets: tuple[float, ...]

    @property
    def kind(self) -> str:
        """The name of the loss among the registered ones."""
        return register.name_of(type(self.loss))


register: Registry[Loss] = Registry("losses")


def registered_losses() -> dict[str, type[Loss]]:
    """All losses by name.

    >>> "logistic" in registered_losses()
    True
    """
    return register.members()
