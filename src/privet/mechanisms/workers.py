"""Workers of joblib keep the ledger that they were started under: threads, and processes that were there before.

A thread of a pool has an empty context, and a process of a pool may be older than the `with ledger:` block. So a call of
`joblib.Parallel` wraps its tasks: each runs as if it stood where the call stands. scikit-learn runs everything that way.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from privet.errors import LedgerError

Here = Callable[[], Any]  # who pays where it is called
There = Callable[[Any], AbstractContextManager[None]]  # in which the same one pays somewhere else

_MODULE = "joblib.parallel"


class Lost:
    """Stands for a ledger that cannot travel to another process: whatever is released there is refused.

    >>> Lost().pay_for(None, None, None)
    Traceback (most recent call last):
    privet.errors.LedgerError: this task was started under a ledger that lives in the memory of another process; ...
    """

    def pay_for(self, mechanism: Any, value: Any, run: Any, source: Any = None) -> Any:
        """Refuse."""
        raise LedgerError(
            "this task was started under a ledger that lives in the memory of another process; nothing was released. Use a "
            'ledger with a file, or threads: joblib.parallel_config(backend="threading")'
        )


class Task:
    """A task of a pool with the payer of the place where it was handed out.

    >>> from contextlib import nullcontext
    >>> Task(None, lambda payer: nullcontext(), max)(2, 3)
    3
    """

    def __init__(self, payer: Any, there: There, work: Callable[..., Any]) -> None:
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


def wrap_parallel(module: ModuleType, here: Here, there: There) -> None:
    """From here on, `joblib.Parallel` hands out tasks that know their payer. Doing it twice changes nothing."""
    before = module.Parallel.__call__
    if hasattr(before, "knows_payers"):
        return

    def call(parallel: Any, iterable: Any) -> Any:
        payer = here()
        return before(parallel, iterable if payer is None else _Tasks(iterable, payer, there))

    call.knows_payers, call.before = True, before  # type: ignore[attr-defined]
    module.Parallel.__call__ = call


class _Tasks:
    """The tasks of a call, each with its payer; as long as they were, where they had a length."""

    def __new__(cls, iterable: Iterable[Any], payer: Any, there: There) -> Any:
        made: Iterator[Any] = ((Task(payer, there, work), args, options) for work, args, options in iterable)
        return list(made) if hasattr(iterable, "__len__") else made


def follow_joblib(here: Here, there: There) -> None:
    """Wrap joblib now or, where it is not loaded yet, as soon as it is. Nobody pays for loading it."""
    module = sys.modules.get(_MODULE)
    if module is not None and hasattr(module, "Parallel"):
        wrap_parallel(module, here, there)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(here, there))


class _Finder(MetaPathFinder):
    """Sees joblib being loaded, lets that happen, and goes away."""

    def __init__(self, here: Here, there: There) -> None:
        self._here, self._there = here, there

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._here, self._there)
        return spec


class _Loader(Loader):
    def __init__(self, real: Any, here: Here, there: There) -> None:
        self._real, self._here, self._there = real, here, there

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._real.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._real.exec_module(module)
        wrap_parallel(module, self._here, self._there)
