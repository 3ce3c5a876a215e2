"""Private aggregation of teacher ensembles: teachers of disjoint parts, noisy votes, a student that may leave."""

from privet._face import face
from privet.pate.aggregator import Aggregator as Aggregator
from privet.pate.confident_gn_max import ConfidentGNMax as ConfidentGNMax
from privet.pate.gn_max import GNMax as GNMax
from privet.pate.gumbel_max import GumbelMax as GumbelMax
from privet.pate.interactive_gn_max import InteractiveGNMax as InteractiveGNMax
from privet.pate.ln_max import LNMax as LNMax
from privet.pate.partition import KeyedPartition as KeyedPartition
from privet.pate.planning import Majority as Majority, VotePlan as VotePlan
from privet.pate.smooth_release import SmoothRelease as SmoothRelease
from privet.pate.student import Student as Student
from privet.pate.teachers import Teachers as Teachers
from privet.pate.votes import Votes as Votes

__all__, __dir__ = face(globals())
