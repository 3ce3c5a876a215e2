"""Solvers: how a linear model is fitted privately, one algorithm a file."""

from privet._face import face
from privet.learn.solvers.columns import Penalty as Penalty
from privet.learn.solvers.coordinate import CoordinateDescent as CoordinateDescent, CoordinateFit as CoordinateFit
from privet.learn.solvers.frank_wolfe import FrankWolfe as FrankWolfe, FrankWolfeFit as FrankWolfeFit
from privet.learn.solvers.greedy_coordinate import (
    GreedyCoordinateDescent as GreedyCoordinateDescent,
    GreedyCoordinateFit as GreedyCoordinateFit,
)
from privet.learn.solvers.noisy_gd import NoisyGD as NoisyGD, NoisyGDFit as NoisyGDFit
from privet.learn.solvers.noisy_sgd import NoisySGD as NoisySGD, NoisySGDFit as NoisySGDFit
from privet.learn.solvers.objective_perturbation import (
    ObjectiveFit as ObjectiveFit,
    ObjectivePerturbation as ObjectivePerturbation,
    PureObjectiveFit as PureObjectiveFit,
)
from privet.learn.solvers.output_perturbation import OutputFit as OutputFit, OutputPerturbation as OutputPerturbation
from privet.learn.solvers.preconditioned import Preconditioned as Preconditioned, PreconditionedFit as PreconditionedFit
from privet.learn.solvers.solver import Solver as Solver

__all__, __dir__ = face(globals())
