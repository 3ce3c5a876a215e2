"""Bernoulli(p) for rational p."""

from fractions import Fraction

from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source
from privet.noise.families.coins import flip
from privet.noise.families.enclosure import rational
from privet.noise.families.refined import Refined
from privet.noise.parameters import Size, probability


def bernoulli(*, p: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """A coin that shows True with probability p; a float is the rational it stands for.

    **Guarantee:** Pr[True] = p exactly. **Reference:** proof note noise/families/refined.

    >>> bernoulli(p=1), bernoulli(p=0, size=2).tolist()
    (True, [False, False])
    """
    num, den = probability("p", p).as_integer_ratio()

    def chance(bits: int) -> tuple[int, int]:
        return rational(num, den, bits)

    return draw(
        lambda stream: Refined(stream, stream.word(), 64).below(chance),
        lambda stream, count: flip(stream, count, chance),
        size,
        source,
        bool,
    )
