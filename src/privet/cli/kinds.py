"""The kinds of release that a user can type at the command line (`gaussian --noise-multiplier 3`), from the prices.

A price can be typed if every field of it is a number or a flag: the fields are then its options, and a registered price is
found by itself. Whatever else there is (pairs, curves, compositions) comes from a file, by `--json-loss`.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

if TYPE_CHECKING:
    from privet.privacy import PrivacyLoss

# Options that the commands have of their own, for the promise asked about, the repetitions or the sampling. A field of the
# same name gets a 0 behind it: --epsilon0 is the epsilon of one release, --epsilon that of all together.
_TAKEN = frozenset(
    {"epsilon", "delta", "steps", "q", "sample_size", "population", "shuffled", "relation", "kind", "at", "part"}
)


@dataclass(frozen=True)
class Kind:
    """A price as the command line sees it: `options` maps the name of an option to a field of the loss, `types` to what is
    read for it (float, int or bool). Options of real numbers come first.
    """

    loss: "type[PrivacyLoss]"
    options: Mapping[str, Field[Any]]
    types: Mapping[str, type]

    @property
    def required(self) -> list[str]:
        """The options that have no default."""
        return [name for name, field in self.options.items() if field.default is MISSING]

    @property
    def main_option(self) -> str:
        """The option that sets how much is paid, whose value `calibrate` looks for: the first of a real number."""
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
    # The unit is no option of a kind: --relation names it, or the sampling does.
    numbers = [(field, _number(hints[field.name])) for field in fields(loss) if field.name != "unit"]
    numbers.sort(key=lambda one: one[1] is not float)  # stable: real numbers first, for `main_option`
    if not numbers or numbers[0][1] is not float or any(held is None for _, held in numbers):
        return None
    named = [(f"{field.name}0" if field.name in _TAKEN else field.name, field, held) for field, held in numbers]
    types = {option: held for option, _, held in named if held is not None}
    return Kind(loss, {option: field for option, field, _ in named}, types)


def _number(hint: object) -> type | None:
    """The type of a field that holds one number or flag, be it optional (`float | None` is float); None for any other."""
    parts = [part for part in get_args(hint) if part is not NoneType] or [hint]
    return next((held for held in (float, int, bool) if parts == [held]), None)
