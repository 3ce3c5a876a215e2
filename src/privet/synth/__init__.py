"""Synthetic data: tables drawn from privately measured marginals."""

from privet._face import face
from privet.synth.aim import AIM as AIM, AIMPlan as AIMPlan
from privet.synth.best import Best as Best, best as best
from privet.synth.constraints import (
    AtMost as AtMost,
    Constraint as Constraint,
    Derived as Derived,
    Forbidden as Forbidden,
    code_of as code_of,
)
from privet.synth.count_table import CountTable as CountTable
from privet.synth.evaluate import (
    Distances as Distances,
    Score as Score,
    distance as distance,
    exact_distances as exact_distances,
    exact_scores as exact_scores,
    exact_workload_error as exact_workload_error,
)
from privet.synth.graph import GraphModel as GraphModel, Measurement as Measurement
from privet.synth.independent import Independent as Independent, IndependentPlan as IndependentPlan
from privet.synth.linear_query import LinearQuery as LinearQuery
from privet.synth.marginal_workload import MarginalWorkload as MarginalWorkload
from privet.synth.mean_distance import MeanDistance as MeanDistance
from privet.synth.model_file import load as load, save as save
from privet.synth.mst import MST as MST, MSTPlan as MSTPlan
from privet.synth.mwem import MWEM as MWEM, MWEMPlan as MWEMPlan
from privet.synth.mwem_graph import MWEMGraph as MWEMGraph, MWEMGraphPlan as MWEMGraphPlan
from privet.synth.privacy import SynthesisPrivacy as SynthesisPrivacy
from privet.synth.reconcile import reconcile as reconcile
from privet.synth.small_db import SmallDB as SmallDB, SmallDBPlan as SmallDBPlan
from privet.synth.synthesizer import Synthesizer as Synthesizer
from privet.synth.synthetic_model import SyntheticModel as SyntheticModel
from privet.synth.synthetic_table import SyntheticTable as SyntheticTable
from privet.synth.table_file import check_table_file as check_table_file, write_table as write_table
from privet.synth.task import Task as Task

__all__, __dir__ = face(globals())
