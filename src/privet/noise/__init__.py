"""Exact noise: secure random bits, samplers whose law is the theorem's law, and the fixed-point grid.

Every sampler is exact: the law of its output is the stated one, without truncation, rounding or a delta for either.
Parameters are keyword-only; an int, a float (the rational it stands for) or a Fraction.

>>> from privet import noise
>>> noise.discrete_gaussian(sigma=10.0, size=1_000).shape
(1000,)
"""

from privet.noise.argmax import argmax_exponential, argmax_gumbel, argmax_laplace
from privet.noise.base import Secure, Seeded, Source, current
from privet.noise.bernoulli import bernoulli
from privet.noise.bernoulli_exp import bernoulli_exp
from privet.noise.choice import choice_log
from privet.noise.choice_exp import choice_exp
from privet.noise.cks import cks_discrete_gaussian, cks_discrete_laplace
from privet.noise.discrete_gaussian import discrete_gaussian
from privet.noise.discrete_laplace import discrete_laplace
from privet.noise.geometric import geometric
from privet.noise.grid import Grid
from privet.noise.permutation import permutation
from privet.noise.rounded_cauchy import rounded_cauchy
from privet.noise.rounded_gaussian import rounded_gaussian
from privet.noise.rounded_laplace import rounded_laplace
from privet.noise.rounded_staircase import rounded_staircase
from privet.noise.uniform_int import uniform_int

__all__ = [
    "Grid",
    "Secure",
    "Seeded",
    "Source",
    "argmax_exponential",
    "argmax_gumbel",
    "argmax_laplace",
    "bernoulli",
    "bernoulli_exp",
    "choice_exp",
    "choice_log",
    "cks_discrete_gaussian",
    "cks_discrete_laplace",
    "current",
    "discrete_gaussian",
    "discrete_laplace",
    "geometric",
    "permutation",
    "rounded_cauchy",
    "rounded_gaussian",
    "rounded_laplace",
    "rounded_staircase",
    "uniform_int",
]
