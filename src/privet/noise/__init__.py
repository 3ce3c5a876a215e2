"""Exact noise: secure random bits, samplers whose law is the theorem's law, and the fixed-point grid.

Every sampler is exact: the law of its output is the stated one, without truncation, rounding or a delta for either.
Parameters are keyword-only; an int, a float (the rational it stands for) or a Fraction.

>>> from privet import noise
>>> noise.discrete_gaussian(sigma=10.0, size=1_000).shape
(1000,)
"""

from privet._face import face
from privet.noise.argmax import (
    argmax_exponential as argmax_exponential,
    argmax_gaussian as argmax_gaussian,
    argmax_gumbel as argmax_gumbel,
    argmax_laplace as argmax_laplace,
)
from privet.noise.ball import ball as ball
from privet.noise.bernoulli import bernoulli as bernoulli
from privet.noise.bernoulli_exp import bernoulli_exp as bernoulli_exp
from privet.noise.bernoulli_words import bernoulli_words as bernoulli_words
from privet.noise.binomial import binomial as binomial
from privet.noise.choice_exp import choice_exp as choice_exp, choice_log as choice_log
from privet.noise.discrete_gaussian import discrete_gaussian as discrete_gaussian
from privet.noise.discrete_laplace import discrete_laplace as discrete_laplace
from privet.noise.entropy import Secure as Secure, Seeded as Seeded, Source as Source, current as current
from privet.noise.foreign import own_stream as own_stream, shared_state as shared_state
from privet.noise.geometric import geometric as geometric
from privet.noise.grid import Grid as Grid
from privet.noise.keyed import KeyedStream as KeyedStream
from privet.noise.negative_binomial import (
    logarithmic as logarithmic,
    truncated_negative_binomial as truncated_negative_binomial,
)
from privet.noise.parameters import LARGEST_SCALE as LARGEST_SCALE
from privet.noise.permutation import permutation as permutation
from privet.noise.poisson import poisson as poisson
from privet.noise.rounded_cauchy import rounded_cauchy as rounded_cauchy
from privet.noise.rounded_gaussian import (
    PIECES_SIGMA as PIECES_SIGMA,
    gaussian_pieces as gaussian_pieces,
    rounded_gaussian as rounded_gaussian,
    rounded_gaussian_pieces as rounded_gaussian_pieces,
)
from privet.noise.rounded_laplace import rounded_laplace as rounded_laplace
from privet.noise.rounded_staircase import rounded_staircase as rounded_staircase
from privet.noise.steps import Steps as Steps, whole_steps as whole_steps
from privet.noise.subsets import fixed_subset as fixed_subset, poisson_subset as poisson_subset
from privet.noise.uniform_int import uniform_int as uniform_int

__all__, __dir__ = face(globals())
