"""Loops over many numbers: in numpy, or compiled where the extra `fast` (numba) is installed and that pays."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast, final

Function = TypeVar("Function", bound=Callable[..., Any])


@final
class Compiled(Generic[Function]):
    """One function in two ways that give the same bits: on whole arrays by numpy, and one number after the other by a
    loop that numba compiles.

    Numba takes about a second to start and to compile: as long as numpy loses with `WORTH` numbers. So a process that
    works on fewer never compiles, and one that works on many loses a second. Where numba is switched off or broken, or
    cannot compile the loop, numpy does it: loops raise nothing, so one that fails has not begun.

    >>> def twice(numbers: Any) -> None:
    ...     numbers *= 2
    >>> def twice_by_one(numbers: Any) -> None:
    ...     for i in range(len(numbers)):
    ...         numbers[i] *= 2
    >>> Compiled(twice, twice_by_one).of(1000) is twice
    True
    """

    WORTH = 1 << 28  # numbers: a second of numba, and five nanoseconds of numpy each

    def __init__(self, in_numpy: Function, by_one: Function) -> None:
        self.in_numpy, self.by_one, self._seen = in_numpy, by_one, 0
        self._machine_code: Function | None = None

    def of(self, count: int) -> Function:
        """The way to go for so many more numbers."""
        if self._machine_code is not None:
            return self._machine_code
        self._seen += count
        if self._seen < self.WORTH or (compiler := _numba()) is None:
            return self.in_numpy
        self._machine_code = made = self._or_in_numpy(compiler.njit(nogil=True)(self.by_one))
        return made

    def _or_in_numpy(self, machine_code: Function) -> Function:
        """The loop in machine code, or in numpy where it cannot be made: it is compiled for the types of its first call, in
        the middle of a release, which must not fail."""

        def either(*given: Any) -> Any:
            try:
                return machine_code(*given)
            except Exception:
                self._machine_code = self.in_numpy
                return self.in_numpy(*given)

        return cast(Function, either)


@lru_cache(maxsize=1)
def _numba() -> Any:
    """Numba, or None. Switched off (`NUMBA_DISABLE_JIT`) it would run loops as Python, a thousand times slower than numpy
    and by its rules: there the product of a number in float32 and a float is one in float32.
    """
    try:
        import numba
    except Exception:  # one that does not fit the numpy that is there fails in many ways
        return None
    switches: Any = numba.config  # set from the environment: no checker knows their names
    return None if switches.DISABLE_JIT else numba
