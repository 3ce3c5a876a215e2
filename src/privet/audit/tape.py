"""Streams in a replay: their questions and answers, written down in the first world and read back in the others."""

from collections.abc import Callable
from typing import Any, NamedTuple, final

_ASKS = ("ask", "ask_number", "ask_gap", "add", "answer")  # of thresholds, and of running counts


class Asked(NamedTuple):
    """One question of a stream, what was answered, and how many positive answers were left then."""

    way: str
    question: Any
    answer: Any
    remaining: Any


@final
class Recorded:
    """A stream that writes down what it is asked.

    >>> from privet.mechanisms import AboveThreshold
    >>> stream = Recorded(AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=1e6).start())
    >>> bool(stream.ask(0.0)), [asked.question for asked in stream.tape]
    (False, [0.0])
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self.first = stream, stream.remaining
        self.tape: list[Asked] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stream, name)
        if name not in _ASKS:
            return found

        def ask(question: Any = None, **details: object) -> Any:
            answer = found(**details) if question is None else found(question, **details)
            self.tape.append(Asked(name, question, answer, self._stream.remaining))
            return answer

        return ask


@final
class Replayed:
    """A stream that answers as the first world's did. `compare(recorded, question)` is told of every question, `None` for
    one that the first world did not ask.

    >>> from privet.mechanisms import AboveThreshold
    >>> first = Recorded(AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=1e6).start())
    >>> answers = first.ask(0.0), Replayed(first, lambda recorded, question: None).ask(0.5)
    >>> answers[0] == answers[1]
    True
    """

    def __init__(self, first: Recorded, compare: Callable[[Asked | None, Any], None]) -> None:
        self._first, self._compare, self._next = first, compare, 0

    @property
    def remaining(self) -> Any:
        """As it was in the first world after as many questions."""
        done = min(self._next, len(self._first.tape))
        return self._first.tape[done - 1].remaining if done else self._first.first

    @property
    def step(self) -> int:
        """The number of counts that were taken, of a stream that counts."""
        return sum(asked.way == "add" for asked in self._first.tape[: self._next])

    @property
    def asked(self) -> int:
        """The number of questions that were asked here."""
        return self._next

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKS:
            return getattr(self._first._stream, name)

        def ask(question: object = None, **details: object) -> Any:
            here, self._next = self._next, self._next + 1
            known = self._first.tape[here] if here < len(self._first.tape) else None
            self._compare(known if known is not None and known.way == name else None, question)
            return False if known is None else known.answer

        return ask
