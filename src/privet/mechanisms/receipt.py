"""The words about the payment of a model, which came of a release: who paid, and which proof holds."""

from typing import Any

from privet.mechanisms.release import Release


def receipt(paid: Any, insecure: bool) -> list[str]:
    """The lines that say who paid, and whether the noise protects.

    >>> receipt(None, True)
    ['paid by nobody: no ledger was in force', 'INSECURE: the noise came from a seed']
    """
    lines = ["paid by nobody: no ledger was in force" if paid is None else f"paid: {paid}"]
    return [*lines, "INSECURE: the noise came from a seed"] if insecure else lines


def read_back(release: Release[Any]) -> tuple[str, ...]:
    """The note of a model that was read back from a ledger; none of one that was made now."""
    if release.stored is None:
        return ()
    return (
        f"a stored answer, read back from entry {release.stored} of the ledger: the data that were handed in were not read",
    )


def proof_of(plan: object) -> str | None:
    """The proof note that the docstring of a plan names.

    >>> from privet.mechanisms import Ball
    >>> proof_of(Ball), proof_of(3)
    (None, None)
    """
    lines = (type(plan).__doc__ or "").splitlines()
    named = next((line for line in lines if "**Proof:**" in line), "")
    return named.split("**Proof:**")[-1].strip().rstrip(".") or None
