"""Trained teachers in a private folder that the custodian names: what is finished is not trained again."""

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter


def private_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder, made if it is not there, for its owner alone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as inside:
    ...     oct(private_folder(Path(inside) / "teachers").stat().st_mode & 0o777)
    '0o700'
    """
    place = Path(folder)
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as fault:
        raise InvalidParameter(f"folder cannot be made: {fault.strerror}") from None
    if os.name == "posix" and place.stat().st_mode & 0o077:
        raise InvalidParameter("folder must be for its owner alone (mode 700): teachers remember private rows")
    return place


def digest_of(model: object, seed: int, rows: Array, targets: Array) -> str:
    """A name for a teacher: by the model before it is trained, its seed and its rows. Another row is another name.

    It depends on private rows: for names of files in the private folder, not releasable.
    """
    made = hashlib.blake2b(pickle.dumps(model), digest_size=16)
    made.update(str(seed).encode())
    for each in (rows, targets):
        held = np.ascontiguousarray(each)
        made.update(f"{held.dtype} {held.shape}".encode())
        made.update(pickle.dumps(held.tolist()) if held.dtype.kind == "O" else held.tobytes())
    return made.hexdigest()


def kept(folder: Path, name: str) -> Any:
    """A finished teacher, or None if there is none under this name, or none that can be read."""
    try:
        return pickle.loads((folder / name).read_bytes())  # written by `keep`, in a folder of the owner's alone
    except Exception:
        return None


def keep(folder: Path, name: str, model: object) -> None:
    """Write a finished teacher, whole or not at all. One that cannot be pickled is trained again another time."""
    draft = folder / f"{name}.{os.getpid()}"
    try:
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "wb") as out:
            pickle.dump(model, out)
        draft.replace(folder / name)
    except Exception:  # a full disk, a model with a lock in it: nothing is said, for it may depend on rows
        draft.unlink(missing_ok=True)
