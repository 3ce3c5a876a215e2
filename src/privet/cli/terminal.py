"""Terminals that know no more than ASCII: signs that they cannot show become letters, instead of an error."""

import codecs
import sys
import unicodedata

_LETTERS = {
    "×": "x",
    "δ": "delta",
    "ε": "epsilon",
    "μ": "mu",
    "ρ": "rho",
    "∞": "inf",
    "≤": "<=",
    "≥": ">=",
    "±": "+-",
    "—": "-",
    "–": "-",
    "−": "-",
    "…": "...",
    "·": ".",
    "•": "*",
    "’": "'",
    "─": "-",
    "━": "-",
    "│": "|",
}


def in_letters(problem: UnicodeError) -> tuple[str, int]:
    """The handler of encoding errors: what stands for the signs that cannot be written.

    >>> "10 × é, δ ≤ ∞ ☃".encode("ascii", "privet").decode()
    '10 x e, delta <= inf ?'
    """
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    signs = problem.object[problem.start : problem.end]
    return "".join(_LETTERS.get(sign) or _plainer(sign) for sign in signs), problem.end


def _plainer(sign: str) -> str:
    return "".join(part for part in unicodedata.normalize("NFKD", sign) if part.isascii()) or "?"


codecs.register_error("privet", in_letters)


def write_anywhere() -> None:
    """Let standard output and error write whatever the terminal can show."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.errors in ("strict", "backslashreplace"):
            stream.reconfigure(errors="privet")
