"""Small neighbouring tables and images for examples and laws of generators."""

from typing import Any

import numpy as np

from privet.pate.gans.image_task import Images, ImageTask
from privet.pate.gans.table_task import TableTask
from privet.pate.gans.task import GanTask
from privet.tables import Bool, Category, Data, Float, Rows, Source

Pair = tuple[GanTask, Any, Any]

_COLUMNS = (("dose", Float(-1.0, 1.0)), ("ward", Category(["A", "B", "C"])), ("ill", Bool()))


def _table(rows: list[tuple[float, str, bool]]) -> Data:
    dose, ward, ill = zip(*rows, strict=True)
    return Data({"people": {"dose": list(dose), "ward": list(ward), "ill": list(ill)}})


def table_pair() -> Pair:
    """A table of two rows and one of a single row, which fill two parts and one.

    >>> table_pair()[0].width
    4
    """
    task = TableTask(Source("people", _COLUMNS, Rows()), ("dose", "ward"), "ill")
    one = (0.25, "A", False)
    return task, _table([one, (1.0, "C", True)]), _table([one])


def replaced_pair() -> Pair:
    """Two tables of which one row is another."""
    task = TableTask(Source("people", _COLUMNS, Rows(relation="replace")), ("dose", "ward", "ill"))
    one = (0.25, "A", False)
    return task, _table([one, (1.0, "C", True)]), _table([one, (-1.0, "B", True)])


def image_pair() -> Pair:
    """Two images, and one of them."""
    images = np.array([[[255, 0], [0, 0]], [[0, 0], [0, 255]]], dtype=np.uint8)
    task = ImageTask((2, 2), 2)
    return task, Images(images, np.array([0, 1]), classes=2), Images(images[:1], np.array([0]), classes=2)


def counted_pair() -> Pair:
    """Three images, and two of them: counts of classes differ above 1, below which none is taken."""
    images = np.array([[[255, 0], [0, 0]], [[0, 0], [0, 255]], [[255, 255], [255, 255]]], dtype=np.uint8)
    classes, task = np.array([0, 1, 1]), ImageTask((2, 2), 2)
    return task, Images(images, classes, classes=2), Images(images[:2], classes[:2], classes=2)


def single_pair(ill: bool) -> Pair:
    """One row with one yes or no, and none: a teacher takes such points for real only where it has seen the row.

    >>> single_pair(True)[0].width
    1
    """
    task = TableTask(Source("people", (("ill", Bool()),), Rows()), ("ill",))
    return task, Data({"people": {"ill": np.array([ill])}}), Data({"people": {"ill": np.zeros(0, dtype=bool)}})
