"""Searching for a violation: runs, what can be seen in them, events."""

from privet.audit.search.atoms import Flags as Flags, Odds as Odds
from privet.audit.search.choosing import Candidate as Candidate, Tallies as Tallies
from privet.audit.search.classifier import (
    Classifier as Classifier,
    Learned as Learned,
    TimeGivenValue as TimeGivenValue,
    Tree as Tree,
)
from privet.audit.search.copies import twin_of as twin_of
from privet.audit.search.crew import Crew as Crew
from privet.audit.search.encoder import (
    Encoder as Encoder,
    direction_of as direction_of,
    fit as fit,
    targets_of as targets_of,
)
from privet.audit.search.events import (
    KINDS as KINDS,
    RELATIONS as RELATIONS,
    Event as Event,
    Tally as Tally,
    kind_of as kind_of,
    tally as tally,
)
from privet.audit.search.features import lowest_set_bit as lowest_set_bit
from privet.audit.search.held import held as held
from privet.audit.search.independence import dependence as dependence, differs as differs
from privet.audit.search.learning import crossed as crossed, learn as learn, learnable as learnable
from privet.audit.search.reading import CUT as CUT, Reading as Reading, read as read
from privet.audit.search.rows import Marks as Marks
from privet.audit.search.running import (
    Subject as Subject,
    observe as observe,
    observe_both as observe_both,
    reusable as reusable,
    runner_of as runner_of,
    usual_released as usual_released,
)
from privet.audit.search.strain import Strain as Strain
from privet.audit.search.worlds import Part as Part, World as World
