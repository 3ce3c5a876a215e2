"""The page of the command line, read off the program itself."""

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

LEAD = """# Command line

Every command of `privet`, as the program describes itself; `privet COMMAND --help` says the same. `--json` gives an
answer for programs, on a clean standard output.
"""


def commands(command: Any, path: tuple[str, ...] = ("privet",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command below this one, with the words that call it."""
    inner = getattr(command, "commands", {})
    if not inner:
        yield path, _with_options(command)
    for name, each in inner.items():
        if not each.hidden:
            yield from commands(each, (*path, name))


def _with_options(command: Any) -> Any:
    """Commands that take a release make their options when they run; here they are made at once."""
    if not command.context_settings.get("ignore_unknown_options"):
        return command
    from privet.cli.release import _typed

    function = inspect.getclosurevars(inspect.unwrap(command.callback)).nonlocals["function"]
    whole = typer.Typer(add_completion=False)
    whole.command(help=command.help, epilog=command.epilog)(_typed(function))
    return get_command(whole)


def _cell(text: str) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")


def _code(names: str) -> str:
    """The words that are typed; a long list of choices may wrap between two of them."""
    flag, _, choices = names.partition(" <")
    told = f"`{flag}`"
    if "|" not in choices:
        return f"`{names}`"
    return f"{told} " + ", ".join(f"`{each}`" for each in choices.rstrip(">").split("|"))


def _rows(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            yield record
        else:
            yield parameter.make_metavar(context), getattr(parameter, "help", "") or ""


def section(path: tuple[str, ...], command: Any) -> str:
    """One command: how it is called, what it says of itself, and its options."""
    context = command.make_context(" ".join(path), [], resilient_parsing=True)
    usage = " ".join([*path, *command.collect_usage_pieces(context)])
    told = (command.help or "").replace("\b", "").strip()
    listed = _rows(command, context)
    rows = "".join(f"| {_code(names)} | {_cell(about)} |\n" for names, about in listed)
    table = f"| option | meaning |\n|---|---|\n{rows}" if rows else ""
    calls = "\n".join(
        line.strip().removeprefix("Example: ") for line in (command.epilog or "").splitlines() if "privet " in line
    )
    shown = f"```sh\n{calls}\n```\n\n" if calls else ""
    return f"### `{' '.join(path[1:])}`\n\n```text\n{usage}\n```\n\n{_prose(told)}\n\n{shown}{table}\n"


def _prose(told: str) -> str:
    """Help texts are written for a terminal; a line that shows a call becomes code."""
    lines = []
    for line in told.splitlines():
        call = line.strip()
        lines.append(f"\n```console\n{call}\n```\n" if call.startswith("$ privet") else call.replace("<", "&lt;"))
    return "\n".join(lines)


def page() -> str:
    """The whole page, a heading for each group of commands."""
    from privet.cli import app

    text, group = LEAD, None
    for path, command in commands(get_command(app)):
        here = path[1] if len(path) > 2 else "first"
        if here != group:
            group = here
            text += "\n## Commands\n\n" if here == "first" else f"\n## `privet {here}`\n\n"
        text += section(path, command)
    return text
