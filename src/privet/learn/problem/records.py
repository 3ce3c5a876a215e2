"""Private records, the rows and targets of a fit: the contract of whatever holds them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, final

from privet.errors import InvalidParameter


class Chunk(NamedTuple):
    """Some of the records: rows (an array, or a CSR matrix), their targets (None where a fit has none), and the numbers of
    their persons (None where records are not about persons); those of one person stand together, maybe in two chunks."""

    rows: Any
    targets: Any
    persons: Any = None


class Records(ABC):
    """Rows of numbers and their targets, one record each: in memory, or streamed from a table. What they hold is not
    shown and not pickled.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def columns(self) -> int:
        """The number of columns: public, as a part of the schema."""

    @property
    @abstractmethod
    def target_kind(self) -> str | None:
        """The kind of numpy's dtype of the targets ("f", "i", "U", "O"...): public. None where there are none."""

    @property
    def sparse(self) -> bool:
        """True if rows are CSR matrices: public."""
        return False

    @property
    def length(self) -> int | None:
        """The number of records, where that is known without reading them: public only where records are exchanged for
        others."""
        return None

    @property
    def about_persons(self) -> bool:
        """True if chunks say whose records they are: public."""
        return False

    @property
    def unbounded(self) -> bool:
        """True if these are rows of persons of which nobody has chosen a bounded number yet: no fit of rows
        takes them."""
        return False

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """The records in pieces, each time in the same order: not releasable."""

    @property
    def apart(self) -> bool:
        """True if they lie in pieces on several machines, and do not come here: then there are totals alone."""
        return False

    @property
    def kept(self) -> bool:
        """True if what is made of all of them may be kept in memory: as far as they are there themselves."""
        return True

    def exact_added(self, part: Callable[["Records"], Any]) -> Any:
        """The result of `part` on all records; of records in pieces the sum of what it makes of each piece, so it must
        be a sum over records (an array, or a tuple of such). Not releasable."""
        return part(self)

    @final
    def __repr__(self) -> str:
        return f"<private records with {self.columns} columns>"

    @final
    def __reduce__(self) -> Any:
        raise InvalidParameter("private records are not pickled")
