"""Tiny mechanisms for the ledger's tests: fresh random bits at a stated price, or trouble."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privet.mechanisms import Release
from privet.privacy import PrivacyLoss, PureLoss


@dataclass(frozen=True, eq=False)
class Coin:
    """Ignores its data; `says` replaces what happens in `release`."""

    loss: PrivacyLoss = PureLoss(0.1)  # noqa: RUF009 - frozen
    says: Callable[[Any], Any] | None = None
    insecure: bool = False
    label: str = ""

    def release(self, data: Any) -> Any:
        if self.says is not None:
            return self.says(data)
        return Release(secrets.randbits(53), loss=self.loss, mechanism="coin", insecure=self.insecure)

    def to_dict(self) -> dict[str, Any]:
        return {"mechanism": "coin", "label": self.label}


def broken(data: Any) -> Any:
    raise ValueError(f"the secret is {data}")
