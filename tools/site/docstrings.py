"""Docstrings made ready for a page: examples as code, statements on lines of their own, parameters described.

Docstrings are written for a terminal. This extension of the docstring reader (griffe) fences their examples, which
Markdown would take for quotations, and adds what a name of a parameter means from `parameters.toml`: one word has one
meaning in privet, so it is described once.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from griffe import Extension, GriffeLoader, Module

STATEMENTS = ("Guarantee", "Sensitivity", "Error", "Errors", "Reference", "References", "Proof", "Assumption", "Cost")
STATEMENT = re.compile(rf"(?<=\S)\s+(?=\*\*(?:{'|'.join(STATEMENTS)})\b[^*]*\*\*)")
PROOF = re.compile(r"`?\bdocs/proofs/([\w/-]+)\.md`?")


def fenced(text: str) -> str:
    """The text with each example, from `>>>` to the next empty line, inside a fence."""
    lines, inside, inside_fence = [], False, False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            inside_fence = not inside_fence
        starts = line.lstrip().startswith(">>>") and not inside_fence
        if starts and not inside:
            indent = line[: len(line) - len(line.lstrip())]
            lines += ["", f"{indent}```pycon"] if lines and lines[-1].strip() else [f"{indent}```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append(f"{indent}```")
            inside = False
        lines.append(line.replace("<BLANKLINE>", "") if inside else line)
    return "\n".join([*lines, f"{indent}```"] if inside else lines)


def in_lines(text: str) -> str:
    """Statements such as **Guarantee:** begin a paragraph; a proof that is named becomes a link."""
    prose = re.split(r"(```.*?```|`[^`]*`(?!\w))", STATEMENT.sub("\n\n", text), flags=re.DOTALL)
    for place in range(0, len(prose), 2):
        # A pair of brackets is a reference for the docstring reader; in our texts it never is, unless a link follows.
        apart = re.sub(r"\[(?=[^\]\n]*\](?!\())", r"\\[", prose[place])
        # Pages of the reference lie one folder deep, and a page is a folder of its own.
        prose[place] = PROOF.sub(r"[`proofs/\1`](../proofs/\1.md)", apart)
    for place in range(1, len(prose), 2):
        if named := PROOF.fullmatch(prose[place]):
            prose[place] = named.expand(r"[`proofs/\1`](../proofs/\1.md)")
    return "".join(prose)


@cache
def parameters() -> dict[str, dict[str, str]]:
    """What a parameter's name means: everywhere, in one room, and of one name."""
    return tomllib.loads((Path(__file__).parent / "parameters.toml").read_text(encoding="utf-8"))


def meaning(room: str, owner: str, name: str) -> str | None:
    """What the parameter `name` of `owner` means; the narrower list goes before the wider."""
    known = parameters()
    here = known["names"].get(f"{owner}.{name}") or known.get(room, {}).get(name)
    return here or known["parameters"].get(name)


def described(room: str, owner: str, names: list[str]) -> str:
    """The section of the docstring that describes those parameters that the list of meanings knows."""
    lines = [f"    {name}: {told}" for name in names if (told := meaning(room, owner, name))]
    return "\n\nArgs:\n" + "\n".join(lines) if lines else ""


def _fields(member: Any) -> list[str]:
    """The fields of a dataclass, those of its bases first, which the docstring reader completes only later."""
    if not any("dataclass" in str(each.value) for each in member.decorators):
        return []
    own = [(name, each) for name, each in member.members.items() if each.is_attribute and each.annotation is not None]
    kept = [(name, each) for name, each in own if "property" not in each.labels and not name.startswith("_")]
    fields = [
        name for name, each in kept if "ClassVar" not in str(each.annotation) and "init=False" not in str(each.value)
    ]
    inherited = [name for base in member.resolved_bases if base.is_class for name in _fields(base)]
    return list(dict.fromkeys([*inherited, *fields]))


class Ready(Extension):
    """Rewrites every docstring of the package before it is parsed."""

    def on_package(self, *, pkg: Module, loader: GriffeLoader, **_: Any) -> None:
        self._visit(pkg, set())

    def _visit(self, thing: Any, seen: set[str]) -> None:
        for name, member in list(thing.members.items()):
            if member.is_alias or member.path in seen:
                continue
            seen.add(member.path)
            if member.is_module:
                member.docstring = None  # a page of the reference has a lead of its own, above its groups
            elif member.docstring is not None:
                member.docstring.value = in_lines(fenced(member.docstring.value)) + self._arguments(name, member, thing)
            if member.is_module or member.is_class:
                self._visit(member, seen)

    @staticmethod
    def _arguments(name: str, member: Any, owner: Any) -> str:
        if "\nArgs:" in member.docstring.value or not (member.is_class or member.is_function):
            return ""
        found = [each.name for each in member.parameters if each.name not in ("self", "cls")]
        if member.is_class and not found:
            found = _fields(member)
        owners = name if member.is_class or owner.is_module else f"{owner.name}.{name}"
        return described(member.path.split(".")[1], owners, found)
