"""The kinds of release that can be typed, read off the registered prices: a new price is found by itself.

A price can be typed if every field of it is a number or a flag; the options are its fields. Whatever else there is (pairs,
curves, compositions) comes by `--json-loss`.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

if TYPE_CHECKING:
    from privet.privacy import PrivacyLoss

# A field with the name of an option that asks or repeats gets a 0: --epsilon0 is of one release, --epsilon of them all.
_TAKEN = frozenset({"epsilon", "delta", "steps", "q", "sample_size", "population", "relation", "kind", "at", "part"})


@dataclass(frozen=True)
class Kind:
    """A price as the command line sees it; `options` maps an option to the field of the loss."""

    loss: "type[PrivacyLoss]"
    options: Mapping[str, Field[Any]]
    types: Mapping[str, type]

    @property
    def required(self) -> list[str]:
        """The options that have no default."""
        return [name for name, field in self.options.items() if field.default is MISSING]

    @property
    def main_option(self) -> str:
        """The option that sets how much is paid, which `calibrate` looks for: the first real number."""
        return next(iter(self.options))


def kinds() -> dict[str, Kind]:
    """Every kind that can be typed, by the name that is typed.

    >>> kinds()["k-rr"].main_option, kinds()["k-rr"].required
    ('epsilon0', ['epsilon0', 'k'])
    """
    from privet.privacy import registered_kinds

    found = {name.replace("_", "-"): _kind_of(loss) for name, loss in sorted(registered_kinds().items())}
    return {name: kind for name, kind in found.items() if kind is not None}


@cache
def _kind_of(loss: "type[PrivacyLoss]") -> Kind | None:
    """The kind of a price, or None if it cannot be typed."""
    hints = get_type_hints(loss)
    numbers = [(field, _number(hints[field.name])) for field in fields(loss) if field.name != "unit"]
    numbers.sort(key=lambda one: one[1] is not float)  # real numbers first: one of them is what `calibrate` looks for
    if not numbers or numbers[0][1] is not float or any(kind is None for _, kind in numbers):
        return None
    named = [(field.name + "0" * (field.name in _TAKEN), field, kind) for field, kind in numbers]
    types = {option: kind for option, _, kind in named if kind is not None}
    return Kind(loss, {option: field for option, field, _ in named}, types)


def _number(hint: Any) -> type | None:
    """float, int or bool if that is what a field holds (or None), else None."""
    held = [part for part in get_args(hint) if part is not NoneType] or [hint]
    return next((kind for kind in (float, int, bool) if held == [kind]), None)
