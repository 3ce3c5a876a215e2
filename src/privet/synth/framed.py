"""The mixin of what has columns of one length: data frames of three libraries."""

from typing import Any

from privet.mechanisms.frames import to_arrow, to_pandas, to_polars


class Framed:
    """Base of tables that people take elsewhere; `columns()` says what is in them.

    >>> class Two(Framed):
    ...     def columns(self) -> dict[str, Any]:
    ...         return {"n": [3, 4]}
    >>> Two().to_arrow().num_rows
    2
    """

    def columns(self) -> dict[str, Any]:
        """The columns by name."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return to_pandas(self)

    def to_polars(self) -> Any:
        """A Polars data frame."""
        return to_polars(self)

    def to_arrow(self) -> Any:
        """An Arrow table."""
        return to_arrow(self)
