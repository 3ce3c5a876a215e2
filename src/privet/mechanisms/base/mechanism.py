"""The abstract mechanism: a price that needs no data, and a release whose noise is the noise that was priced."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from privet._validate import count
from privet.errors import InvalidParameter
from privet.mechanisms.base.error_bar import ErrorBar
from privet.mechanisms.base.release import Release
from privet.mechanisms.base.sensitivity import Sensitivity
from privet.mechanisms.base.target import Target
from privet.noise import Secure, Seeded
from privet.privacy import PrivacyLoss, Unit

__all__ = ["Example", "Mechanism", "Observer", "Source", "observed", "register", "registered_mechanisms"]

In = TypeVar("In")
Out = TypeVar("Out")
Source = Secure | Seeded | None

Observer = Callable[["Mechanism[Any, Any]", Any, Callable[[], Release[Any]]], Release[Any]]

_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)
_REGISTRY: dict[str, "type[Mechanism[Any, Any]]"] = {}


@dataclass(frozen=True, eq=False)
class Example:
    """A mechanism with two neighbouring inputs that strain it: what laws, audits and the documentation run on.

    `target` is the budget that `for_budget` was given, where the mechanism came from there.

    >>> from privet.mechanisms import Laplace
    >>> example = next(iter(Laplace.examples()))
    >>> example.left, example.right, example.target.epsilon
    (0.0, 1.0, 1.0)
    """

    mechanism: "Mechanism[Any, Any]"
    left: Any
    right: Any
    target: Target | None = None


class Mechanism(ABC, Generic[In, Out]):
    """A loss and a release. Subclasses are frozen dataclasses of public parameters, final, one file each.

    A subclass answers four questions: `loss`; `_prepare` (check and convert the input without looking at more than its
    type and shape); `_draw` (exact noise from `privet.noise`); `error`. `release` is the same for all: everything that
    can be refused is refused before noise is drawn.

    **Guarantee:** `release` satisfies `loss`, for every input that `_prepare` accepts.

    >>> from privet.mechanisms import Laplace
    >>> mechanism = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> mechanism.loss.pure(), mechanism.release(42).mechanism
    (1.0, 'laplace')
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def loss(self) -> PrivacyLoss:
        """The price of one release, of the law that really runs."""

    @abstractmethod
    def _prepare(self, value: In) -> Any:
        """The input in the form that `_draw` takes, or an error that depends on its type and shape alone."""

    @abstractmethod
    def _draw(self, prepared: Any, source: Source) -> Out:
        """One protected value."""

    @abstractmethod
    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """How far a release may be from the exact answer, from public parameters alone."""

    @classmethod
    @abstractmethod
    def examples(cls) -> Iterable[Example]:
        """Small instances, each with a pair of neighbouring inputs: every law and audit runs on them."""

    def release(self, value: In, *, source: Source = None) -> Release[Out]:
        """Protect one value. Calling it twice is two releases, each at the full price.

        `source` is for tests: a `noise.Seeded` stream stamps the release as insecure.
        """
        observer = _OBSERVER.get()
        if observer is not None:
            return observer(self, value, lambda: self._release(value, source))
        return self._release(value, source)

    def _release(self, value: In, source: Source) -> Release[Out]:
        prepared = self._prepare(value)
        drawn = self._draw(prepared, source)
        return Release(
            drawn,
            loss=self.loss,
            error=self._error_given(drawn, prepared),
            mechanism=self.name,
            insecure=bool(getattr(source, "insecure", False)),
            provenance=(self.name,),
        )

    def _error_of(self, prepared: Any) -> ErrorBar | None:
        """The error bar of this release; only the shape of the input may enter."""
        return self.error()

    def _error_given(self, drawn: Out, prepared: Any) -> ErrorBar | None:
        """The error bar once the protected value is known: a bar computed from it alone is post-processing."""
        return self._error_of(prepared)

    def simulate(self, value: In, runs: int, *, source: Source = None) -> list[Out] | np.ndarray[Any, Any]:
        """`runs` independent outputs for one input, the run first: for tests and audits on made-up data. Shown to
        anybody else, every single one of them would have to be paid for.
        """
        prepared = self._prepare(value)
        return [self._draw(prepared, source) for _ in range(count("runs", runs, 1))]

    @property
    def unit(self) -> Unit:
        """The privacy unit of the price."""
        return self.loss.unit

    def to_dict(self) -> dict[str, Any]:
        """The public parameters, exactly: what a ledger compares when a release key is used again."""
        return {"mechanism": self.name} | {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """While open, every release goes through `observer(mechanism, value, run)`: how an audit records and replays.

    >>> from privet.mechanisms import Laplace
    >>> with observed(lambda mechanism, value, run: Release(value, mechanism.loss, insecure=True)):
    ...     Laplace.for_budget(epsilon=1.0, sensitivity=1.0).release(5.0).value
    5.0
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def register(mechanism: "type[Mechanism[Any, Any]]") -> "type[Mechanism[Any, Any]]":
    """Class decorator: the laws, the audit and the documentation find the mechanism by its name.

    >>> from privet.mechanisms import Laplace, registered_mechanisms
    >>> registered_mechanisms()["laplace"] is Laplace
    True
    """
    name = getattr(mechanism, "name", None)
    if not isinstance(name, str) or not name:
        raise InvalidParameter(f"{mechanism.__name__} needs a class attribute `name`")
    known = _REGISTRY.setdefault(name, mechanism)
    if known is not mechanism and known.__qualname__ != mechanism.__qualname__:
        raise InvalidParameter(f"the name {name!r} belongs to {known.__name__} already")
    _REGISTRY[name] = mechanism
    return mechanism


def registered_mechanisms() -> "dict[str, type[Mechanism[Any, Any]]]":
    """All registered mechanisms by name.

    >>> "gaussian" in registered_mechanisms()
    True
    """
    return dict(sorted(_REGISTRY.items()))


def _plain(value: Any) -> Any:
    """JSON for a parameter, with nothing lost: fractions and floats as text."""
    if isinstance(value, Mechanism | Unit):
        return value.to_dict()
    if isinstance(value, Sensitivity):
        return {"value": str(value.value), "norm": value.norm, "unit": value.unit.to_dict()}
    if isinstance(value, PrivacyLoss):
        return value.to_dict()
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return repr(value)
