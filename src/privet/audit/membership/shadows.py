"""Shadow models: the same training on random halves of a pool, so that a record can be compared with itself."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._progress import track
from privet._validate import count
from privet.audit.membership.suspects import Pair, labelled, record_names
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.payment import refuse_unpaid_runs

Train = Callable[[Array, Array], Any]
_DESIGN, _COINS = "design.json", "included.npy"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Shadows:
    """Shadow models in a folder, and which records of the pool each was trained on. They were trained on the pool without
    protection: the folder is as private as the pool. Models are read as pickles: open only folders that you made.

    >>> import tempfile
    >>> train = lambda x, y: lambda a, b: np.abs(a - x.mean())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shadow_models(train, (np.arange(8.0), np.zeros(8)), many=4, folder=folder)
    <4 shadow models of halves of 8 records>
    """

    folder: Path
    names: Array = field(repr=False)
    included: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.included)

    def __repr__(self) -> str:
        return f"<{len(self)} shadow models of halves of {self.included.shape[1]} records>"

    def models(self) -> Iterator[Any]:
        """The models, one after the other."""
        import joblib

        for place in range(len(self)):
            yield joblib.load(_file(self.folder, place))

    def inside(self, x: Array, y: Array) -> Array:
        """Which model was trained on which of these records: a row for each model. Records that are not in the pool were
        trained on by none; of equal records in the pool it is enough that one was in."""
        places: dict[str, list[int]] = {}
        for place, name in enumerate(self.names.tolist()):
            places.setdefault(name, []).append(place)
        found = np.zeros((len(self), len(y)), dtype=bool)
        for column, name in enumerate(record_names(x, y).tolist()):
            for place in places.get(name, ()):
                found[:, column] |= self.included[:, place]
        return found


def shadow_models(
    train: Train,
    pool: Pair,
    *,
    many: int = 64,
    folder: str | Path,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Shadows:
    """Models that `train(x, y)` makes from random halves of the pool; each record is in half of them.

    They are kept in `folder`, with the coins: called again with the same pool and the same number, only those that are
    missing are trained; another pool or number is refused. `jobs` processes train side by side. Where a training
    fails the others go on, and what was made is kept.

    **Reference:** Carlini et al. 2022.

    >>> import tempfile
    >>> train = lambda x, y: lambda a, b: np.abs(a - x.mean())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = shadow_models(train, (np.arange(8.0), np.zeros(8)), many=4, folder=folder)
    ...     made.included.sum(axis=0).tolist()
    [2, 2, 2, 2, 2, 2, 2, 2]
    """
    refuse_unpaid_runs("audit.shadow_models")
    x, y = labelled(pool)
    number, workers, home = count("many", many, 2), count("jobs", jobs, 1), Path(folder)
    names = record_names(x, y)
    included = _opened(home, names, number)
    waiting = [place for place in range(number) if not _file(home, place).exists()]
    work, done, failed = track("shadow models", number), number - len(waiting), []
    work.advance(done)
    for problem in _trained(train, x, y, included, home, waiting, workers):
        failed += [problem] if problem else []
        done += 1
        work.advance()
        if progress is not None:
            progress(done, number)
    if failed:
        kinds = ", ".join(sorted(set(failed)))
        raise InvalidData(
            f"{len(failed)} of {number} shadow models could not be trained ({kinds}); the others are kept, and "
            "the same call trains those that are missing"
        )
    return Shadows(home, names, included)


def _trained(
    train: Train, x: Array, y: Array, included: Array, home: Path, waiting: list[int], jobs: int
) -> Iterator[str | None]:
    if jobs == 1:
        for place in waiting:
            yield _fit(train, x[included[place]], y[included[place]], _file(home, place))
        return
    from joblib import Parallel, delayed

    tasks = (delayed(_fit)(train, x[included[place]], y[included[place]], _file(home, place)) for place in waiting)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)


def _fit(train: Train, x: Array, y: Array, path: Path) -> str | None:
    """One model, written under its name when it is complete; the kind of the error where it failed."""
    import joblib

    try:
        model = train(x, y)
    except Exception as problem:  # its text may quote a record
        return type(problem).__name__
    handle, half = tempfile.mkstemp(dir=path.parent, suffix=".part")
    os.close(handle)
    try:
        _dump(joblib, model, half)
        Path(half).replace(path)
    finally:
        Path(half).unlink(missing_ok=True)
    return None


def _dump(joblib: Any, model: object, path: str) -> None:
    """A pickle; functions without a name in a module are pickled by their code."""
    try:
        joblib.dump(model, path)
    except Exception:
        from joblib.externals.loky.backend.reduction import dumps

        Path(path).write_bytes(dumps(model))


def _opened(home: Path, names: Array, many: int) -> Array:
    """The coins of a folder: those that lie in it, or new ones, written before anything is trained."""
    digest = hashlib.sha256("".join(names.tolist()).encode()).hexdigest()
    wanted = {"pool": digest, "many": many}
    try:
        home.mkdir(parents=True, exist_ok=True)
        if (home / _DESIGN).exists():
            if json.loads((home / _DESIGN).read_text(encoding="utf-8")) != wanted:
                raise InvalidParameter(
                    "the folder holds shadow models of another pool or number: name a new one, or remove it"
                )
            return np.asarray(np.load(home / _COINS, allow_pickle=False)).astype(bool)
        included = _halves(many, len(names))
        np.save(home / _COINS, included)
        (home / _DESIGN).write_text(json.dumps(wanted), encoding="utf-8")
    except OSError as problem:
        raise InvalidParameter(f"cannot use the folder {home.name!r}: {problem.strerror}") from None
    return included


def _halves(many: int, records: int) -> Array:
    """For each record a random half of the models, rounded down."""
    seed = int(noise.uniform_int(bound=2**62))
    keys = np.random.default_rng(seed).random((many, records))
    return np.argsort(np.argsort(keys, axis=0), axis=0) < many // 2


def _file(home: Path, place: int) -> Path:
    return home / f"shadow-{place:04d}.joblib"
