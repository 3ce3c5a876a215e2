"""The audit as a law: a mechanism's own examples must survive the referee."""

import time

from privet.audit import Pairs
from privet.audit import mechanism as audit_mechanism
from privet.mechanisms import Example, registered_mechanisms

__all__ = ["assert_every_mechanism_has_examples", "check_survives_audit"]

_FEWEST, _MOST, _PILOT = 3_000, 20_000, 300
_SECONDS = 0.15  # of CPU time for one world


def check_survives_audit(example: Example, *, runs: int | None = None, alpha: float = 1e-6) -> None:
    """The price of the example is not refuted on its pair of neighbours.

    By default 20,000 runs a world, or fewer (at least 3,000) where simulating takes long. **Guarantee:** a sound mechanism
    fails with probability at most `alpha`.

    >>> from privet import mechanisms
    >>> check_survives_audit(next(iter(mechanisms.Laplace.examples())))
    """
    found = audit_mechanism(
        example.mechanism,
        neighbours=Pairs([(example.left, example.right)], checked=False),  # a unit may have several rows
        runs=_affordable(example) if runs is None else runs,
        alpha=alpha,
    )
    assert found.verdict == "not refuted", str(found)


def _affordable(example: Example) -> int:
    start = time.process_time()
    example.mechanism.simulate(example.left, _PILOT)
    each = (time.process_time() - start) / _PILOT
    return int(min(max(_SECONDS / max(each, 1e-9), _FEWEST), _MOST))


def assert_every_mechanism_has_examples() -> None:
    """Every registered mechanism brings examples, each with two different inputs: else nothing would audit it.

    >>> assert_every_mechanism_has_examples()
    """
    for name, kind in registered_mechanisms().items():
        examples = list(kind.examples())
        assert examples, f"{name} has no examples: add pairs of neighbouring inputs that strain it"
        for example in examples:
            assert repr(example.left) != repr(example.right), f"{name}: an example with two equal inputs audits nothing"
