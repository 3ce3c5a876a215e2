"""The inside of a whole algorithm: parts that are priced together, and whether their noise protects."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import final

from privet.errors import NotPrivate
from privet.mechanisms.here import changed, here
from privet.privacy import PrivacyLoss

Rule = Callable[[Sequence[PrivacyLoss]], PrivacyLoss]


@final
class _Body:
    """One run of an algorithm's body, inside of that of a larger one or of none."""

    __slots__ = ("insecure", "larger", "open")

    def __init__(self, larger: "_Body | None") -> None:
        self.insecure, self.larger, self.open = False, larger, True


@final
class Together:
    """Parts whose price is not their composition: a sample, disjoint blocks, the best of several. `rule` makes one price
    out of theirs.

    >>> from privet.privacy import PoissonSampled, PureLoss
    >>> Together(lambda parts: PoissonSampled(parts[0], 0.5)).rule([PureLoss(1.0)]).kind
    'poisson_sampled'
    """

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule = rule


def together() -> tuple[Together, ...]:
    """The groups, from the outermost to the innermost, that a part released here belongs to.

    >>> together()
    ()
    """
    return here().together


def priced_together(rule: Rule) -> AbstractContextManager[None]:
    """While open, what is released is priced by the rule, as one.

    >>> with priced_together(lambda parts: parts[0]):
    ...     len(together())
    1
    """
    return changed(together=(*here().together, Together(rule)))


def note_insecure() -> None:
    """A part drew noise that protects nobody: the whole must not pass for secure.

    >>> note_insecure()
    """
    body = here().body
    if body is not None:
        body.insecure = True


@contextmanager
def body_of(name: str, *, secure: bool) -> Iterator[None]:
    """One run of an algorithm: seeded noise in a secure run is refused.

    >>> with body_of("nothing", secure=True):
    ...     pass
    """
    around = here().body
    body = _Body(around if around is not None and around.open else None)
    with changed(body=body):
        try:
            yield
        finally:
            body.open = False
    if body.insecure and secure:
        raise NotPrivate(
            f"a part of {name} drew seeded noise, which protects nobody, while the whole was asked for secure noise; "
            "hand the source of the whole to its parts"
        )
    if body.insecure:
        note_insecure()
