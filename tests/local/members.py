"""Every registered protocol of frequencies, small: what the tests of the room run over."""

from decimal import Decimal

from privet import local
from privet._numerics import up
from privet.mechanisms import registered_mechanisms

KINDS = {name: kind for name, kind in registered_mechanisms().items() if issubclass(kind, local.FrequencyProtocol)}
EXAMPLES = {name: [example.mechanism for example in kind.examples()] for name, kind in KINDS.items()}


def log_of(whole: int) -> float:
    """ln of a whole number, rounded up to a double: the epsilon at which fractions are exact."""
    return up(Decimal(whole).ln())


def made(kind: type, *, k: int = 5, epsilon: float = 1.0, **more):
    """A protocol of this kind; Warner's has two values."""
    return kind(epsilon=epsilon, k=2 if kind is local.Warner else k, **more)
