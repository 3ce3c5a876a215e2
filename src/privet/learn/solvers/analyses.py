"""Published analyses of objective perturbation, beside the sharp one: what each asks of the noise and the regulariser.

Each is a theorem about the same mechanism. None of them promises less than it proves: two of them prove one point
(epsilon, delta), which is then the price; two prove a price that is read off the noise. All numbers are for unit rows.
"""

import math
from typing import Literal, NamedTuple

from privet.errors import InvalidParameter
from privet.learn.losses import Loss
from privet.privacy import ApproxLoss, ObjectivePerturbationLoss, PrivacyLoss, Unit

Analysis = Literal["sharp", "rkw", "kst12", "amp", "cms11"]
_UP = 1.0 + 2.0**-40  # more than the roundings of a formula


class Point(NamedTuple):
    """An epsilon and a delta that an analysis proves."""

    epsilon: float
    delta: float


def ends(unit: Unit) -> float:
    """The number of gradients that move between neighbours."""
    return 2.0 if unit.relation == "replace" else 1.0


def amp_share(epsilon: float) -> float:
    """The part of epsilon that AMP gives to the noise; the rest is for the Jacobian.

    >>> round(amp_share(1.0), 5)
    0.90537
    """
    return max(min(0.88671 + 0.0186607 / epsilon**0.372906, 0.99), 1.0 - 1.0 / epsilon + 0.001)


def least_strength(analysis: Analysis, loss: Loss, epsilon: float) -> float:
    """The weakest regulariser for which the analysis is proved at this epsilon (for "rkw": above which).

    >>> from privet.learn.losses import Logistic
    >>> least_strength("kst12", Logistic(), 1.0)
    0.5
    """
    if analysis == "rkw":
        return loss.smoothness
    if analysis == "kst12":
        return 2.0 * loss.smoothness / epsilon
    if analysis == "amp":
        return 2.0 * loss.smoothness / (epsilon * (1.0 - amp_share(epsilon)))
    if analysis == "cms11":
        return loss.smoothness / math.expm1(epsilon / 4.0)
    return 0.0


def proved_sigma(analysis: Analysis, loss: Loss, point: Point, unit: Unit) -> float:
    """The noise for which Kifer, Smith & Thakurta, or Iyengar et al., prove this point.

    >>> from privet.learn.losses import Logistic
    >>> round(proved_sigma("kst12", Logistic(), Point(1.0, 1e-6), Unit()), 3)
    10.958
    """
    epsilon, delta = point
    if analysis == "kst12":  # one gradient moves; under replace the difference of two, which is twice as long
        length = ends(unit) * loss.lipschitz
        return length * math.sqrt(8.0 * math.log(2.0 / delta) + 4.0 * epsilon) / epsilon * _UP
    share = amp_share(epsilon)
    if not epsilon * (1.0 - share) < 1.0:
        raise InvalidParameter("AMP is proved where the Jacobian has less than 1 of epsilon")
    return 2.0 * loss.lipschitz * (1.0 + math.sqrt(2.0 * math.log(1.0 / delta))) / (share * epsilon) * _UP


def rkw_curvature(loss: Loss, strength: float) -> float:
    """The stand-in for the curvature with Redberg, Koskela & Wang: ln(1 + it) = -ln(1 - beta/Lambda), rounded up.

    >>> from privet.learn.losses import Logistic
    >>> round(rkw_curvature(Logistic(), 0.5), 9)
    1.0
    """
    if not strength > loss.smoothness:
        raise InvalidParameter("this analysis needs a strength above the smoothness of the loss")
    return loss.smoothness / (strength - loss.smoothness) * _UP


def proved_price(
    analysis: Analysis, loss: Loss, strength: float, sigma: float, point: Point | None, unit: Unit
) -> PrivacyLoss:
    """The price that the analysis proves for this noise and regulariser, or an error where it proves nothing."""
    if analysis == "rkw":
        curvature = rkw_curvature(loss, strength)
        return ObjectivePerturbationLoss(sigma / loss.lipschitz / _UP, curvature, "general", unit=unit)
    if point is None or not (point.epsilon > 0.0 and 0.0 < point.delta < 1.0):
        raise InvalidParameter("this analysis proves one point: give its epsilon > 0 and 0 < delta < 1")
    if strength < least_strength(analysis, loss, point.epsilon):
        raise InvalidParameter("the regulariser is weaker than this analysis needs at its epsilon")
    if sigma < proved_sigma(analysis, loss, point, unit) * (1.0 - 2.0**-30):
        raise InvalidParameter("there is less noise than this analysis needs at its point")
    return ApproxLoss(point.epsilon, point.delta, unit=unit)


def cms11_price(loss: Loss, scale: float, strength: float) -> float:
    """Pure epsilon by Chaudhuri, Monteleoni & Sarwate, for a linear term of length Gamma(d, scale): for either relation.

    >>> from privet.learn.losses import Logistic
    >>> round(cms11_price(Logistic(), 1.0, 0.05), 4)
    5.5835
    """
    return 2.0 * loss.lipschitz / scale + 2.0 * math.log1p(loss.smoothness / strength)


def jacobian_of(model: Loss, strength: float) -> float:
    """The most that one record changes the determinant of the Hessian by, as a logarithm.

    >>> from privet.learn.losses import Softmax
    >>> round(jacobian_of(Softmax(3), 1.0), 6) == round(2.0 * math.log(4.0 / 3.0), 6)
    True
    """
    if model.shape == "softmax":
        return (model.outputs - 1) * math.log1p(1.0 / (model.outputs * strength))
    return math.log1p(model.smoothness / strength)


def pure_price(model: Loss, scale: float, strength: float, gradients: float) -> float:
    """Pure epsilon of the linear term with length Gamma(d, scale L), where 1 or 2 gradients move."""
    if model.shape != "logistic":
        return gradients / scale + jacobian_of(model, strength)
    kappa, rate = 1.0 / strength, 1.0 / scale
    # the maximum over t of rate t + ln(1 + kappa t(1 - t)): where rate (1 + kappa t - kappa t^2) + kappa (1 - 2t) = 0
    best = _peak(rate, kappa)
    inner = max(rate, rate * best + math.log1p(kappa * best * (1.0 - best)))
    return inner + (gradients - 1.0) * rate


def _peak(rate: float, kappa: float) -> float:
    """rate kappa t^2 + (2 kappa - rate kappa) t - (rate + kappa) = 0, its root within [0, 1]."""
    a, b, c = rate * kappa, 2.0 * kappa - rate * kappa, rate + kappa
    root = math.sqrt(b * b + 4.0 * a * c)
    if b > 0.0:  # whichever form subtracts nothing: a small rate must not lose the Jacobian
        return min(1.0, 2.0 * c / (b + root))
    return min(1.0, (root - b) / (2.0 * a)) if a > 0.0 else 1.0
