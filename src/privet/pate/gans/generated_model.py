"""The model that is released: a generator, which makes rows without end, and no data."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet._validate import count
from privet.errors import SerialisationError
from privet.mechanisms import Release, receipt, storable
from privet.noise import KeyedStream, Source
from privet.pate.gans.image_task import image_task_of
from privet.pate.gans.table_task import table_task_of
from privet.pate.gans.task import GanTask
from privet.privacy import Guarantee, PrivacyLoss, from_json, to_json

_FORM = "privet-pate-generator/1"
_PIECE = 4096  # points that are made at once: memory only, and part of what a seed gives


class Paid(NamedTuple):
    """The promise of a model, its price, the ledger's entry that paid for it or None, whether its noise was seeded."""

    promise: Guarantee
    loss: PrivacyLoss
    paid: Any
    insecure: bool

    @classmethod
    def of(cls, release: Release[Any], promise: Guarantee) -> "Paid":
        """Of the release that it came from."""
        return cls(promise, release.loss, release.paid, release.insecure)

    def __str__(self) -> str:
        promised = f"{self.promise.describe()} under {self.loss.unit.describe()}"
        return "; ".join([promised, *receipt(self.paid, self.insecure)])


@final
@storable("pate.generator")
class GeneratedModel:
    """A generator that was trained by released votes. `sample(n)` makes rows and costs nothing, however often.

    `shares` are the shares of classes, as they were paid for, or uniform.
    """

    def __init__(self, told: dict[str, Any], numbers: Sequence[Array], shares: Array, latent: int, method: str) -> None:
        self._told, self._numbers = dict(told), [np.asarray(each) for each in numbers]
        self.shares, self.latent, self.method = np.asarray(shares, dtype=float), int(latent), str(method)
        self.privacy_: Paid | None = None

    @property
    def task(self) -> GanTask:
        """The way in which points are written."""
        return table_task_of(self._told) if "table" in self._told else image_task_of(self._told)

    def sample(self, n: int, *, source: Source | None = None) -> Any:
        """`n` generated rows, free of charge: columns by name, or images with their classes. `source` is for tests."""
        from privet.pate.gans.generator import Generator

        task, many = self.task, count("n", n, 0)
        made = Generator.of_numbers(self._numbers, task.heads, self.shares, self.latent)
        stream = KeyedStream.fresh(source)
        pieces = [
            made.drawn(stream, step, min(_PIECE, many - start)) for step, start in enumerate(range(0, many, _PIECE))
        ]
        points = [each[0].detach().numpy() for each in pieces] or [np.zeros((0, task.width), dtype=np.float32)]
        classes = [each[1].numpy() for each in pieces] or [np.zeros(0, dtype=np.int64)]
        return task.decoded(np.concatenate(points), np.concatenate(classes))

    def save(self, path: str | Path) -> None:
        """Write the model as a file of arrays: no data, no pickle, nothing that is run when it is read."""
        privacy = None
        if self.privacy_ is not None:
            held = self.privacy_
            privacy = [dict(held.promise.keywords()), to_json(held.loss), held.paid, held.insecure]
        told = {"form": _FORM, "task": self._told, "latent": self.latent, "method": self.method, "privacy": privacy}
        arrays = {f"layer{i}": each for i, each in enumerate(self._numbers)} | {"shares": self.shares}
        try:
            with Path(path).open("wb") as file:
                np.savez(file, told=np.array(json.dumps(told)), **arrays)  # type: ignore[arg-type]
        except OSError:
            raise SerialisationError(
                "the model's file cannot be written; the model is still here: save it elsewhere"
            ) from None

    # --- a value that a ledger keeps ----------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {
            "latent": self.latent,
            "method": self.method,
            "numbers": list(self._numbers),
            "shares": self.shares,
            "task": json.dumps(self._told),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "GeneratedModel":
        """Back from `to_arrays`."""
        return cls(json.loads(arrays["task"]), arrays["numbers"], arrays["shares"], arrays["latent"], arrays["method"])

    @property
    def _digest(self) -> str:
        held = [json.dumps([self._told, self.latent, self.method], sort_keys=True).encode(), self.shares.tobytes()]
        return hashlib.sha256(b"".join([*held, *(each.tobytes() for each in self._numbers)])).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GeneratedModel) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return (
            f"<generator {self._digest[:12]} by {self.method}: {self.task.width} numbers, {len(self.shares)} classes>"
        )


def load_generator(path: str | Path) -> GeneratedModel:
    """Read a model that `save` wrote: it makes rows as the original does."""
    try:
        with np.load(Path(path), allow_pickle=False) as held:
            told = json.loads(str(held["told"]))
            if told["form"] != _FORM:
                raise ValueError
            numbers = [held[f"layer{i}"] for i in range(len(held.files) - 2)]
            model = GeneratedModel(told["task"], numbers, held["shares"], told["latent"], told["method"])
        model.task  # noqa: B018 (what cannot be decoded is refused here)
        if told["privacy"] is not None:
            promise, loss, paid, insecure = told["privacy"]
            model.privacy_ = Paid(Guarantee(**promise), from_json(loss), paid, bool(insecure))
    except OSError:
        raise SerialisationError("the model's file cannot be read") from None
    except Exception:
        raise SerialisationError(
            "the file does not hold a generator of privet.pate, or of a newer version of it"
        ) from None
    return model
