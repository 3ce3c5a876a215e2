"""The door of generators that learn from votes: public facts, a plan, the price, and only then the data."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, final

from privet._validate import count, items, set_frozen
from privet.errors import InvalidParameter
from privet.ledger import current, pay
from privet.mechanisms import Mechanism
from privet.noise import Source
from privet.pate.gans.bought import refuse_pure
from privet.pate.gans.generated_model import GeneratedModel, Paid
from privet.pate.gans.image_task import Images, ImageTask
from privet.pate.gans.table_task import task_of_table
from privet.pate.gans.task import GanTask
from privet.privacy import Guarantee, Promise, spelt_out
from privet.tables import Described, Node, Person, Rows, Source as TableSource

if TYPE_CHECKING:
    from privet.ledger import Ledger


def widths(name: str, given: object) -> tuple[int, ...]:
    """The widths of the inner layers of a network.

    >>> widths("hidden", [64, 32])
    (64, 32)
    """
    return tuple(count(name, each, 1) for each in items(name, given))


def check_device(device: object) -> None:
    """Refuse what is no device of torch that is known here."""
    if device not in ("cpu", "cuda"):
        raise InvalidParameter('device must be "cpu" or "cuda"')


@dataclass(frozen=True, kw_only=True)
class TeacherGAN(ABC):
    """Base of both generators: what is generated, how many teachers there are, and the one way to fit.

    `label` is the column of classes that rows are generated for, `columns` are the others (all unless they are named).
    `teachers` is a public number: it may not follow the exact number of rows. `label_share` of the budget is paid for the
    shares of classes; with 0 they are uniform.
    """

    teachers: int
    label: str | None = None
    columns: Sequence[str] | None = None
    label_share: float = 0.05
    latent: int = 16
    hidden: Sequence[int] = (64,)
    device: str = "cpu"

    def __post_init__(self) -> None:
        whole = {name: count(name, getattr(self, name), 1) for name in ("teachers", "latent")}
        set_frozen(self, hidden=widths("hidden", self.hidden), **whole)
        check_device(self.device)
        if not (isinstance(self.label_share, int | float) and 0.0 <= self.label_share < 1.0):
            raise InvalidParameter("label_share must be from 0 to below 1")
        if self.columns is not None:
            set_frozen(self, columns=tuple(items("columns", self.columns)))

    @abstractmethod
    def _plan(self, task: GanTask, promise: Guarantee) -> "Mechanism[Any, GeneratedModel]":
        """The plan for a promise, from public facts alone. What cannot be done is refused here."""

    @final
    def task(self, schema: object) -> GanTask:
        """The public facts of a table, a schema or images."""
        if isinstance(schema, Images):
            if self.label is not None or self.columns is not None:
                raise InvalidParameter("images have their classes with them: leave label= and columns= out")
            return ImageTask(schema.shape, schema.classes, schema.unit)
        columns = None if self.columns is None else tuple(self.columns)
        return task_of_table(_rows_of(schema), columns, self.label)

    @final
    @spelt_out
    def plan(self, schema: object, **promise: Unpack[Promise]) -> Any:
        """The plan of a fit, from public facts alone: `loss`, `describe()`; no data are looked at, nothing is paid.

        `schema` is a table, or columns by name, or what `tables.read_schema` gives, or images.
        """
        return self._plan(self.task(schema), refuse_pure(Guarantee(**promise)))

    @final
    @spelt_out
    def fit(
        self,
        table: "Described | Images",
        *,
        ledger: "Ledger | None" = None,
        key: str | None = None,
        about: str | None = None,
        source: Source | None = None,
        **promise: Unpack[Promise],
    ) -> GeneratedModel:
        """The generator of a table or of images: public facts are checked, the plan is made and paid for, and only then it
        is run.

        It is paid by `ledger`, else by the ledger in force, else by nobody. Fitting again is paid again; under the same
        `key` the model is read back from the ledger, free of charge. `about` names the version of the data in public
        words. `source` is for tests: `noise.Seeded(7)` gives the same noise again, and the model is marked as insecure.
        """
        if not isinstance(table, Described | Images):
            raise InvalidParameter("fit takes a pv.Table, whose schema says what is public, or pate.Images")
        data = table if isinstance(table, Images) else table.data
        plan, promised = self.plan(table, **promise), Guarantee(**promise)
        if source is None:
            release = pay(plan, data, ledger=ledger, key=key, about=about)
        elif ledger is not None or key is not None or about is not None or current() is not None:
            raise InvalidParameter("a seeded source is for tests: leave ledger=, key= and about= out")
        else:
            release = plan.release(data, source=source)
        model: GeneratedModel = release.value
        model.privacy_ = Paid.of(release, promised)
        return model


def _rows_of(schema: object) -> Node:
    """The rows of a table, or those that a schema describes."""
    if isinstance(schema, Described):
        return schema.rows
    columns, unit = schema if isinstance(schema, tuple) and len(schema) == 2 else (schema, Rows())
    if not isinstance(columns, Mapping) or not isinstance(unit, Rows | Person):
        raise InvalidParameter("give a pv.Table, its columns by name, what tables.read_schema gives, or pate.Images")
    return TableSource("table", tuple(columns.items()), unit)
