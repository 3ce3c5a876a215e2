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


SMALL = {
    local.FLH: {"pool": 4, "seed": 3},
    local.CountMeanSketch: {"depth": 2, "width": 4, "seed": 3},
    local.HadamardSketch: {"depth": 2, "width": 8, "seed": 3},
    local.RAPPOR: {"cohorts": 2, "width": 6, "seed": 5},
}
HASHED = {name: kind for name, kind in KINDS.items() if not kind.exact_supports}  # unbiased on average over hashes
PLAIN = {name: kind for name, kind in KINDS.items() if kind.exact_supports}


def made(kind: type, *, k: int = 5, epsilon: float = 1.0, **more):
    """A small protocol of this kind; Warner's has two values."""
    return kind(epsilon=epsilon, k=2 if kind is local.Warner else k, **{**SMALL.get(kind, {}), **more})
