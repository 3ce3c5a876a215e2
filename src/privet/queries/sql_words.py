"""The words of a small part of SQL: a text cut into pieces, each of which knows where it stands."""

import re
from typing import NamedTuple, NoReturn

from privet.errors import InvalidParameter

_LONGEST = 20_000  # characters: what is longer was not typed, and would be read slowly
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*(?s:.*?)\*/)|(?P<name>[^\W\d]\w*)|(?P<quoted>"(?:[^"]|"")*")|(?P<text>'(?:[^']|'')*')"""
    r"""|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<sign><=|>=|<>|!=|[=<>(),.*;+/-])""",
    re.ASCII,
)
KEYWORDS = frozenset(
    ["SELECT", "FROM", "JOIN", "USING", "ON", "WHERE", "GROUP", "BY", "AS", "AND", "OR", "NOT", "IN", "BETWEEN", "IS"]
).union(["NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END", "LIKE"])
REMEDIES = {
    "HAVING": "groups cannot be chosen by exact values: choose among the answers, which costs nothing",
    "ORDER": "the answer is sorted by its public keys: sort it afterwards, which costs nothing",
    "LIMIT": "which rows come first is private: take the first answers afterwards, or ask table.top_k",
    "DISTINCT": "it stands in COUNT(DISTINCT column)",
    "UNION": "put tables together with table.union(other)",
    "LEFT": "only JOIN ... USING: rows without a public row are left out",
    "CASE": "it stands inside an aggregate; for keys derive a column first: table.derive(...)",
    "LIKE": "the values of a category are compared with LIKE 'begin%', texts with = or IN only",
    "OVER": "windows look at the order of rows, which is private",
    "WITH": "one SELECT at a time",
    "SELECT": "one SELECT at a time",
}


class Token(NamedTuple):
    """A piece of the text, and where it starts."""

    kind: str
    text: str
    at: int

    def is_(self, *words: str) -> bool:
        """True if it is one of these words or signs."""
        return self.kind in ("name", "sign") and self.text.upper() in words


class Words:
    """A text, read from left to right. What is not expected is refused with its line, its column and a mark below it.

    >>> words = Words("SELECT age")
    >>> words.expect("SELECT").text, words.identifier("a column").text
    ('SELECT', 'age')
    """

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise InvalidParameter(f"the SQL has more than {_LONGEST:,} characters")
        self.text = text
        self.tokens, self.place = self._cut(), 0

    def _cut(self) -> list[Token]:
        made, at = [], 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                self.refuse(at, _unknown(self.text[at]))
            if found.group() == "/" and self.text.startswith("/*", at):
                self.refuse(at, "this comment is not closed")
            if found.lastgroup != "space":
                made.append(Token(str(found.lastgroup), found.group(), at))
            at = found.end()
        return [*made, Token("end", "the end", at)]

    def refuse(self, at: int, why: object) -> NoReturn:
        """Stop, and show where."""
        before = self.text[:at]
        start = before.rfind("\n") + 1
        line = self.text[start:].split("\n", 1)[0].rstrip("\r")
        column = at - start
        shown = max(0, column - 100)  # of a long line only the part around the place
        shown_line = "".join(each if each.isprintable() else " " for each in line[shown : shown + 160])
        where = f"line {before.count(chr(10)) + 1}, column {column + 1}"
        raise InvalidParameter(f"{where}: {why}\n  {shown_line}\n  {' ' * (column - shown)}^") from None

    @property
    def next(self) -> Token:
        """The piece that comes next."""
        return self.tokens[self.place]

    def skip(self) -> int:
        """Where the inside of brackets begins that were just opened; they are passed over to their end."""
        start, depth = self.place, 1
        while depth:
            if self.next.kind == "end":
                self.unexpected("expected )")
            depth += {"(": 1, ")": -1}.get(self.take().text, 0)
        return start

    def take(self) -> Token:
        """The next piece, whatever it is."""
        token = self.next
        self.place += token.kind != "end"
        return token

    def took(self, *words: str) -> Token | None:
        """The next piece if it is one of these, else None, and nothing is taken."""
        return self.take() if self.next.is_(*words) else None

    def expect(self, *words: str) -> Token:
        """The next piece, which must be one of these."""
        return self.took(*words) or self.unexpected(f"expected {' or '.join(words)}")

    def unexpected(self, expected: str) -> NoReturn:
        """Refuse the next piece."""
        token, word = self.next, self.next.text.upper()
        if token.kind == "name" and word in REMEDIES and not expected.endswith(word):
            self.refuse(token.at, f"{word} is not understood here: {REMEDIES[word]}")
        self.refuse(token.at, f"{expected}, got {token.text[:40]}")

    def identifier(self, what: str) -> Token:
        """A name; in double quotes it may hold anything."""
        token = self.next
        if token.kind == "quoted":
            return self.take()._replace(text=token.text[1:-1].replace('""', '"'))
        if token.kind != "name" or token.text.upper() in KEYWORDS:
            self.unexpected(f"expected {what}")
        return self.take()

    def dotted(self, what: str) -> tuple[Token, ...]:
        """A name, or a table and a name."""
        first = self.identifier(what)
        return (first, self.identifier("a column")) if self.took(".") else (first,)


def _unknown(character: str) -> str:
    if character in "'\"":
        return f"this {character} is not closed"
    return f"the character {character!r} is not understood here; unusual names stand in double quotes"
