"""Records as training reads them: by number, in batches of public shapes; no value is looked at before a run is paid."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

from privet._numerics import Array
from privet.deep.engines.engine import Batch, leaves, mapped
from privet.errors import InvalidData, LedgerError
from privet.mechanisms import sealed

_DATA_SET = (
    "training draws its own batches, so it takes a data set: tensors or arrays in a tuple or a dict, or whatever has a "
    "length and is read by number"
)


@final
class Records:
    """A data set: pairs of inputs and targets, or mappings, which a loss takes whole.

    Tensors and arrays are read at once, anything else record by record. A record that cannot be read, or that has other
    shapes or types than the first one, is a null record: it adds nothing to any sum, and nobody is told.

    `form` is one made-up record of the right shapes and types, such as `(torch.zeros(28, 28), torch.tensor(0))`: with it
    the first record is as private as all others, and a data set of no records trains too, on noise alone. Without it,
    the shapes and types of the first record are public, and there must be one (columns say their shapes in any case).

    **Guarantee:** none: what it holds is exact. Shapes and types of records are public.

    >>> records = Records((torch.zeros(3, 2), torch.ones(3)))
    >>> records, records.exact_count()
    (<records of float32 [2], float32 []>, 3)
    """

    def __init__(self, dataset: Any, form: Any = None) -> None:
        held: Any = dataset._held if isinstance(dataset, Records) else _held(dataset)
        self._held: Any = held
        try:
            self._size = len(next(iter(leaves(held)))) if _in_columns(held) else len(held)
        except (TypeError, ValueError):
            raise InvalidData(f"{_DATA_SET}; got {type(dataset).__name__}, which has no length") from None
        self._form = mapped(lambda each: each[:0], self._like(dataset, form))

    def _like(self, dataset: Any, form: Any) -> Batch:
        """A batch of the shapes and types of a record."""
        given = None if form is None else _given(form)
        if given is None and isinstance(dataset, Records):
            return dataset.form
        if not _in_columns(self._held):
            if given is None and self._size == 0:
                raise InvalidData(
                    "the data set is empty: there is no record to learn shapes from; give form=, a made-up record"
                )
            return _first_record(self._held) if given is None else given
        if given is not None and _shapes(given) != _shapes(self._held):
            raise InvalidData("the columns of the data set have other shapes or types than form says")
        return self._held

    def exact_count(self) -> int:  # not releasable under add/remove
        """The number of records: protected, unless they are only exchanged or nulled."""
        return self._size

    def exact_content(self) -> list[Any]:  # not releasable
        """Everything, for tests that tell two made-up inputs apart."""
        return [each.tolist() for each in leaves(self.exact_batch(np.arange(self._size), self._size)[0])]

    def public_question(self) -> list[str]:
        """The shapes and types of a record."""
        return ["records", *(f"{each.dtype} {list(each.shape[1:])}" for each in leaves(self._form))]

    @property
    def form(self) -> Batch:
        """A batch of no records: their shapes and types."""
        return self._form

    def exact_batch(self, ids: Array, size: int) -> tuple[Batch, Tensor]:
        """The records of these numbers, filled up with null records to `size`, and which of them count. Numbers beyond the
        end are passed over: a replay may hold the coins of a record that is not here.
        """
        ids = ids[ids < self._size]
        if _in_columns(self._held):
            picked = torch.from_numpy(np.ascontiguousarray(ids))
            found = mapped(lambda each: each.index_select(0, picked.to(each.device)), self._held)
            counts = torch.ones(len(ids), dtype=torch.bool)
        else:
            found, counts = self._read(ids)
        missing = size - len(counts)
        batch = mapped(lambda each: torch.cat([each, each.new_zeros((missing, *each.shape[1:]))]), found)
        return batch, torch.cat([counts, torch.zeros(missing, dtype=torch.bool)])

    def exact_fill(self, ids: Array, batch: Sequence[Tensor], mask: Tensor) -> None:  # not releasable
        """The same batch, of as many records as there are entries in `mask`, put into memory that is at hand: columns that
        lie where it does are read into it, without a copy between.
        """
        if not _in_columns(self._held):
            found, counts = self.exact_batch(ids, len(mask))
            for mine, each in zip((*batch, mask), (*leaves(found), counts), strict=True):
                mine.copy_(each)
            return
        picked = torch.from_numpy(np.ascontiguousarray(ids[ids < self._size]))
        there: dict[torch.device, Tensor] = {}
        for mine, column in zip(batch, leaves(self._held), strict=True):
            where = column.device
            if where not in there:
                there[where] = picked.to(where)
            if where == mine.device:
                torch.index_select(column, 0, there[where], out=mine[: len(picked)])
            else:
                mine[: len(picked)].copy_(column.index_select(0, there[where]))
            mine[len(picked) :].zero_()
        mask[: len(picked)].fill_(True)
        mask[len(picked) :].fill_(False)

    @property
    def in_columns(self) -> bool:
        """True where reading a record runs no code of the data set."""
        return _in_columns(self._held)

    def _read(self, ids: Array) -> tuple[Batch, Tensor]:
        read = [self._one(int(each)) for each in ids]
        null = mapped(lambda each: each.new_zeros((1, *each.shape[1:])), self._form)
        rows = [null if each is None else each for each in read]
        return _joined(self._form, rows), torch.tensor([each is not None for each in read], dtype=torch.bool)

    def _one(self, number: int) -> Batch | None:
        """One record as a batch, or None where it is unlike the others: which that is, nobody learns."""
        try:
            made = _collated([self._held[number]])
            if _shapes(made) != _shapes(self._form):
                return None
            made = _joined(self._form, [made])  # what lies elsewhere, or is a tensor of another kind, may fail here
        except Exception:  # code of the data set: its errors may quote what it holds
            return None
        return made if list(map(type, leaves(made))) == list(map(type, leaves(self._form))) else None

    def extended(self, records: Sequence[Any], put: Any = None) -> "Records":
        """The same records and more at their end: for audits, which put canaries into made-up data."""
        if not records:
            return self
        more = _collated(list(records))
        old, _ = self.exact_batch(np.arange(self._size), self._size)
        return Records(_joined(self._form, [old, more]))

    def __repr__(self) -> str:
        told = ", ".join(each.removeprefix("torch.") for each in self.public_question()[1:])
        return f"<records of {told}>"


def _first_record(held: Any) -> Batch:
    """The first record as a batch: its shapes and types are those of all."""
    asked = False
    try:
        with sealed():
            return _collated([held[0]])
    except LedgerError:
        asked = True
    except Exception:  # code of the data set: its errors may quote what it holds
        pass
    if asked:
        raise LedgerError(
            "the data set asked for a release while its first record was read; nothing was drawn, since how often it is "
            "asked follows from private records. Release before, and hand in what came out"
        )
    raise InvalidData(
        "the first record cannot be read, and shapes and types are taken from it: give form=, a made-up record"
    )


def _given(form: Any) -> Batch:
    """A made-up record as a batch of one."""
    try:
        return _collated([form])
    except Exception as problem:
        raise InvalidData(
            f"form must be one made-up record, a tensor or a tuple or mapping of such ({type(problem).__name__})"
        ) from None


def split(batch: Batch) -> tuple[Batch, Batch]:
    """Inputs and targets of a batch: the last entry of a tuple is the target; a mapping or a tensor is all inputs.

    >>> split((torch.zeros(1), torch.ones(1)))
    (tensor([0.]), tensor([1.]))
    """
    if not isinstance(batch, tuple) or len(batch) < 2:
        return batch, None
    return batch[0] if len(batch) == 2 else batch[:-1], batch[-1]


def _held(dataset: Any) -> Any:
    """Columns as tensors; anything else as it is. Loaders and streams are refused: they draw batches of their own."""
    if isinstance(dataset, DataLoader):
        raise InvalidData(
            f"{_DATA_SET}; got a DataLoader: hand in its dataset, with sampling=FixedOrder(...) to draw as it does"
        )
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__") or hasattr(dataset, "iloc"):
        raise InvalidData(f"{_DATA_SET}; got {type(dataset).__name__}")  # of a table of pandas, a number names a column
    if isinstance(dataset, TensorDataset):
        dataset = dataset.tensors
    whole = isinstance(dataset, tuple | Tensor | np.ndarray)
    if whole or (
        isinstance(dataset, Mapping) and all(isinstance(each, Tensor | np.ndarray) for each in dataset.values())
    ):
        columns = _tensors(dataset)
        sizes = {len(each) for each in leaves(columns)} if all(each.ndim for each in leaves(columns)) else set()
        if len(sizes) != 1:
            raise InvalidData("the columns of a data set must have the same length: one entry for each record")
        return columns
    if isinstance(dataset, Mapping) or not hasattr(dataset, "__getitem__"):
        raise InvalidData(f"{_DATA_SET}; got {type(dataset).__name__}")
    return dataset


def _in_columns(held: Any) -> bool:
    return isinstance(held, tuple | dict | Tensor)


def _tensors(columns: Any) -> Any:
    if isinstance(columns, Mapping):
        return {name: _tensors(each) for name, each in columns.items()}
    if isinstance(columns, tuple | list):
        return tuple(_tensors(each) for each in columns)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, of arrays that cannot be written to: nobody writes
            made = torch.as_tensor(columns).detach()
    except (TypeError, ValueError, RuntimeError):
        raise InvalidData("columns of a data set are tensors or arrays of numbers") from None
    if made.layout != torch.strided or made.is_meta or made.is_quantized:
        raise InvalidData("columns of a data set are dense tensors: call .to_dense() or .dequantize()")
    return made


def _collated(rows: list[Any]) -> Batch:
    made = mapped(lambda each: each.detach(), default_collate(rows))
    if not leaves(made) or any(each.ndim == 0 for each in leaves(made)):
        raise InvalidData("a record is a tensor or a number, or a tuple or mapping of such")
    return made


def _shapes(batch: Batch) -> list[Any]:
    names = sorted(batch) if isinstance(batch, dict) else None
    return [names, *((each.dtype, each.shape[1:]) for each in leaves(batch))]


def _joined(form: Batch, rows: list[Batch]) -> Batch:
    """Batches one after the other."""
    if isinstance(form, Tensor):
        return torch.cat([form, *(each.to(form.device, form.dtype) for each in rows)])
    if isinstance(form, Mapping):
        return {name: _joined(each, [row[name] for row in rows]) for name, each in form.items()}
    return tuple(_joined(each, [row[place] for row in rows]) for place, each in enumerate(form))
