"""Models as JSON files: no data, no pickle, nothing that is run when they are read."""

import json
from pathlib import Path

from privet._calls import door
from privet.errors import InvalidParameter, PrivetError, SerialisationError
from privet.mechanisms.stored import read, written
from privet.synth.privacy import SynthesisPrivacy
from privet.synth.synthetic_model import SyntheticModel

_FORM = "privet-synth/1"


@door
def save(model: SyntheticModel, path: str | Path) -> None:
    """Write a model: what was released, what follows from it, and what that cost.

    >>> import tempfile
    >>> import privet as pv
    >>> from privet.synth import Independent
    >>> model = Independent().fit(pv.Table({"ill": [True, False]}, columns={"ill": pv.Bool()}), epsilon=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.json")
    ...     load(Path(folder) / "model.json") == model
    True
    """
    if not isinstance(model, SyntheticModel):
        raise InvalidParameter("only a model of privet.synth is saved: call fit first")
    privacy = None if model.privacy_ is None else model.privacy_.to_dict()
    document = {"form": _FORM, "model": written(model), "privacy": privacy}
    try:
        Path(path).write_text(json.dumps(document, allow_nan=False), encoding="utf-8")
    except OSError:
        raise SerialisationError(
            "the model's file cannot be written; the model is still here: save it elsewhere"
        ) from None


@door
def load(path: str | Path) -> SyntheticModel:
    """Read a model that `save` wrote: it draws rows and answers as the original does."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["form"] != _FORM:
            raise ValueError
        model = read(document["model"])
        if not isinstance(model, SyntheticModel):
            raise ValueError
        if document["privacy"] is not None:
            model.privacy_ = SynthesisPrivacy.from_dict(document["privacy"])
    except OSError:
        raise SerialisationError("the model's file cannot be read") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, PrivetError):
        raise SerialisationError(
            "the file does not hold a model of privet.synth, or of a newer version of it"
        ) from None
    return model
