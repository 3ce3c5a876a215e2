"""Errors in the words of the command line: options instead of arguments, commands instead of calls."""

import re
from collections.abc import Sequence

from privet._calls import nearest

_CALLS = (
    (r"begin one with Ledger\.create\(url, budget=\.\.\.\)", "begin one with: privet ledger init FILE --epsilon 1"),
    (r"open a ledger with Ledger\.open\(url\)", "look at it with: privet ledger show FILE"),
    (r"Ledger\.restore\b", "privet ledger restore"),
    (r"Ledger\.open\(([^)]*)\)", "privet ledger show FILE"),
    (r"Ledger\.create\(([^)]*)\)", "privet ledger init FILE --epsilon 1"),
    (r"\bledger\.(\w+)\(([^)]*)\)", r"privet ledger \1 FILE"),
    (r"privacy\.to_json\b", "privet price --json"),
)
# Another library's arguments, such as reduction='none', stay as they are.
_ARGUMENT = re.compile(r"(?<![\w-])([a-z_][a-z_0-9]*)=(?![=\w'])(?:\.\.\.)?")
_NAMED = re.compile(r"^([a-z_][a-z_0-9]*) (must|needs|is too)\b")


def in_words(message: str, typed: Sequence[str]) -> str:
    """A sentence of the library for whoever typed these words: one line, options where it speaks of arguments.

    >>> in_words("scale must be greater than 0, got -1.0", ["price", "laplace", "--scale", "-1"])
    '--scale must be greater than 0, got -1.0'
    >>> in_words("choose a new key, and name the version with about=", [])
    'choose a new key, and name the version with --about'
    >>> in_words("take one loss a record: reduction='none'", [])
    "take one loss a record: reduction='none'"
    """
    told = " ".join(message.split())
    for call, command in _CALLS:
        told = re.sub(call, command, told)
    told = _ARGUMENT.sub(lambda found: _option(found[1]), told)
    found = _NAMED.match(told)
    given = {word.partition("=")[0] for word in typed}
    return _option(found[1]) + told[found.end(1) :] if found and _option(found[1]) in given else told


def usage_in_words(message: str, commands: Sequence[str] = ()) -> str:
    """A parser's complaint in words, with what was probably meant; `commands` are those that there are.

    >>> usage_in_words("No such command 'pric'.", ["price", "ledger"])
    "No such command 'pric'. Did you mean price?"
    >>> usage_in_words("Invalid value for 'KIND': Value error, 'gausian' is not one of 'gaussian', 'gdp'.")
    "Invalid value for 'KIND': 'gausian' is not one of 'gaussian', 'gdp'. Did you mean gaussian?"
    >>> usage_in_words("Invalid value for '--delta': Input should be a valid number, unable to parse string as a number")
    "Invalid value for '--delta': expected a number"
    """
    told = " ".join(message.split()).replace("Value error, ", "")
    told = re.sub(
        r"Input should be a valid (\w+)\b.*", lambda found: f"expected a {_KINDS.get(found[1], found[1])}", told
    )
    told = re.sub(r"'[^']*' is not a valid (float|integer range|integer)\.?", _expected, told)
    choice = re.search(r"'([^']*)' is not one of (.*?)\.?$", told)
    command = re.fullmatch(r"No such command '([^']*)'\.", told)  # newer parsers say themselves what was meant
    near = nearest(choice[1], re.findall(r"'([^']*)'", choice[2])) if choice else None
    near = nearest(command[1], commands) if command else near
    return f"{told} Did you mean {near}?" if near else told


_KINDS = {"integer": "whole number", "float": "number"}


def _expected(found: "re.Match[str]") -> str:
    return f"expected a {_KINDS.get(found[1].split()[0], found[1])}"


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
