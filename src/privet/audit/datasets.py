"""Records put into data sets of whatever kind: lists, arrays, dicts of columns, frames, and inputs of our own."""

from typing import Any

import numpy as np

from privet.audit.observed import text_of
from privet.errors import InvalidData


def selected(canaries: Any, many: int) -> list[Any]:
    """The canaries as a list of records, all different.

    >>> selected(np.array([[1, 2], [3, 4]]), 2)[1].tolist()
    [3, 4]
    """
    if hasattr(canaries, "to_dict") and hasattr(canaries, "columns"):
        records = _records(canaries)
    elif isinstance(canaries, dict):
        names = list(canaries)
        records = [dict(zip(names, row, strict=True)) for row in zip(*canaries.values(), strict=True)]
    else:
        records = list(canaries)
    if len(records) != many:
        raise InvalidData(f"one canary for each coin is needed: {many} coins, {len(records)} canaries")
    if len({text_of(record) for record in records}) < many:
        raise InvalidData("canaries must all be different: equal ones cannot be told apart by any score")
    return records


def extended(data: Any, records: list[Any]) -> Any:
    """A new data set of the same kind with the records at its end; the old one is left alone. An input with a method
    `extended(records, put)` says itself where they go; `put` is this function, for what it holds.

    >>> extended([1], [2, 3])
    [1, 2, 3]
    >>> extended({"a": [1]}, [{"a": 2}])
    {'a': [1, 2]}
    """
    if hasattr(data, "extended"):
        return data.extended(records, extended)
    if data is None or isinstance(data, list | tuple):
        return [*(data or ()), *records]
    if isinstance(data, np.ndarray):
        joined = np.ma.concatenate if isinstance(data, np.ma.MaskedArray) else np.concatenate
        return joined((data, np.asarray(records, dtype=data.dtype).reshape(-1, *data.shape[1:])))
    if isinstance(data, dict):
        return {name: extended(column, [record[name] for record in records]) for name, column in data.items()}
    if hasattr(data, "columns"):
        frame = type(data)({name: [record[name] for record in records] for name in data.columns})
        if hasattr(data, "vstack"):  # Polars
            return data.vstack(frame.cast(dict(data.schema)))
        from importlib import import_module

        return import_module("pandas").concat([data, frame.astype(data.dtypes)], ignore_index=True)
    raise InvalidData(
        "canaries go into a list, an array, a dict of columns or a frame; put them into anything else by hand"
    )


def _records(frame: Any) -> list[Any]:
    return list(frame.to_dicts()) if hasattr(frame, "to_dicts") else list(frame.to_dict("records"))
