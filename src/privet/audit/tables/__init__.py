"""Tables: how easily people are found again in them. Exact figures for the custodian, never releasable."""

from privet.audit.tables.identifying import (
    IdentifyingSets as IdentifyingSets,
    exact_identifying_sets as exact_identifying_sets,
)
from privet.audit.tables.linkage import Linkage as Linkage, exact_linkage as exact_linkage
from privet.audit.tables.pseudonyms import (
    Pseudonyms as Pseudonyms,
    exact_pseudonyms as exact_pseudonyms,
    spellings as spellings,
)
from privet.audit.tables.reidentification import (
    Diversity as Diversity,
    Reidentification as Reidentification,
    exact_reidentification as exact_reidentification,
)
