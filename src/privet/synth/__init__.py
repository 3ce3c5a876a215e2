"""Synthetic data: tables drawn from privately measured marginals."""

from privet._face import face
from privet.synth.evaluate import (
    Distances as Distances,
    Score as Score,
    distance as distance,
    exact_distances as exact_distances,
    exact_scores as exact_scores,
    exact_workload_error as exact_workload_error,
)
from privet.synth.graph import GraphModel as GraphModel, Measurement as Measurement
from privet.synth.mean_distance import MeanDistance as MeanDistance
from privet.synth.table_file import check_table_file as check_table_file, write_table as write_table

__all__, __dir__ = face(globals())
