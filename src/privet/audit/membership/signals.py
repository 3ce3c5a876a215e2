"""The signals that attacks read off a model: the loss on a record, and how sure it is of the record's label."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privet._numerics import Array, special
from privet.audit.answers import answered, failed, numbers
from privet.audit.observed import text_of
from privet.errors import InvalidData, InvalidParameter

Model = Any  # anything with predict_proba or predict, a torch module that gives logits, or a function (x, y) -> losses
Augment = Callable[[Array], Array]

_LEAST = np.log(np.finfo(float).tiny)  # of a logarithm of a probability: 0 is as good as this


def losses(model: Model, x: Array, y: Array) -> Array:
    """The loss of a model on each record: minus the logarithm of the probability of its label, the squared error of a model
    that predicts numbers, or what a function of (x, y) says.

    >>> losses(lambda x, y: (x[:, 0] - y) ** 2, np.array([[1.0], [2.0]]), np.array([1.0, 4.0])).tolist()
    [0.0, 4.0]
    """
    logs = log_probabilities(model, x)
    if logs is not None:
        return -_own(logs, _places(model, y, logs.shape[1]))
    if hasattr(model, "predict"):
        told, wanted = (_numbers(each).reshape(-1) for each in (answered("the model", model.predict, x), y))
        if len(told) != len(wanted):
            raise InvalidData("predict must give one number for each record")
        with np.errstate(over="ignore"):
            return np.asarray((told - wanted) ** 2)
    if not callable(model):
        raise InvalidParameter("a model has predict_proba or predict, or is a function of (x, y) that gives losses")
    found = answered("the model", model, x, y)
    if found.shape != y.shape:
        raise InvalidData("the function must give one loss for each record")
    return _numbers(found)


def sureness(model: Model, x: Array, y: Array) -> Array:
    """The log-odds of a record's label: ln p_y - ln of the sum of all others, by logarithms, so that p = 1 is a number.

    Of a function that gives losses: the log-odds of exp(-loss); of a model that predicts numbers, minus its loss.

    >>> sureness(lambda x, y: np.array([np.log(2.0), 0.0]), np.zeros((2, 1)), np.zeros(2)).round(3).tolist()
    [0.0, 708.396]
    """
    logs = log_probabilities(model, x)
    if logs is not None:
        places = _places(model, y, logs.shape[1])
        others = logs.copy()
        known = places >= 0
        others[np.flatnonzero(known), places[known]] = -np.inf
        rest = special().logsumexp(others, axis=1)
        return _own(logs, places) - np.maximum(rest, _LEAST)
    found = losses(model, x, y)
    if hasattr(model, "predict"):
        return -found
    if (found < 0.0).any():
        raise InvalidData("losses are read as minus the logarithm of a probability: none may be negative")
    with np.errstate(divide="ignore"):
        return -found - np.maximum(np.log(-np.expm1(-found)), _LEAST)


def log_probabilities(model: Model, x: Array) -> Array | None:
    """The logarithms of a model's probabilities, a column for each class; None of a model that has none."""
    if hasattr(model, "predict_proba"):
        shares = numbers("probabilities", answered("the model", model.predict_proba, x))
        if shares.ndim != 2 or len(shares) != len(x) or np.isnan(shares).any():
            raise InvalidData("predict_proba must give a row of probabilities for each record")
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(np.maximum(shares, 0.0)), _LEAST)
    if hasattr(model, "state_dict") and hasattr(model, "eval"):
        return _of_torch(model, x)
    return None


def _of_torch(model: Model, x: Array) -> Array:
    """A network's logits as logarithms of probabilities; it is left in the mode in which it was found."""
    import torch

    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            kind = next((each.dtype for each in model.parameters()), torch.float32)
            parts = [
                torch.as_tensor(np.ascontiguousarray(part), dtype=kind)
                for part in np.array_split(x, -(-len(x) // 4096))
            ]
            logits = torch.cat([_plain(model, part) for part in parts])
            found = torch.log_softmax(logits.double(), dim=1).numpy()
    finally:
        model.train(training)
    return np.maximum(np.asarray(found), _LEAST)


def _plain(model: Model, part: Any) -> Any:
    try:
        return model(part)
    except Exception as problem:
        raise failed("the model", problem) from None


def _places(model: Model, y: Array, classes: int) -> Array:
    """The column of each label, -1 where the model has never heard of it."""
    named = list(getattr(model, "classes_", range(classes)))
    at = {_key(name): place for place, name in enumerate(named)}
    return np.array([at.get(_key(label), -1) for label in y.tolist()], dtype=np.int64)


def _key(label: Any) -> Any:
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if isinstance(plain, str | int | float | bool) else text_of(plain)


def _own(logs: Array, places: Array) -> Array:
    return np.where(places >= 0, logs[np.arange(len(places)), np.maximum(places, 0)], _LEAST)


def _numbers(values: Array) -> Array:
    """Numbers, none of them NaN. What stands there instead is not quoted: it is a record's."""
    try:
        found = numbers("predictions, labels and losses", values)
    except InvalidData:
        raise InvalidData(
            "a model without predict_proba must predict numbers, of labels that are numbers, and losses are numbers"
        ) from None
    if np.isnan(found).any():
        raise InvalidData("predictions, labels and losses must be numbers, not NaN")
    return found


def augmented(x: Array, augment: Sequence[Augment]) -> list[Array]:
    """The records as they are, and as each of the functions changes them.

    >>> [each.tolist() for each in augmented(np.array([1.0]), [lambda x: -x])]
    [[1.0], [-1.0]]
    """
    made = [x, *(np.asarray(change(x)) for change in augment)]
    if any(len(each) != len(x) for each in made):
        raise InvalidParameter("a function of augment= changes records; it may not add or drop any")
    return made
