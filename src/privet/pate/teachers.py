"""Teachers: one model for each part of the private rows, whose votes are all that is ever asked of them."""

import copy
import hashlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._progress import track
from privet._validate import count, flag, instance, items
from privet.errors import InvalidData, InvalidParameter, SerialisationError
from privet.noise import own_stream
from privet.pate.kept_teachers import digest_of, keep, kept, private_folder
from privet.pate.one_by_one import apart, listed, typed
from privet.pate.partition import NOBODY, KeyedPartition
from privet.pate.votes import Votes

_CLASSES = "X must be rows and y one class for each of them"
_POOL = "the pool must be public: rows that nobody has to be protected from. Say so with public=True"


@door
@final
class Teachers:
    """Models of disjoint parts of the private rows, made by `factory()`: anything with `fit(X, y)` and `predict(X)`.

    Each part belongs to the persons whose ids hash into it. Each teacher is a copy of its own of what the factory makes,
    has a random stream of its own, and sees a copy of its own of the pool, so that one person changes one teacher and no
    other: a scaler or a seed that factories share does not tell one teacher about another. The factory is called once for
    each part, also for an empty one.

    `classes` is the public list of classes. A teacher whose part is empty, that fails, or that answers with anything else
    votes for `default`, the first class unless you say otherwise: none is ever dropped. Teachers are not pickled, exported
    or served; labels are released from their votes.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) >= 20
    >>> made = Teachers(LogisticRegression, KeyedPartition(3, b"key"), classes=[False, True])
    >>> made.fit(X, y, ids=range(40)).vote([[0.0], [39.0]], public=True)
    <private votes: 2 queries, 2 classes, 3 teachers>
    """

    def __init__(
        self, factory: Callable[[], Any], partition: KeyedPartition, *, classes: Sequence[Any], default: Any = None
    ) -> None:
        if not callable(factory):
            raise InvalidParameter("factory must make a model when it is called, such as lambda: LogisticRegression()")
        self.factory, self.partition = factory, instance("partition", partition, KeyedPartition)
        self.classes = items("classes", classes)
        if not all(isinstance(each, Hashable) for each in self.classes):
            raise InvalidParameter("classes must be of one kind: numbers, texts or truth values")
        if len(self.classes) < 2 or len(set(self.classes)) != len(self.classes):
            raise InvalidParameter("classes must be a public list of two or more, each once")
        if np.asarray(self.classes).dtype.kind not in "biufUS" or np.asarray(self.classes).tolist() != list(
            self.classes
        ):
            raise InvalidParameter("classes must be of one kind: numbers, texts or truth values")
        if default is not None and default not in self.classes:
            raise InvalidParameter("default must be one of the classes")
        self.default = 0 if default is None else self.classes.index(default)
        self._models: list[Any] = []
        self._asked = False
        self._row: tuple[int, ...] | None = None

    @door
    def fit(
        self, X: Any, y: Any, *, ids: Any, jobs: int = 1, folder: str | os.PathLike[str] | None = None
    ) -> "Teachers":
        """Train every teacher on its part. What happens in a part is not said, for it depends on its rows.

        Rows whose class is not one of `classes`, or that have no id, are left out. Each row is read by itself: in a list or
        a data frame, a value of another kind, or a row of another length, does not change how the rows of others are read.
        Of a data frame numbers are floats, dates and times seconds since 1970 (UTC), and what is missing is NaN.

        With a private `folder`, for its owner alone, finished teachers are kept there: after a stop, or with one more row,
        those whose rows and models are the same are not trained again. It holds private rows as teachers do.
        """
        place = None if folder is None else private_folder(folder)
        rows, targets = apart(X), self._places_of(y)
        if (rows.ndim < 2 and rows.dtype != object) or len(rows) != len(targets):
            raise InvalidData(_CLASSES)
        _copyable(self.factory, kept=place is not None)
        parts = self.partition.assign(ids)
        if len(parts) != len(rows):
            raise InvalidData("ids must be as many as there are rows: the person of each")
        used = np.flatnonzero((parts != NOBODY) & (targets >= 0))
        order = used[np.argsort(parts[used], kind="stable")]
        bounds = np.searchsorted(parts[order], np.arange(self.partition.parts + 1))
        classes = np.asarray(self.classes)
        models = [self._untrained(part) for part in range(self.partition.parts)]
        tasks = [
            (model, typed(rows[chosen]), classes[targets[chosen]])
            for model, chosen in zip(models, np.split(order, bounds[1:-1]), strict=True)
        ]
        self._models, self._asked = self._trained(tasks, count("jobs", jobs, 1), place), False
        self._row = _shape_of_row(X)
        return self

    def _untrained(self, part: int) -> Any:
        """The model of a part before it is trained. Made here and for every part: what a factory remembers from call to
        call may not depend on which parts are empty, or on the process that was free.

        A copy: what the factory hands out twice, whole or as a part, would learn from two parts.
        """
        seed = self._seed(part)
        model = _alone(lambda: copy.deepcopy(self.factory()), seed)
        names: dict[str, Any] = getattr(model, "get_params", dict)()
        own = {name: seed for name in names if name == "random_state" or name.endswith("__random_state")}
        return model.set_params(**own) if own else model

    def _trained(self, tasks: list[tuple[Any, Array, Array]], jobs: int, folder: Path | None) -> list[Any]:
        work = track("teachers", len(tasks))
        made: list[Any] = []
        if jobs == 1:
            for part, (model, X, y) in enumerate(tasks):
                made.append(_train(model, self._seed(part), X, y, folder))
                work.advance()
            return made
        from joblib import Parallel, delayed

        # processes, never threads: a thread would share its generators with other teachers
        calls = (delayed(_carried)(model, self._seed(part), X, y, folder) for part, (model, X, y) in enumerate(tasks))
        try:
            for carried in Parallel(n_jobs=jobs, backend="loky", return_as="generator")(calls):
                # made by `_carried`, in a process of our own
                made.append(None if carried is None else pickle.loads(carried))
                work.advance()
        except Exception:  # a process that died, say: which one, and why, depends on the rows of a part
            raise InvalidData(
                "training in processes ended before its time, and nothing of it is used: train with jobs=1"
            ) from None
        return made

    def _seed(self, part: int) -> int:
        """The seed of a teacher: by its part alone, so that the rows of others cannot change it. It protects nobody."""
        digest = hashlib.blake2b(f"teacher {part}".encode(), key=self.partition.key, digest_size=4).digest()
        return int.from_bytes(digest, "big")

    @door
    def vote(self, pool: Any, *, public: bool = False, adaptive: bool | None = None) -> Votes:
        """One vote of each teacher for each row of a public pool.

        A second pool may have been chosen by the answers about the first: its votes count as `adaptive`, and have no
        data-dependent figures, unless you say that they are not.
        """
        if public is not True:
            raise InvalidParameter(_POOL)
        if not self._models:
            raise InvalidParameter("the teachers are not trained: call fit first")
        rows = typed(apart(pool))
        if rows.ndim < 2 or not len(rows):
            raise InvalidData("the pool must be rows, and at least one")
        if self._row is not None and self._row != rows.shape[1:]:
            raise InvalidData(
                f"a row of the pool has the shape {rows.shape[1:]}, a row that teachers learnt from {self._row}"
            )
        adaptive, self._asked = self._asked if adaptive is None else flag("adaptive", adaptive), True
        counts = np.zeros((len(rows), len(self.classes)), dtype=np.int32)
        for part, model in enumerate(self._models):
            np.add.at(counts, (np.arange(len(rows)), self._answers(model, self._seed(part), rows)), 1)
        return Votes(counts, teachers=len(self._models), adaptive=adaptive)

    def _answers(self, model: Any, seed: int, rows: Array) -> Array:
        usual = np.full(len(rows), self.default, dtype=np.int64)
        try:
            # a model may draw or warn while it predicts, and a scaler may write into what it is given
            told = self._places_of(_alone(lambda: model.predict(copy.deepcopy(rows)), seed))
        except (
            Exception,
            SystemExit,
        ):  # what went wrong depends on the rows of its part: it votes, and nothing is said
            return usual
        return np.where(told < 0, usual, told) if len(told) == len(rows) else usual

    def _places_of(self, told: Any) -> Array:
        """The place of each class in the public list, -1 for what is none: read one by one, whatever the others are."""
        places = {each: place for place, each in enumerate(self.classes)}
        return np.array([_place(each, places) for each in listed(told, _CLASSES)], dtype=np.int64)

    def __repr__(self) -> str:
        return f"<{self.partition.parts} private teachers of {len(self.classes)} classes>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SerialisationError("teachers remember private rows: they are not pickled, exported or served")


def _shape_of_row(X: Any) -> tuple[int, ...] | None:
    """The shape of a row of an array or a data frame, whatever its cells are: a None of one person makes objects of all
    numbers of an array. None for lists, where each row has its own."""
    if hasattr(X, "columns"):
        return (len(X.columns),)
    return X.shape[1:] if isinstance(X, np.ndarray) and X.ndim > 1 else None


def _train(model: Any, seed: int, X: Array, y: Array, folder: Path | None = None) -> Any:
    """A model of one part, or None where there is none."""
    try:
        return _alone(lambda: _fitted(*copy.deepcopy((model, X, y)), seed, folder), seed) if len(X) else None
    except (Exception, SystemExit):  # one class in a part, a solver that fails: depends on rows, so nothing is said
        return None


def _carried(model: Any, seed: int, X: Array, y: Array, folder: Path | None) -> bytes | None:
    """A model of one part as a process hands it back; None where there is none, or none that can be carried."""
    made = _train(model, seed, X, y, folder)
    try:
        return None if made is None else bytes(_pickler().dumps(made))
    except Exception:
        return None


def _pickler() -> Any:
    """The pickler by which joblib carries classes of a notebook; it lies elsewhere in older versions."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        if find_spec(name.partition(".")[0]) is not None:
            return import_module(name)
    return pickle


def _fitted(model: Any, X: Array, y: Array, seed: int, folder: Path | None) -> Any:
    if folder is None:
        return model.fit(X, y)
    name, loaded = digest_of(model, seed, X, y), "torch" in sys.modules
    found = kept(folder, name)
    if found is None:
        found = model.fit(X, y)
        if loaded == ("torch" in sys.modules):  # else it is trained again (`_alone`)
            keep(folder, name, found)
    return found


def _alone(work: Callable[[], Any], seed: int) -> Any:
    """The work of a teacher, with a random stream of its own and without its warnings, which depend on its rows.

    A model may load torch while it works; its generator then was nobody's own, and what was done is done again.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            loaded = "torch" in sys.modules
            with own_stream(seed):
                done = work()
            if loaded or "torch" not in sys.modules:
                break
        return done


def _place(told: Any, places: dict[Any, int]) -> int:
    try:
        return places.get(told, -1)
    except Exception:  # a list, say, or what an object's own comparison raises: no class
        return -1


def _copyable(factory: Callable[[], Any], *, kept: bool) -> None:
    """Refuse a factory whose models cannot be made, copied or, where they are kept, pickled: no row is looked at, so that
    the reason may be said."""
    try:
        made = copy.deepcopy(factory())
        if kept:
            pickle.dumps(made)
    except Exception as fault:
        needs = "copied and pickled" if kept else "copied"
        raise InvalidParameter(f"factory must make a model that can be {needs}, and ends in {fault!r}") from fault
    if not (hasattr(made, "fit") and hasattr(made, "predict")):
        raise InvalidParameter("factory must make a model that has fit and predict")
