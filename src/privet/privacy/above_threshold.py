"""The sparse vector technique: which of many queries is the first above a threshold."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._validate import at_least, count, set_frozen
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register


@register
@dataclass(frozen=True, eq=False)
class AboveThresholdLoss(PrivacyLoss):
    """AboveThreshold stopped after `positives` positive answers; negative answers are free.

    The scales that earn this price: threshold noise Lap(Delta/e1) once, query noise Lap(2 c Delta/e2) (c Delta/e2 when
    all queries move the same way), e1 + e2 = epsilon. The noisy value that crossed is not part of the output.

    **Guarantee:** pure epsilon in total, whatever the number of negative answers.
    **Reference:** Dwork & Roth 2014, section 3.6; Lyu, Su & Li 2017, theorem 2.
    **Proof:** docs/proofs/privacy/above_threshold.md.

    >>> AboveThresholdLoss(1.0).pure()
    1.0
    """

    kind = "above_threshold"
    silent_fields = ("positives",)  # the scales of the noise pay for them

    epsilon: float = field(metadata={"help": "epsilon of one release"})
    positives: int = field(default=1, metadata={"help": "answers above the threshold"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(
            self, epsilon=at_least("epsilon", self.epsilon, 0.0), positives=count("positives", self.positives, 1)
        )

    def pure(self) -> float:
        return self.epsilon

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.5)
        yield cls(1.0, positives=3)
