"""A CSV file whose writer had other habits than commas and points: what splits its columns, and what its numbers have."""

from typing import Any, final

from privet.errors import InvalidParameter

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@final
class CsvFile(str):
    """The path of a CSV file, or a pattern of several, with its public separator and decimal mark.

    `separator` None stands for what the name says: tabs for `.tsv`, else commas. A `decimal` comma is read in columns of
    numbers alone; a number with a point in it is then none.

    >>> file = CsvFile("visits.csv", separator=";", decimal=",")
    >>> file, file.separator, file.decimal
    ('visits.csv', ';', ',')
    """

    __slots__ = ("decimal", "separator")
    separator: str | None
    decimal: str

    def __new__(cls, path: object, *, separator: str | None = None, decimal: str | None = None) -> "CsvFile":
        made = str.__new__(cls, path)
        if separator is not None and separator not in SEPARATORS:
            raise InvalidParameter('separator must be one of "," and ";" and "|" and a tab ("\\t")')
        if decimal not in (None, ".", ","):
            raise InvalidParameter('decimal must be "." or ","')
        if decimal == "," and separator in (None, ","):
            raise InvalidParameter('a file with decimal="," has another separator: give separator=";", say')
        made.separator, made.decimal = separator, decimal or "."
        return made

    def __reduce__(self) -> Any:
        return _again, (str(self), self.separator, self.decimal)


def _again(path: str, separator: str | None, decimal: str) -> CsvFile:
    return CsvFile(path, separator=separator, decimal=decimal)


def beside(file: object, path: str) -> str:
    """Another path that is read as this file is."""
    if not isinstance(file, CsvFile):
        return path
    return CsvFile(path, separator=file.separator, decimal=file.decimal)
