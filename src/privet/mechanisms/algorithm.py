"""Whole algorithms: paid once for many releases, each of them through a mechanism."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeVar, final

from privet.errors import InvalidData
from privet.mechanisms.form import Anything, Form
from privet.mechanisms.mechanism import In, Mechanism, Out, Source
from privet.mechanisms.payment import draw_coins
from privet.mechanisms.whole import Rule, body_of, priced_together

T = TypeVar("T")


class Algorithm(Mechanism[In, Out]):
    """A mechanism whose parts release through other mechanisms: tables, fits, training runs, synthesizers.

    A subclass answers `loss`, the price of the whole, and `_run(prepared, source)`, which looks at data only through
    `part.release(value, source=source)` of its parts and through `_coins`. The whole is paid for once: inside, releases
    are charged to nobody, in whatever thread of the algorithm, and none after it has ended. What comes out is computed
    from the parts' releases and coins alone.

    Laws hold it to that (`testing.check_parts_are_the_price`, `check_no_coin_of_its_own`, `check_paid_once`), and
    `audit.replay` looks through it.

    **Guarantee:** `loss`, which is the composition of the parts' losses, or what `_priced` makes of groups of them.

    >>> from dataclasses import dataclass
    >>> from privet.mechanisms import Example, Laplace
    >>> from privet.privacy import Composed
    >>> @dataclass(frozen=True, kw_only=True)
    ... class TwoCounts(Algorithm):
    ...     name = "example_two_counts"
    ...     part: Laplace
    ...     @property
    ...     def loss(self):
    ...         return Composed([self.part.loss] * 2)
    ...     def _run(self, prepared, source):
    ...         first = self.part.release(len(prepared), source=source).value
    ...         return first, self.part.release(sum(row > 0 for row in prepared), source=source).value
    ...     @classmethod
    ...     def examples(cls):
    ...         yield Example(cls(part=Laplace.for_budget(epsilon=1.0, sensitivity=1.0)), [1], [1, 2])
    >>> both = TwoCounts(part=Laplace.for_budget(epsilon=0.5, sensitivity=1.0)).release([3, -1, 4])
    >>> len(both.value), both.loss.pure()
    (2, 1.0)
    """

    at_most: ClassVar[bool] = False
    """Whether a run may release fewer parts than the price allows: one that stops when it is good enough."""

    @abstractmethod
    def _run(self, prepared: Any, source: Source) -> Out:
        """One run. `source` is handed on to every part and to `_coins`, and to nothing else."""

    @property
    def form(self) -> Form:
        """The form of outputs. Declare it: until then a ledger learns only after paying what it cannot store."""
        return Anything()

    def _admit(self, value: In) -> None:
        if isinstance(value, Iterator) or (isinstance(value, Sequence) and not _is_plain(value)):
            raise InvalidData(
                f"an algorithm looks at its input more than once, and {type(value).__name__} may make it anew each time: "
                "hand in a list"
            )

    def _prepare(self, value: In) -> Any:
        """The input as it is: what makes its items when they are asked for has to be read here, by its author."""
        return value

    def error(self, confidence: float = 0.95) -> Any:
        """None, unless the algorithm knows better: its parts have bars of their own."""
        return None

    @final
    def _draw(self, prepared: object, runs: int, source: Source) -> Sequence[Out]:
        secure = source is None or not bool(getattr(source, "insecure", True))
        made = []
        for _ in range(runs):
            with body_of(self.name, secure=secure):
                made.append(self._run(prepared, source))
        return made

    @final
    def _coins(self, what: str, draw: Callable[[Source], T], source: Source) -> T:
        """A draw that is no mechanism's: which records are sampled, who is in which part. `draw(source)` uses
        `privet.noise` with the source that it is given; an audit gives both of its worlds the same coins.
        """
        return draw_coins(what, draw, source)

    @final
    def _priced(self, rule: Rule) -> AbstractContextManager[None]:
        """While open, the price of what is released is `rule(losses of these parts)`, not their composition:
        `lambda parts: PoissonSampled(Composed(parts), q)` inside a sample, `Parallel` of disjoint blocks.
        """
        return priced_together(rule)


def _is_plain(value: object) -> bool:
    """True for lists and the like, whose items are there.

    >>> from collections import UserList
    >>> _is_plain([1]), _is_plain((1,)), _is_plain("text"), _is_plain(UserList([1]))
    (True, True, True, False)
    """
    for kind in (list, tuple, str, bytes, range):
        if isinstance(value, kind):
            mine: Any = type(value)
            return mine.__iter__ is kind.__iter__ and mine.__getitem__ is kind.__getitem__
    return False
