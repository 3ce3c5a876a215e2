"""DP-Sniper: train a classifier of the worlds, look where it is surest, bound the log-ratio by two Clopper-Pearson ends.

Written from Bichsel, Steffen, Bogunovic & Vechev 2021, "DP-Sniper: black-box discovery of differential privacy
violations using classifiers", section 4. The pair of neighbours is given. Its classifier is the paper's logistic
regression; coordinates with few values are given as flags, as the paper does for outputs that are not numbers.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression

from rivals.subjects import Subject

FLAGS = 16  # values of a coordinate up to which it is given as flags


@dataclass(frozen=True)
class DPSniper:
    """`share` of the runs train and choose the threshold; `least` is the probability c that an attack must have."""

    share: float = 1.0 / 6.0
    least: float = 0.01
    name: str = "DP-Sniper"

    def lower(self, subject: Subject, runs: int, alpha: float, rng: np.random.Generator) -> float:
        """The lower bound on epsilon of one audit with so many runs of each input, those for training included."""
        first = max(2, int(self.share * runs))
        worlds = [
            subject.simulate(value, runs).reshape(runs, -1).astype(float) for value in (subject.left, subject.right)
        ]
        encode = _encoder(np.concatenate([world[:first] for world in worlds]))
        inputs = np.concatenate([encode(world[:first]) for world in worlds])
        model = LogisticRegression(max_iter=300).fit(inputs, np.repeat([1, 0], first))
        scores = [model.decision_function(encode(world)) for world in worlds]
        best = None
        for left, right in (scores, [-score for score in scores][::-1]):  # either order of the worlds
            attack = _attack(right[:first], self.least)
            seen = [float(attack(side[:first]).mean()) for side in (left, right)]
            power = np.log(max(seen[0], 1e-12)) - np.log(max(seen[1], self.least))
            if best is None or power > best[0]:
                best = power, attack, left[first:], right[first:]
        _, attack, left, right = best
        n = runs - first
        tp, fp = (int((rng.random(n) < attack(side)).sum()) for side in (left, right))
        low = stats.beta.ppf(alpha / 2, tp, n - tp + 1) if tp else 0.0
        high = stats.beta.ppf(1 - alpha / 2, fp + 1, n - fp) if fp < n else 1.0
        return float(np.log(low / high)) if low > 0.0 else -np.inf

    def refutes(self, subject: Subject, runs: int, alpha: float, rng: np.random.Generator) -> bool:
        return self.lower(subject, runs, alpha, rng) > subject.epsilon


def _attack(scores: np.ndarray, least: float):
    """The surest outputs, with ties broken by chance so that their probability in the second world is `least`."""
    ordered = np.sort(scores)[::-1]
    cut = ordered[min(int(least * len(ordered)), len(ordered) - 1)]
    above, equal = float(np.mean(scores > cut)), float(np.mean(scores == cut))
    tie = min(max((least - above) / equal, 0.0), 1.0)
    return lambda side: np.where(side > cut, 1.0, np.where(side == cut, tie, 0.0))


def _encoder(seen: np.ndarray):
    middle, spread = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-9)
    values = [np.unique(column) for column in seen.T]

    def encode(outputs: np.ndarray) -> np.ndarray:
        parts = [(outputs - middle) / spread]
        parts += [(outputs[:, j, None] == v).astype(float) for j, v in enumerate(values) if 2 < len(v) <= FLAGS]
        return np.concatenate(parts, axis=1)

    return encode
