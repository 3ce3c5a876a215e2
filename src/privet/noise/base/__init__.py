"""What all samplers share: random bits, lazily refined uniforms, enclosures, parameters."""

from privet.noise.base.coins import TO_UNIT, accept, accept_one, compare, compare_one, fair_bits, flip, short_words
from privet.noise.base.draw import Draws, draw, pieces
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
    as_rational,
    exact,
    matching_shape,
    positive,
    probability,
    shape_of,
    split,
    whole,
)
from privet.noise.base.refined import Refined, invert, least
from privet.noise.base.rounded import SATURATION, Rest, draw_rounded, exact_rest, float_rest, oriented, signed
from privet.noise.base.scores import gaps_of, scores_of
from privet.noise.base.tails import Tails, powers

__all__ = [
    "LARGEST_SCALE",
    "SATURATION",
    "TO_UNIT",
    "Center",
    "Draws",
    "Enclosure",
    "Refined",
    "Rest",
    "Secure",
    "Seeded",
    "Size",
    "Source",
    "Stream",
    "Tails",
    "Words",
    "accept",
    "accept_one",
    "as_rational",
    "cauchy_above",
    "compare",
    "compare_one",
    "complement",
    "current",
    "draw",
    "draw_rounded",
    "exact",
    "exact_rest",
    "exp_neg",
    "fair_bits",
    "flip",
    "float_rest",
    "gaps_of",
    "invert",
    "least",
    "matching_shape",
    "neg_log",
    "normal_above",
    "oriented",
    "pieces",
    "positive",
    "powers",
    "probability",
    "rational",
    "scores_of",
    "shape_of",
    "short_words",
    "signed",
    "split",
    "whole",
]
