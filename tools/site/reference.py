"""Pages of the reference: every public name of a room, in the order of `reference.toml`."""

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from privet._face import face

HEADING = "## {}\n\n{}\n"
ROOM = re.compile(r"^::: (privet[\w.]+)$", re.MULTILINE)


def rooms() -> list[dict[str, Any]]:
    """What `reference.toml` says, room by room."""
    return tomllib.loads((Path(__file__).parent / "reference.toml").read_text(encoding="utf-8"))["rooms"]


def public(module: str) -> list[str]:
    """The public names of a room, asked of the room itself: they are read off its imports, which no parser does."""
    return face(vars(import_module(module)))[0]


def asked_for(module: str, names: list[str]) -> str:
    """The lines that make the docstring reader show these names."""
    return f"::: {module}\n    options:\n      members: {json.dumps(names)}\n"


def grouped(room: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    """Heading, module and names of every group; what no group names comes under "More"."""
    module = room["module"]
    left = dict.fromkeys(public(module))
    groups = []
    for group in room.get("groups", []):
        names = [name for name in group["names"] if name in left]
        for name in names:
            del left[name]
        groups.append((group["title"], module, names))
    # A name that a part of the room shows at length is not shown twice.
    parts = {part: public(part) for part in room.get("rooms", [])}
    shown = {name for _, _, names in groups for name in names}
    inside = {name for names in parts.values() for name in names}
    rest = [name for name in left if name not in inside]
    groups.append(("More" if groups else "", module, rest))
    groups += [(part, part, [name for name in names if name not in shown]) for part, names in parts.items()]
    return [group for group in groups if group[2]]


def page(room: dict[str, Any]) -> str:
    """The page of one room."""
    text = f"# {room['module']}\n\n**{room['title']}.** {room['lead']}\n\n"
    for heading, module, names in grouped(room):
        title = f"`{heading}`" if heading.startswith("privet.") else heading
        text += HEADING.format(title, asked_for(module, names)) if heading else asked_for(module, names)
        text += "\n"
    return text


def filled(text: str) -> str:
    """A page that was written by hand: a line `::: privet.room` gets the public names of that room."""
    return ROOM.sub(lambda found: asked_for(found[1], public(found[1])), text)


def write(folder: Path) -> list[Path]:
    """Write the page of every room that has public names; the paths, in order. A page that lies there already stays."""
    written = []
    for room in rooms():
        path = folder / f"{room['module'].removeprefix('privet.')}.md"
        if public(room["module"]):
            text = filled(path.read_text(encoding="utf-8")) if path.is_file() else page(room)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written
