"""Private aggregation of teacher ensembles: teachers of disjoint parts, noisy votes, a student that may leave."""

from privet._face import face, installed
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

if installed("torch"):
    from privet.pate.gans.g_pate import GPATE as GPATE, GPATEPlan as GPATEPlan
    from privet.pate.gans.generated_model import GeneratedModel as GeneratedModel, load_generator as load_generator
    from privet.pate.gans.image_task import Images as Images
    from privet.pate.gans.pate_gan import PATEGAN as PATEGAN, PATEGANPlan as PATEGANPlan
    from privet.pate.student_network import StudentNetwork as StudentNetwork

_WITH_TORCH = (
    "GPATE",
    "GPATEPlan",
    "GeneratedModel",
    "Images",
    "PATEGAN",
    "PATEGANPlan",
    "StudentNetwork",
    "load_generator",
)
__all__, __dir__ = face(globals(), partly=dict.fromkeys(_WITH_TORCH, "torch"))
