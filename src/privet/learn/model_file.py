"""Fitted models as JSON files: nothing in them is run when they are read."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from privet._calls import door
from privet.errors import InvalidParameter, SerialisationError
from privet.learn import estimators
from privet.learn.encoding import Encoding
from privet.learn.estimators import FitPrivacy, PrivateEstimator
from privet.privacy import Guarantee, PrivacyLoss
from privet.privacy.serial import from_dict
from privet.tables import Rows, read_schema, write_schema

_FORM = "privet-model/1"
_LEFT_OUT = {"ledger", "source", "unit", "solver"}  # who paid and how is told by privacy_


@door
def save(model: PrivateEstimator, path: str | Path) -> None:
    """Write a fitted model: its class, its public parameters, what was released, and what that cost.

    >>> import tempfile
    >>> from privet.learn import LogisticRegression
    >>> rows, labels = np.array([[1.0], [-1.0]] * 500), np.array([1, 0] * 500)
    >>> model = LogisticRegression(epsilon=1.0, row_norm=1.0, classes=[0, 1]).fit(rows, labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.json")
    ...     again = load(Path(folder) / "model.json")
    >>> bool((again.predict(rows) == model.predict(rows)).all()), again.privacy_.epsilon
    (True, 1.0)
    """
    if not isinstance(model, PrivateEstimator) or not hasattr(model, "privacy_"):
        raise InvalidParameter("only a fitted model of privet.learn is saved: call fit first")
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in _LEFT_OUT}
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "privacy_"}
    document = {
        "form": _FORM,
        "class": type(model).__name__,
        "parameters": {name: _written(value) for name, value in parameters.items()},
        "fitted": {name: _written(value) for name, value in fitted.items()},
        "privacy": model.privacy_.to_dict(),
    }
    text = json.dumps(document, indent=1, allow_nan=False)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError:
        raise SerialisationError(
            "the model's file cannot be written; the model is still here: save it elsewhere"
        ) from None


@door
def load(path: str | Path) -> Any:
    """Read a model that `save` wrote. It predicts as the original does; a ledger and a seed are not part of it."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["form"] != _FORM:
            raise ValueError
        kind = getattr(estimators, document["class"])
        if not (isinstance(kind, type) and issubclass(kind, PrivateEstimator)):
            raise ValueError
        model = kind(**{name: _read(value) for name, value in document["parameters"].items()})
        for name, value in document["fitted"].items():
            if not name.endswith("_") or name.startswith("_") or hasattr(kind, name):
                raise ValueError
            setattr(model, name, _read(value))
        model.privacy_ = _privacy(document["privacy"])
    except OSError:
        raise SerialisationError("the model's file cannot be read") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SerialisationError("the file does not hold a model of privet, or of a newer version of it") from None
    return model


def _written(value: object) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufUO":
            raise SerialisationError("the model holds an array that has no JSON form")
        return {"array": value.tolist(), "dtype": "O" if value.dtype.kind in "UO" else value.dtype.str}
    if isinstance(value, np.generic):
        return _written(value.item())
    if isinstance(value, Encoding):
        return {"schema": write_schema(value.columns, Rows()), "target": value.target}
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, list | tuple):
        return [_written(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise SerialisationError(f"a parameter or attribute of type {type(value).__name__} has no JSON form")


def _read(value: object) -> Any:
    if isinstance(value, list):
        return [_read(each) for each in value]
    if isinstance(value, dict):
        if set(value) == {"float"}:
            return float(value["float"])
        if set(value) == {"schema", "target"}:
            return Encoding(read_schema(value["schema"])[0], value["target"])
        made = np.array(value["array"], dtype=object if value["dtype"] == "O" else value["dtype"])
        return made.astype(str) if made.dtype == object and all(isinstance(x, str) for x in made.flat) else made
    return value


def _privacy(document: dict[str, Any]) -> FitPrivacy:
    promised, priced = document["promise"], document["loss"]
    loss: PrivacyLoss | None = None if priced is None else from_dict(priced)
    return FitPrivacy(
        promise=None if promised is None else Guarantee(**promised),
        loss=loss,
        unit=None if loss is None else loss.unit,
        plan=document["plan"],
        solver=str(document["solver"]),
        proof=document["proof"],
        paid=document.get("paid"),
        insecure=bool(document["insecure"]),
        notes=tuple(map(str, document["notes"])),
    )
