"""Promises of theorems: bounds on the excess risk of private fits, with the lectures' constants and with exact
noise."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, final, get_args

import numpy as np

from privet._validate import above, count, open_fraction
from privet.errors import InvalidParameter
from privet.privacy import analytic_noise_multiplier

Method = Literal["output_perturbation", "objective_perturbation", "pn_sgd", "dp_sgd", "dp_cd"]
Constants = Literal["lecture", "exact"]
T = TypeVar("T", "Bound", "Order")


@final
@dataclass(frozen=True)
class Bound:
    """A bound on the expected mean loss above its minimum, and the formula that it comes from: proved, so no fit that has
    its premises lies above it.

    It may be larger than the loss of a model of zeros: a private model is none, and where there are few records it can be
    far worse. `strength` is the regulariser per record that the bound is for, where there is one.
    """

    value: float
    formula: str
    strength: float | None = None

    def __float__(self) -> float:
        return self.value


@final
@dataclass(frozen=True)
class Order:
    """The order of the expected mean loss above its minimum: how it grows with records, columns and epsilon. Its constant
    is not proved, so that a fit may lie above it. Fields as of `Bound`."""

    value: float
    formula: str
    strength: float | None = None

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class _Facts:
    """The public numbers of a bound. One record is replaced; `noise` is sigma over sensitivity."""

    n: int
    d: int
    epsilon: float
    delta: float
    lipschitz: float
    radius: float
    strength: float | None
    exact: bool

    @property
    def multiplier(self) -> float:
        """The exact noise multiplier, or the classic sqrt(2 ln(1.25/delta))/epsilon."""
        if self.exact:
            return analytic_noise_multiplier(self.epsilon, self.delta)
        return math.sqrt(2.0 * math.log(1.25 / self.delta)) / self.epsilon

    def regularised(self, risk: float, formula: str, kind: type[T]) -> T:
        """risk/strength, or with the best strength, which pays strength D^2/2 besides."""
        if self.strength is not None:
            return kind(risk / self.strength, formula, self.strength)
        best = math.sqrt(2.0 * risk) / self.radius
        return kind(self.radius * math.sqrt(2.0 * risk), f"D sqrt(2A), A/strength = {formula}", best)


def excess_risk(
    method: Method,
    *,
    n: int,
    d: int,
    epsilon: float,
    delta: float,
    lipschitz: float = 1.0,
    radius: float = 1.0,
    strength: float | None = None,
    constants: Constants = "exact",
    moments: Sequence[float] | None = None,
    sensitivities: Sequence[float] | None = None,
    distance: Sequence[float] | None = None,
) -> Bound | Order:
    """A bound on E[mean loss of the private model] - min, or its order, for n records of which one is replaced, in d
    dimensions. What is proved comes as a `Bound`, what is an order with a constant of 1, or an estimate, as an `Order`.

    `lipschitz` L bounds the gradient of a record, `radius` D the distance from the start to the minimum, `strength` is the
    regulariser per record (None: the best one, from public numbers); where it is given, the loss is the one with the
    regulariser. `constants="lecture"` are those of the slides, "exact" puts the exact noise of privet in their place.
    `dp_cd` takes for every coordinate its smoothness `moments` M_j, its sensitivity and its distance from the start to the
    minimum; missing ones are equal shares (1/d, 2L/sqrt d, D/sqrt d).

    | method | lecture | kind | formula |
    |---|---|---|---|
    | output_perturbation | 000 | bound | 3 L^2 sqrt(d ln(1.25/delta))/(epsilon n strength); exact: 2 L^2 sqrt(d) z/(n str.)
    | objective_perturbation | 000 | order | d sigma^2/(2 n^2 strength), sigma = 2 L z: the Jacobian must be paid besides
    | pn_sgd | 004 | order | D sqrt(n^2 L^2 + d sigma^2) ln(T)/(n sqrt T), T = n^2
    | dp_sgd | 001 | order | Delta_2 R_2 sqrt(d ln(1/delta))/(n epsilon); exact: sqrt(2 d) z Delta_2 R_2/n
    | dp_cd | 001 | order | the same with Delta_M^-1 = sqrt(sum Delta_j^2/M_j) and R_M = sqrt(sum M_j r_j^2)

    (z is the exact noise multiplier.)

    **Reference:** Chaudhuri, Monteleoni & Sarwate 2011; Bassily, Smith & Thakurta 2014; Mangold et al. 2022.
    **Proof:** docs/proofs/learn/theory.md.

    >>> lecture = excess_risk("output_perturbation", n=10_000, d=20, epsilon=0.5, delta=1e-8, constants="lecture")
    >>> round(lecture.value, 3), round(excess_risk("output_perturbation", n=10_000, d=20, epsilon=0.5, delta=1e-8).value, 3)
    (0.152, 0.133)
    """
    if method not in get_args(Method):
        raise InvalidParameter(f"method must be one of {', '.join(get_args(Method))}")
    if constants not in get_args(Constants):
        raise InvalidParameter('constants must be "lecture" or "exact"')
    facts = _Facts(
        n=count("n", n, 1),
        d=count("d", d, 1),
        epsilon=above("epsilon", epsilon, 0.0),
        delta=open_fraction("delta", delta),
        lipschitz=above("lipschitz", lipschitz, 0.0),
        radius=above("radius", radius, 0.0),
        strength=None if strength is None else above("strength", strength, 0.0),
        exact=constants == "exact",
    )
    if method == "dp_cd":
        return _coordinates(facts, moments, sensitivities, distance)
    if moments is not None or sensitivities is not None or distance is not None:
        raise InvalidParameter("moments, sensitivities and distance belong to dp_cd")
    simple: dict[str, Callable[[_Facts], Bound | Order]] = {
        "output_perturbation": _output,
        "objective_perturbation": _objective,
        "pn_sgd": _projected,
        "dp_sgd": _gradients,
    }
    return simple[method](facts)


def _output(f: _Facts) -> Bound:
    if f.exact:
        return f.regularised(
            2.0 * f.lipschitz**2 * math.sqrt(f.d) * f.multiplier / f.n, "2 L^2 sqrt(d) z/(n strength)", Bound
        )
    root = math.sqrt(f.d * math.log(1.25 / f.delta))
    return f.regularised(
        3.0 * f.lipschitz**2 * root / (f.epsilon * f.n), "3 L^2 sqrt(d ln(1.25/delta))/(epsilon n strength)", Bound
    )


def _objective(f: _Facts) -> Order:
    sigma = 2.0 * f.lipschitz * f.multiplier
    return f.regularised(f.d * sigma**2 / (2.0 * f.n**2), "d sigma^2/(2 n^2 strength)", Order)


def _projected(f: _Facts) -> Order:
    """The slide's noise, or that of n^2 steps whose composition is close to one Gaussian of the multiplier."""
    slide = 64.0 * math.log(2.0 * f.n / f.delta) * math.log(2.0 / f.delta) / f.epsilon**2
    square = (2.0 * f.multiplier) ** 2 * PN_SGD_MARGIN**2 if f.exact else slide
    steps = f.n**2
    length = f.n * f.lipschitz * math.sqrt(1.0 + f.d * square)
    value = f.radius * length * math.log(max(steps, 3)) / math.sqrt(steps) / f.n
    return Order(value, "D sqrt(n^2 L^2 + d sigma^2) ln(T)/(n sqrt T), T = n^2")


PN_SGD_MARGIN = 1.12
"""The multiplier of n^2 steps on one record each, over that of one Gaussian. Computed at epsilon = 1: 4.626/4.225 for 1,000
records, 4.128/3.731 for 100; elsewhere it is an estimate."""


def _size(f: _Facts) -> float:
    """sqrt(d) times what stands for the noise of one release."""
    if f.exact:
        return math.sqrt(2.0 * f.d) * f.multiplier
    return math.sqrt(f.d * math.log(1.0 / f.delta)) / f.epsilon


def _gradients(f: _Facts) -> Order:
    reach = 2.0 * f.lipschitz
    if f.strength is not None:
        return Order((_size(f) * reach / f.n) ** 2 / f.strength, "d z^2 Delta_2^2/(n^2 strength)", f.strength)
    return Order(_size(f) * reach * f.radius / f.n, "sqrt(d) z Delta_2 R_2/n")


def _coordinates(f: _Facts, moments: object, sensitivities: object, distance: object) -> Order:
    m, s, r = (
        _numbers(name, given, f.d, default)
        for name, given, default in (
            ("moments", moments, 1.0 / f.d),
            ("sensitivities", sensitivities, 2.0 * f.lipschitz / math.sqrt(f.d)),
            ("distance", distance, f.radius / math.sqrt(f.d)),
        )
    )
    if not (m > 0.0).all():
        raise InvalidParameter("moments must be greater than 0")
    reach, far = math.sqrt(float((s**2 / m).sum())), math.sqrt(float((m * r**2).sum()))
    if f.strength is not None:
        return Order((_size(f) * reach / f.n) ** 2 / f.strength, "d z^2 Delta_M^-1^2/(n^2 strength)", f.strength)
    return Order(_size(f) * reach * far / f.n, "sqrt(d) z Delta_M^-1 R_M/n")


def _numbers(name: str, given: object, d: int, default: float) -> Any:
    values = np.full(d, default) if given is None else np.asarray(given, dtype=np.float64)
    if values.shape != (d,) or not np.isfinite(values).all():
        raise InvalidParameter(f"{name} must hold a number for each of the {d} coordinates")
    return values


def coordinate_ratio(
    moments: Sequence[float], sensitivities: Sequence[float], distance: Sequence[float], *, whole: float | None = None
) -> float:
    """Delta_M^-1 R_M/(Delta_2 R_2): below 1 coordinate descent has the better bound. Between 1/d and d.

    `whole` is Delta_2, the sensitivity of the full gradient; None: the root of the sum of squares, the largest it can be.

    >>> coordinate_ratio([1.0] * 4, [0.5] * 4, [1.0] * 4), coordinate_ratio([1.0] * 4, [0.5] * 4, [1.0] * 4, whole=0.5)
    (1.0, 2.0)
    >>> coordinate_ratio([1e4, 1.0, 1.0, 1.0], [100.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]) < 0.03
    True
    """
    d = len(moments)
    m, s, r = (
        _numbers(name, given, d, 0.0)
        for name, given in (("moments", moments), ("sensitivities", sensitivities), ("distance", distance))
    )
    reach = math.sqrt(float((s**2).sum())) if whole is None else above("whole", whole, 0.0)
    far = math.sqrt(float((r**2).sum()))
    return math.sqrt(float((s**2 / m).sum())) * math.sqrt(float((m * r**2).sum())) / (reach * far)
