"""The graphical model: junction tree, belief propagation, mirror descent, answers and rows. Numbers in, numbers out."""

from privet._face import face
from privet.synth.graph.junction_tree import (
    Clique as Clique,
    JunctionTree as JunctionTree,
    junction_tree as junction_tree,
    tree_cells as tree_cells,
)
from privet.synth.graph.measurement import (
    Measurement as Measurement,
    Total as Total,
    combined as combined,
    least_variance_total as least_variance_total,
)
from privet.synth.graph.mirror_descent import fitted as fitted
from privet.synth.graph.model import GraphModel as GraphModel
from privet.synth.graph.sampler import Coins as Coins, rounded as rounded, sampled as sampled
from privet.synth.graph.simplex import onto_simplex as onto_simplex
from privet.synth.graph.tree_plan import TreePlan as TreePlan

__all__, __dir__ = face(globals())
