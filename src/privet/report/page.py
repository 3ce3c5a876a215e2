"""Web pages of their own: templates in which every value is escaped, whatever it is and wherever it stands."""

from functools import cache
from typing import Any


@cache
def _templates() -> Any:
    """The templates of this room. Escaping is on for all of them, and a value that is forgotten is an error."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("privet.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(name: str, **facts: object) -> str:
    """The page that the template makes of these facts.

    >>> render("facts.html", facts=[("Name", "<b>")]).strip()
    '<table class="facts"><tr><td>Name</td><td>&lt;b&gt;</td></tr></table>'
    """
    return str(_templates().get_template(name).render(**facts)).strip() + "\n"
