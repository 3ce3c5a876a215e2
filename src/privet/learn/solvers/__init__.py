"""Solvers: how a linear model is fitted privately, one algorithm a file."""

from privet._face import face
from privet.learn.solvers.boosted_ssp import BoostedFit as BoostedFit, BoostedSSP as BoostedSSP
from privet.learn.solvers.bought_norm import BoughtNorm as BoughtNorm
from privet.learn.solvers.column_moments import ColumnMoments as ColumnMoments
from privet.learn.solvers.column_ranges import ColumnRanges as ColumnRanges
from privet.learn.solvers.coordinate import CoordinateDescent as CoordinateDescent, CoordinateFit as CoordinateFit
from privet.learn.solvers.curvature_fit import CurvatureFit as CurvatureFit
from privet.learn.solvers.exponential import (
    GridExponential as GridExponential,
    GridExponentialFit as GridExponentialFit,
)
from privet.learn.solvers.frank_wolfe import FrankWolfe as FrankWolfe, FrankWolfeFit as FrankWolfeFit
from privet.learn.solvers.greedy_coordinate import (
    GreedyCoordinateDescent as GreedyCoordinateDescent,
    GreedyCoordinateFit as GreedyCoordinateFit,
)
from privet.learn.solvers.noisy_gd import NoisyGD as NoisyGD, NoisyGDFit as NoisyGDFit
from privet.learn.solvers.noisy_gram import NoisyGram as NoisyGram
from privet.learn.solvers.noisy_lloyd import NoisyLloyd as NoisyLloyd
from privet.learn.solvers.noisy_sgd import NoisySGD as NoisySGD, NoisySGDFit as NoisySGDFit
from privet.learn.solvers.objective_perturbation import (
    ObjectiveFit as ObjectiveFit,
    ObjectivePerturbation as ObjectivePerturbation,
    PureObjectiveFit as PureObjectiveFit,
)
from privet.learn.solvers.output_perturbation import OutputFit as OutputFit, OutputPerturbation as OutputPerturbation
from privet.learn.solvers.penalty import Penalty as Penalty
from privet.learn.solvers.person_fit import PersonFit as PersonFit
from privet.learn.solvers.preconditioned import Preconditioned as Preconditioned, PreconditionedFit as PreconditionedFit
from privet.learn.solvers.projected_sgd import ProjectedSGD as ProjectedSGD, ProjectedSGDFit as ProjectedSGDFit
from privet.learn.solvers.solver import (
    Solver as Solver,
    SolverExample as SolverExample,
    register_solver as register_solver,
    registered_solvers as registered_solvers,
)
from privet.learn.solvers.sufficient_statistics import (
    StatisticsFit as StatisticsFit,
    SufficientStatistics as SufficientStatistics,
)
from privet.learn.solvers.symmetric_gaussian import SymmetricGaussian as SymmetricGaussian
from privet.learn.solvers.tukey_em import TukeyEM as TukeyEM, TukeyFit as TukeyFit

__all__, __dir__ = face(globals())
