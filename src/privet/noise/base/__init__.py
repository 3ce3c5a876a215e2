"""What all samplers share: random bits, lazily refined uniforms, enclosures, parameters."""

from privet.noise.base.draw import PIECE, Draws, Sampler, draw
from privet.noise.base.enclosure import (
    Enclosure,
    cauchy_above,
    complement,
    exp_neg,
    neg_log,
    normal_above,
    rational,
)
from privet.noise.base.entropy import Secure, Seeded, Source, Stream, Words, current
from privet.noise.base.parameters import (
    LARGEST_SCALE,
    Center,
    Size,
    exact,
    log_weights,
    positive,
    probability,
    shape_of,
    split,
)
from privet.noise.base.refined import Refined, invert

__all__ = [
    "LARGEST_SCALE",
    "PIECE",
    "Center",
    "Draws",
    "Enclosure",
    "Refined",
    "Sampler",
    "Secure",
    "Seeded",
    "Size",
    "Source",
    "Stream",
    "Words",
    "cauchy_above",
    "complement",
    "current",
    "draw",
    "exact",
    "exp_neg",
    "invert",
    "log_weights",
    "neg_log",
    "normal_above",
    "positive",
    "probability",
    "rational",
    "shape_of",
    "split",
]
