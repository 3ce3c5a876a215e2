"""Disclosure: secrets that a model or a release gives away, by exposure, search, inversion and reconstruction."""

from privet.audit.disclosure.exposure import (
    Exposure as Exposure,
    Extrapolated as Extrapolated,
    Ranked as Ranked,
    Sampled as Sampled,
    exposure as exposure,
)
from privet.audit.disclosure.extraction import Extraction as Extraction, extract as extract
from privet.audit.disclosure.inversion import Inversion as Inversion, invert as invert
from privet.audit.disclosure.reconstruction import (
    LeastSquares as LeastSquares,
    LinearProgramme as LinearProgramme,
    Reconstruction as Reconstruction,
    reconstruct as reconstruct,
    reconstruct_table as reconstruct_table,
)
