"""The kinds of release that can be typed, read off the registered prices: a new price is found by itself.

A price can be typed if every field of it is a number or a flag; the options are its fields. Whatever else there is (pairs,
curves, compositions) comes by `--json-loss`. numpy loads with the prices, so options are made when a command runs, and
`privet --help` does without.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import typer

from privet.cli.losses import RelationName, Release

if TYPE_CHECKING:
    from privet.privacy import PrivacyLoss

_RELEASE = "What is released"
_SAMPLING = "On whom and how often"
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


def whole_number(text: str) -> int:
    """A count as people write it: 10000, 10_000 or 1e4.

    >>> whole_number("1e4"), whole_number("10_000")
    (10000, 10000)
    """
    try:
        return int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            number = 0.5
        if not number.is_integer():
            raise typer.BadParameter(f"{text!r} is not a whole number") from None
        return int(number)


def _option(name: str, kind: type, about: str, panel: str) -> Any:
    flag = "--" + name.replace("_", "-")
    if kind is int:
        made = typer.Option(flag, help=about, parser=whole_number, metavar="INTEGER", rich_help_panel=panel)
    else:
        made = typer.Option(flag, help=about, rich_help_panel=panel)
    return Annotated[kind | None, made]


def _of_kinds() -> dict[str, Any]:
    """An option for every name that a kind takes, with the help that stands beside its field."""
    told: dict[str, dict[str, list[str]]] = {}
    types: dict[str, type] = {}
    for kind_name, kind in kinds().items():
        for name, field in kind.options.items():
            usual = "" if field.default in (MISSING, None, False) else f" (default {field.default})"
            about = field.metadata.get("help", f"its {field.name.replace('_', ' ')}") + usual
            told.setdefault(name, {}).setdefault(about, []).append(kind_name)
            types[name] = float if float in (types.get(name), kind.types[name]) else kind.types[name]
    return {
        name: _option(
            name, types[name], ". ".join(f"{', '.join(who)}: {what}" for what, who in about.items()), _RELEASE
        )
        for name, about in told.items()
    }


def _release_options() -> dict[str, Any]:
    """The options that describe a release, as annotations of arguments."""
    about = "Read the release from a file instead: a loss as JSON."
    file = typer.Option(help=about, metavar="FILE", rich_help_panel=_RELEASE)
    relation = typer.Option(
        help="What one person is: a record added or removed, replaced, or blanked.",
        rich_help_panel=_SAMPLING,
        show_default="the usual one of the kind",
    )
    names = Literal[tuple(kinds())]  # type: ignore[valid-type]
    return {
        "kind": Annotated[names | None, typer.Argument(help="Kind of release.", show_default=False)],
        "json_loss": Annotated[Path | None, file],
        **_of_kinds(),
        "q": _option("q", float, "Poisson sampling: each record takes part with this probability.", _SAMPLING),
        "sample_size": _option("sample_size", int, "Sampling without replacement: so many records ...", _SAMPLING),
        "population": _option("population", int, "... out of so many (priced for replacing a record).", _SAMPLING),
        "steps": _option("steps", int, "How many times (default 1).", _SAMPLING),
        "relation": Annotated[RelationName | None, relation],
    }


Command = Callable[..., None]


def release_command(group: typer.Typer, *, epilog: str) -> Callable[[Command], Command]:
    """Decorator: a command whose argument `release` is typed as a kind with its options, which are made when it runs."""
    passed_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

    def register(function: Command) -> Command:
        told: dict[str, Any] = {"help": function.__doc__, "epilog": epilog}

        @group.command(function.__name__, **told, add_help_option=False, context_settings=passed_on)
        def run(context: typer.Context) -> None:
            inner = typer.Typer(
                add_completion=False,
                pretty_exceptions_enable=False,
                context_settings={"help_option_names": ["-h", "--help"]},
            )
            inner.command(**told)(_typed(function))
            inner(args=context.args, prog_name=context.command_path)

        return function

    return register


def _typed(function: Command) -> Command:
    """The function with the options of a release in place of its argument `release`."""
    options = _release_options()
    arguments: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        new = options if parameter.name == "release" else {parameter.name: parameter.annotation}
        arguments.update(new)
    defaults = {name: p.default for name, p in inspect.signature(function).parameters.items()}
    only = inspect.Parameter.KEYWORD_ONLY

    def typed(**values: Any) -> None:
        release = Release.from_options({name: values.pop(name) for name in options})
        function(release=release, **values)

    signature = [
        inspect.Parameter(name, only, annotation=annotation, default=defaults.get(name))
        for name, annotation in arguments.items()
    ]
    typed.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    typed.__annotations__ = arguments
    return typed
