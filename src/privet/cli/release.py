"""Commands that take a release: a kind with its options, read off the registered prices.

numpy loads with the prices, so these options are made when a command runs, and `privet --help` does without.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from privet._calls import nearest
from privet.cli.app import COMPLETING, Commands
from privet.cli.described import described
from privet.cli.kinds import kinds
from privet.cli.losses import RelationName, Release

_RELEASE = "What is released"
_SAMPLING = "On whom and how often"


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


def kind_of_release(text: str) -> str:
    """The kind that was typed; what is none is answered with the nearest.

    >>> kind_of_release("laplace")
    'laplace'
    """
    known = kinds()
    name = text.replace("_", "-").lower()
    if name in known:
        return name
    near = nearest(name, known)
    meant = f": did you mean {near}?" if near else "."
    raise typer.BadParameter(f"{text!r} is no kind of release{meant} The kinds are {', '.join(known)}")


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
    kind = typer.Argument(
        help=f"Kind of release: {', '.join(kinds())}.",
        metavar="KIND",
        show_default=False,
        parser=kind_of_release,
        autocompletion=lambda: list(kinds()),
    )
    return {
        "kind": Annotated[str | None, kind],
        "json_loss": Annotated[Path | None, file],
        **_of_kinds(),
        "q": _option("q", float, "Poisson sampling: each record takes part with this probability.", _SAMPLING),
        "sample_size": _option("sample_size", int, "Sampling without replacement: so many records ...", _SAMPLING),
        "population": _option("population", int, "... out of so many (priced for replacing a record).", _SAMPLING),
        "shuffled": _option(
            "shuffled", int, "Local reports, shuffled: one of each of so many people (replacing one).", _SAMPLING
        ),
        "steps": _option("steps", int, "How many times (default 1).", _SAMPLING),
        "relation": Annotated[RelationName | None, relation],
    }


Command = Callable[..., None]


def release_command(group: typer.Typer, *, epilog: str) -> Callable[[Command], Command]:
    """Decorator: a command whose argument `release` is typed as a kind with its options, which are made when it runs."""
    passed_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

    def register(function: Command) -> Command:
        told: dict[str, Any] = {"help": function.__doc__, "epilog": epilog}
        if COMPLETING:
            group.command(function.__name__, **told)(_typed(function))
            return function

        @group.command(function.__name__, **told, add_help_option=False, context_settings=passed_on)
        def run(context: typer.Context) -> None:
            inner = Commands(
                add_completion=False,
                pretty_exceptions_enable=False,
                context_settings={"help_option_names": ["-h", "--help"]},
            )
            inner.command(**told)(_typed(function))
            code = inner(args=context.args, prog_name=context.command_path, standalone_mode=False)
            if isinstance(code, int) and code:
                raise typer.Exit(code)

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

    def typed(**values: object) -> None:
        release = Release.from_options({name: values.pop(name) for name in options})
        function(release=release, **values)

    signature = [
        inspect.Parameter(name, only, annotation=annotation, default=defaults.get(name))
        for name, annotation in arguments.items()
    ]
    typed.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    typed.__annotations__ = arguments
    return cast(Command, described(typed))
