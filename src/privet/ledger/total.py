"""The total of all entries, as if every loss had been fixed in advance: it informs, it never decides."""

from collections import Counter

from privet.accounting import Bound, epsilon
from privet.errors import NoGuarantee
from privet.ledger.policy import Policy
from privet.ledger.store import Store
from privet.privacy import Composed, Parallel, PrivacyLoss, Repeated, from_json, to_replace

Where = tuple[str, str] | None


class Totals:
    """Counts of equal losses, per part, up to an entry; reading on costs what was added since.

    >>> from privet import privacy
    >>> from privet.ledger.stores import draft
    >>> Totals().read(draft("memory:").commit()).upto
    0
    """

    def __init__(self) -> None:
        self.upto = 0
        self.counts: dict[Where, Counter[str]] = {}
        self.adopted = False

    def read(self, store: Store) -> "Totals":
        """Take in what was appended since."""
        for entry in store.entries(self.upto, ("reserve", "adopt")):
            where: Where = None
            if '"part":null' not in entry.body and entry.kind == "reserve":
                partition, part = entry.facts["part"]
                where = (partition, part)
            if entry.kind == "adopt":
                self.adopted = True
            elif entry.loss is not None:
                self.counts.setdefault(where, Counter())[entry.loss] += 1
            self.upto = entry.seq
        return self

    def loss(self, policy: Policy) -> PrivacyLoss:
        """Everything reserved, as one price; parts of a partition side by side where a person is in one of them."""
        whole = [self._composed(counts, policy) for where, counts in self.counts.items() if where is None]
        for name, partition in policy.partitions.items():
            cells = {where: counts for where, counts in self.counts.items() if where is not None and where[0] == name}
            if not cells:
                continue
            losses = [self._composed(counts, policy) for counts in cells.values()]
            if policy.unit.relation == "replace":
                side = Parallel(losses) if partition.spread(policy.unit) == 1 else Composed(losses)
                whole.append(to_replace(side))
            else:
                whole.append(Parallel(losses) if partition.spread(policy.unit) == 1 else Composed(losses))
        return Composed(whole, unit=policy.unit)

    @staticmethod
    def _composed(counts: Counter[str], policy: Policy) -> PrivacyLoss:
        return Composed(Repeated(from_json(text), n) for text, n in counts.items())

    def bound(self, policy: Policy, delta: float) -> Bound:
        """The best valid bound on the total."""
        if self.adopted:
            raise NoGuarantee("a backup was adopted: what was spent and lost with it has no record to be totalled")
        return epsilon(self.loss(policy), delta=delta)
