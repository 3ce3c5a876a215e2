"""Mechanisms whose whole price is that of one noisy answer behind them."""

from typing import Any

from privet.privacy import PrivacyLoss


class PricedByNoise:
    """A mixin for mechanisms with a field `noise`, the mechanism that all their numbers are computed from."""

    noise: Any

    @property
    def loss(self) -> PrivacyLoss:
        """The price of the one noisy answer."""
        priced: PrivacyLoss = self.noise.loss
        return priced

    @property
    def at(self) -> float | None:
        """That of the noise."""
        known: float | None = self.noise.at
        return known
