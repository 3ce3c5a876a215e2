"""Images as points: arrays of bytes with a class each."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn, final

import numpy as np

from privet._numerics import Array, root_up
from privet._validate import count, set_frozen
from privet.errors import InvalidData, InvalidParameter, SerialisationError
from privet.mechanisms import Sensitivity, Source
from privet.pate.gans.task import GanTask, Head, Units, units_of
from privet.privacy import Unit, as_unit


class GeneratedImages(NamedTuple):
    """Generated images, bytes from 0 to 255, and the class of each."""

    images: Array
    classes: Array


@final
class Images:
    """Private images, one person's each: bytes (n, height, width) or (n, height, width, channels), and a class of each,
    from 0 to `classes` - 1. They show nothing and have no pickle.

    `unit` says what is hidden: an image that is added or removed, unless it is said otherwise.

    >>> Images(np.zeros((2, 4, 4), np.uint8), [0, 1], classes=2)
    <private images of shape (4, 4), 2 classes>
    """

    __slots__ = ("_images", "_labels", "classes", "shape", "unit")

    def __init__(self, images: object, labels: object, *, classes: int, unit: Unit | None = None) -> None:
        held, told = np.asarray(images), np.asarray(labels)
        if (
            held.ndim not in (3, 4)
            or held.dtype != np.uint8
            or told.shape != held.shape[:1]
            or told.dtype.kind not in "iu"
        ):
            raise InvalidData(
                "images are bytes of shape (n, height, width[, channels]), with a whole number each as class"
            )
        self.classes, self.shape, self.unit = count("classes", classes, 1), held.shape[1:], as_unit(unit)
        if self.unit.group_size != 1:
            raise InvalidParameter("votes are priced for one person: unit must have group_size 1")
        self._images, self._labels = held, told.astype(np.int64)

    def exact_pair(self) -> tuple[Array, Array]:
        """The images and classes: not releasable."""
        return self._images, self._labels

    def exact_content(self) -> Any:
        """Everything, for tests that tell two made-up inputs apart; not releasable."""
        return [self._images.tolist(), self._labels.tolist()]

    def public_question(self) -> list[Any]:
        """The shape, for keys of a ledger."""
        return ["images", list(self.shape), self.classes]

    def __repr__(self) -> str:
        return f"<private images of shape {self.shape}, {self.classes} classes>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SerialisationError("images are private and are not pickled: read them where they are used")

    def __deepcopy__(self, memo: dict[int, Any]) -> "Images":
        return Images(self._images.copy(), self._labels.copy(), classes=self.classes, unit=self.unit)


@final
@dataclass(frozen=True)
class ImageTask(GanTask):
    """Images of a public shape, each of one of `many` classes. A pixel is a number from -1 to 1.

    >>> ImageTask((4, 4), 10).width
    16
    """

    shape: tuple[int, ...]
    many: int
    of: Unit = field(default=Unit())

    def __post_init__(self) -> None:
        set_frozen(self, shape=tuple(int(each) for each in self.shape), many=count("classes", self.many, 1))

    @property
    def heads(self) -> tuple[Head, ...]:
        return (Head("numbers", int(np.prod(self.shape))),)

    @property
    def grid(self) -> tuple[int, ...]:
        return self.shape

    @property
    def classes(self) -> int:
        return self.many

    @property
    def unit(self) -> Unit:
        return self.of

    def admit(self, value: object) -> None:
        if not isinstance(value, Images) or (value.shape, value.classes, value.unit) != (
            self.shape,
            self.many,
            self.of,
        ):
            raise InvalidData("this plan is for pate.Images of another shape, number of classes or unit")

    def exact_units(self, value: Any) -> Units:
        images, labels = value.exact_pair()
        known = (labels >= 0) & (labels < self.many)
        points = (images[known].reshape(int(known.sum()), self.width).astype(np.float32) / 127.5 - 1.0).astype(
            np.float32
        )
        return units_of(points, labels[known], np.arange(len(points)))

    @property
    def counts_reach(self) -> Sensitivity:
        moved = 2 if self.of.relation == "replace" else 1
        return Sensitivity(Fraction(root_up(Fraction(moved))), norm="l2", unit=self.of)

    def salts(self, source: Source) -> Any:
        return None

    def exact_counts(self, value: Any, salts: Any) -> Array:
        labels = value.exact_pair()[1]
        return np.bincount(labels[(labels >= 0) & (labels < self.many)], minlength=self.many)

    def decoded(self, points: Array, classes: Array) -> Any:
        pixels = np.rint((np.clip(points, -1.0, 1.0) + 1.0) * 127.5).astype(np.uint8)
        return GeneratedImages(pixels.reshape(len(points), *self.shape), classes)

    def to_dict(self) -> dict[str, Any]:
        return {"image": list(self.shape), "classes": self.many}


def image_task_of(told: dict[str, Any]) -> ImageTask:
    """Back from `to_dict`.

    >>> image_task_of({"image": [2, 2], "classes": 3}).width
    4
    """
    return ImageTask(tuple(told["image"]), told["classes"])
