"""Checkpoints of a training: arrays and JSON in one file, without keys, noise or code."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, final

import numpy as np
import torch

from privet.errors import InvalidParameter

_FORMAT = "privet-training/2"


@final
class Checkpoint:
    """A file that keeps the last state of a training: weights, optimizers, averages, how many blocks are done, and which
    run it belongs to. It is written whole or not at all.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "run.pt"
    >>> kept = Checkpoint(path, {"key": "May"})
    >>> kept.save(2, {"step": 40, "weights": {"w": np.zeros(3, dtype=np.float32)}})
    >>> kept.load()[0], kept.load()[1]["step"]
    (2, 40)
    """

    def __init__(self, path: str | os.PathLike[str], run: dict[str, Any]) -> None:
        self.path, self.run = Path(path), run
        if not self.path.parent.is_dir():
            raise InvalidParameter(f"the folder of the checkpoint does not exist: {self.path.parent}")

    def save(self, done: int, state: dict[str, Any]) -> None:
        """Keep the state after so many blocks, in the place of the one before."""
        arrays: dict[str, torch.Tensor] = {}
        facts = json.dumps({"format": _FORMAT, "run": self.run, "done": done, "state": _told(state, arrays)})
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        with draft.open("wb") as file:
            torch.save({"facts": facts, "arrays": arrays, "digest": _digest(facts, arrays)}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)

    def load(self) -> tuple[int, dict[str, Any]] | None:
        """The number of blocks that are done and the state after them, or None where nothing was kept yet. A file of
        another run, or one that is not as it was written, is refused before anything is paid."""
        if not self.path.exists():
            return None
        try:
            body = torch.load(self.path, map_location="cpu", weights_only=True)
            facts = json.loads(body["facts"])
            if facts["format"] != _FORMAT or body["digest"] != _digest(body["facts"], body["arrays"]):
                raise ValueError
            run, done, state = facts["run"], facts["done"], _read(facts["state"], body["arrays"])
        except Exception as problem:
            raise InvalidParameter(f"{self.path} is no checkpoint of a training ({type(problem).__name__})") from None
        for name, value in self.run.items():
            if run.get(name) != value:
                raise InvalidParameter(f"the checkpoint {self.path} belongs to another run: {_WHY[name]}")
        return done, state


_WHY = {
    "key": "its key is another one",
    "plan": "its plan is another one",
    "start": "it began elsewhere (other first weights, another loss or optimizer); seed the first weights, or load them",
}


def _digest(facts: str, arrays: dict[str, torch.Tensor]) -> str:
    """Of all that is kept: a file that somebody has written into is found before a block is marked, not in it."""
    found = hashlib.sha256(facts.encode())
    for name, each in arrays.items():
        array = np.ascontiguousarray(each.numpy())
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _told(value: object, arrays: dict[str, torch.Tensor]) -> Any:
    """JSON, with a name in the place of each array."""
    if isinstance(value, dict):
        return {"dict": {str(name): _told(each, arrays) for name, each in value.items()}}
    if isinstance(value, list | tuple):
        return {"list": [_told(each, arrays) for each in value]}
    if isinstance(value, np.ndarray):
        name = f"array {len(arrays)}"
        arrays[name] = torch.from_numpy(np.array(value))
        return {"array": name}
    if isinstance(value, np.generic):
        return {"value": value.item()}
    return {"value": value}


def _read(told: Any, arrays: dict[str, torch.Tensor]) -> Any:
    ((kind, body),) = told.items()
    if kind == "dict":
        return {name: _read(each, arrays) for name, each in body.items()}
    if kind == "list":
        return [_read(each, arrays) for each in body]
    return np.array(arrays[body].numpy()) if kind == "array" else body
