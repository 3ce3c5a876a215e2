"""Workers keep the ledger that they were started under: joblib's, and processes of a pool that were there before.

A thread of a pool has an empty context, and a process of a pool may be older than the `with ledger:` block. So calls of
`joblib.Parallel`, and jobs given to a pool of processes, are wrapped: each task runs as if it stood where it was handed
out. scikit-learn runs everything that way.
"""

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NamedTuple

from privet.errors import LedgerError

_MEMORY = (
    "this task was started under a ledger that lives in the memory of another process; nothing was released. Use a "
    'ledger with a file, or threads: joblib.parallel_config(backend="threading")'
)
_LAZILY = (
    "this task was handed out by `imap` inside an algorithm that is paid for, which may have ended by now; nothing was "
    "released. Use map or apply_async, for which an algorithm waits"
)


class Payers(NamedTuple):
    """How a task learns who pays for it: `here()` says who does where it is called, `there(payer)` is a context in which
    the same one pays somewhere else. What was handed out with the `lasting` payer is waited for before the release that
    it belongs to ends: `keep(wait)` takes care of that.
    """

    here: Callable[[], Any]
    there: Callable[[Any], AbstractContextManager[None]]
    lasting: Any = None
    keep: Callable[[Callable[[], Any]], None] = lambda wait: None


class Lost:
    """Stands for a ledger that cannot travel to another process: whatever is released there is refused.

    >>> Lost().pay_for(None, None, None)
    Traceback (most recent call last):
    privet.errors.LedgerError: this task was started under a ledger that lives in the memory of another process; ...
    """

    def __init__(self, why: str = _MEMORY) -> None:
        self.why = why

    def pay_for(self, mechanism: Any, value: Any, run: Any, source: Any = None) -> Any:
        """Refuse."""
        raise LedgerError(self.why)


class Task:
    """A task of a pool with the payer of the place where it was handed out.

    >>> from contextlib import nullcontext
    >>> Task(None, lambda payer: nullcontext(), max)(2, 3)
    3
    """

    def __init__(self, payer: Any, there: Callable[[Any], Any], work: Callable[..., Any]) -> None:
        self.payer, self.there, self.work = payer, there, work

    def __call__(self, *args: Any, **options: Any) -> Any:
        with self.there(self.payer):
            return self.work(*args, **options)

    def __reduce__(self) -> Any:
        try:
            self.payer.__reduce_ex__(4)
        except (LedgerError, TypeError):
            return Task, (Lost(), self.there, self.work)
        return Task, (self.payer, self.there, self.work)


def _payer(payers: Payers) -> Any:
    """Who pays here. Where that is not clear, a task may still run: only what it releases is refused."""
    try:
        return payers.here()
    except LedgerError as problem:
        return Lost(str(problem))


def _replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Put `make(method)` in the place of a method, once."""
    before = getattr(owner, name)
    if hasattr(before, "knows_payers"):
        return
    mine = make(before)
    mine.knows_payers, mine.before = True, before
    setattr(owner, name, mine)


# --- joblib ---------------------------------------------------------------------------------------------------------


def wrap_parallel(module: ModuleType, payers: Payers) -> None:
    """From here on, `joblib.Parallel` hands out tasks that know their payer. Doing it twice changes nothing."""

    def make(before: Any) -> Any:
        def call(parallel: Any, iterable: Any) -> Any:
            payer = _payer(payers)
            return before(parallel, iterable if payer is None else _tasks(iterable, payer, payers))

        return call

    _replaced(module.Parallel, "__call__", make)


def _tasks(iterable: Iterable[Any], payer: Any, payers: Payers) -> Iterable[Any]:
    """The tasks of a call, each with its payer; as long as they were, where they had a length."""
    made = ((Task(payer, payers.there, work), args, options) for work, args, options in iterable)
    return list(made) if hasattr(iterable, "__len__") else made


# --- pools of processes -----------------------------------------------------------------------------------------------


def wrap_executor(module: ModuleType, payers: Payers) -> None:
    """The same for jobs of a `concurrent.futures.ProcessPoolExecutor`, whose `map` submits."""

    def make(before: Any) -> Any:
        def submit(pool: Any, work: Any, /, *args: Any, **options: Any) -> Any:
            payer = _payer(payers)
            if payer is None:
                return before(pool, work, *args, **options)
            future = before(pool, Task(payer, payers.there, work), *args, **options)
            if payer == payers.lasting:
                payers.keep(lambda: future.cancel() or future.exception())
            return future

        return submit

    _replaced(module.ProcessPoolExecutor, "submit", make)


def wrap_pool(module: ModuleType, payers: Payers) -> None:
    """The same for jobs of a `multiprocessing.Pool`; a pool of threads needs no help."""

    def make(before: Any, *, lazily: bool) -> Any:
        def hand(pool: Any, work: Any, *args: Any, **options: Any) -> Any:
            payer = None if isinstance(pool, module.ThreadPool) else _payer(payers)
            if payer is None:
                return before(pool, work, *args, **options)
            lasting = payer == payers.lasting
            if lasting and lazily:  # nothing to wait for: its results are fetched one by one, whenever
                payer = Lost(_LAZILY)
            result = before(pool, Task(payer, payers.there, work), *args, **options)
            if lasting and not lazily:
                payers.keep(result.wait)
            return result

        return hand

    for name in ("apply_async", "_map_async", "imap", "imap_unordered"):  # all others call one of these
        _replaced(module.Pool, name, partial(make, lazily=name.startswith("imap")))


# --- now, or as soon as they are loaded -------------------------------------------------------------------------------

_WRAPPERS: dict[str, Callable[[ModuleType, Payers], None]] = {
    "joblib.parallel": wrap_parallel,
    "concurrent.futures.process": wrap_executor,
    "multiprocessing.pool": wrap_pool,
}
_WRAPPED = {"joblib.parallel": "Parallel", "concurrent.futures.process": "ProcessPoolExecutor"}


def follow_workers(payers: Payers) -> None:
    """Wrap what is loaded now and the rest as soon as it is. Nobody pays for loading it."""
    for name, wrap in _WRAPPERS.items():
        module = sys.modules.get(name)
        if module is not None and hasattr(module, _WRAPPED.get(name, "ThreadPool")):
            wrap(module, payers)
        elif not any(isinstance(finder, _Finder) and finder.module == name for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder(name, payers))


class _Finder(MetaPathFinder):
    """Sees a module being loaded, lets that happen, and goes away."""

    def __init__(self, module: str, payers: Payers) -> None:
        self.module, self._payers = module, payers

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._payers)
        return spec


class _Loader(Loader):
    def __init__(self, real: Any, payers: Payers) -> None:
        self._real, self._payers = real, payers

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._real.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._real.exec_module(module)
        _WRAPPERS[module.__name__](module, self._payers)
