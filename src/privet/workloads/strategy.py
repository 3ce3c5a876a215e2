"""The abstract strategy: a public recipe that turns a workload into what is measured."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Literal, final

from privet._cache import remember
from privet._calls import door
from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.workload import Workload, as_workload, refuse_empty

Lines = Literal["any", "small", "some"]
SEARCHED = 1_024  # cells up to which a plan tries what is searched for and takes seconds
MATRICES = 2_048  # cells up to which matrices over pairs of cells are built
_REGISTRY: dict[str, "type[Strategy]"] = {}


class Strategy(ABC):
    """A recipe: frozen, small and public. `design` works it out for a domain and a norm, without data.

    `norms` are the kinds of noise it is meant for: "l1" (Laplace noise, pure epsilon), "l2" (Gaussian noise). `lines` are
    the domains of one dimension that it takes whatever is asked about them: any, those small enough for a matrix over pairs
    of cells, or some.

    >>> from privet.workloads import Cells, Prefix
    >>> Cells().design(Prefix(8), "l1").measurements
    8
    """

    name: ClassVar[str]
    norms: ClassVar[tuple[NoiseNorm, ...]] = ("l1", "l2")
    lines: ClassVar[Lines] = "some"
    searched: ClassVar[bool] = False
    """Whether its design is searched for, which takes seconds where others take milliseconds."""

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> "Iterable[Strategy]":
        """The strategies of this kind that a plan tries for a workload, from public facts; none unless a member says so."""
        return ()

    @abstractmethod
    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        """The measurements, from public facts alone."""

    @abstractmethod
    def describe(self) -> str:
        """The recipe in words."""

    @final
    def design(self, workload: Workload, norm: NoiseNorm) -> Design:
        """The measurements that answer this workload with noise of this norm; remembered by these public facts."""
        as_workload(workload)
        if norm not in self.norms:
            raise InvalidParameter(f"norm must be {' or '.join(self.norms)} for {self.describe()}, got {norm!r:.40}")
        return _designed(self, workload, norm)

    def __str__(self) -> str:
        return self.describe()


@remember(2**28)
def _designed(strategy: Strategy, workload: Workload, norm: NoiseNorm) -> Design:
    refuse_empty(workload)
    return strategy._design(workload, norm)


def register(strategy: "type[Strategy]") -> "type[Strategy]":
    """Class decorator: the laws and the planner find the strategy by its name.

    >>> from privet.workloads import Cells, registered_strategies
    >>> registered_strategies()["cells"] is Cells
    True
    """
    known = _REGISTRY.setdefault(strategy.name, strategy)
    if known is not strategy and known.__qualname__ != strategy.__qualname__:
        raise InvalidParameter(f"the name {strategy.name!r} belongs to {known.__name__} already")
    _REGISTRY[strategy.name] = strategy
    return door(strategy)


def registered_strategies() -> "dict[str, type[Strategy]]":
    """All strategies by name.

    >>> "hierarchical" in registered_strategies()
    True
    """
    return dict(sorted(_REGISTRY.items()))


def as_strategy(value: object) -> Strategy:
    """The strategy itself; a class or a name is refused with the call that is meant.

    >>> from privet.workloads import Cells
    >>> as_strategy(Cells())
    Cells()
    """
    if isinstance(value, Strategy):
        return value
    raise InvalidParameter(
        f"strategy must be an object such as Hierarchical() or Cells(), got {getattr(value, '__name__', repr(value))}"
    )
