"""Strategies, one file each: recipes that turn a workload into what is measured."""

from privet._face import face
from privet.workloads.strategies.cells import Cells as Cells
from privet.workloads.strategies.every_query import EveryQuery as EveryQuery
from privet.workloads.strategies.fourier import Fourier as Fourier
from privet.workloads.strategies.hierarchical import Hierarchical as Hierarchical
from privet.workloads.strategies.kronecker import Kronecker as Kronecker
from privet.workloads.strategies.optimised import Optimised as Optimised
from privet.workloads.strategies.p_identity import PIdentity as PIdentity
from privet.workloads.strategies.quadtree import Quadtree as Quadtree
from privet.workloads.strategies.residuals import ResidualTables as ResidualTables
from privet.workloads.strategies.square_root import SquareRoot as SquareRoot
from privet.workloads.strategies.wavelet import Wavelet as Wavelet

__all__, __dir__ = face(globals())
