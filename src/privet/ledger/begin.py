"""The first entry of a ledger, and its first anchor."""

from contextlib import suppress
from pathlib import Path

from privet.errors import LedgerTampered
from privet.ledger.amounts import plain_sums
from privet.ledger.anchor import Anchor, AnchorFile
from privet.ledger.entry import DATASET, canonical, linked
from privet.ledger.request import Terms
from privet.ledger.session import now
from privet.ledger.store import Store
from privet.ledger.stores import draft


def begin(url: object, terms: Terms, anchor: AnchorFile | None, timeout: float) -> Store:
    """Make the store with its `open` entry, all at once. With an anchor the entry says so, and is anchored before it
    exists: a ledger that says that it is anchored has an anchor at every moment.

    >>> from privet.ledger.budget import Budget
    >>> begin("memory:", Terms(Budget(1.0)), None, 1.0).head().kind
    'open'
    """
    if anchor is not None:
        if anchor.read() is not None:
            raise LedgerTampered(
                "the anchor belongs to another ledger; a new ledger needs a place of its own for its anchor"
            )
        anchor.probe()
    made = draft(url, timeout=timeout)
    try:
        sums = {DATASET: plain_sums(terms.zero)}
        facts = terms.facts() | {"policy": "1", "sums": sums}
        facts |= {} if anchor is None else {"anchor": {"key": anchor.expected_key()}}
        entry = linked(None, "open", body=canonical(facts))
        made.append(entry, {scope: canonical(plain) for scope, plain in sums.items()})
        if anchor is None:
            return made.commit()
        anchor.write(Anchor(facts["ledger"], entry.seq, entry.hash.hex(), sums, time=now()))
        try:
            return made.commit()
        except BaseException:
            with suppress(OSError):  # it anchors nothing
                Path(anchor.path).unlink()
            raise
    except BaseException:
        made.abandon()
        raise
