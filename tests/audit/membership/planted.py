"""Made-up models for attacks: one that knows its records by heart, and one that never saw any."""

import numpy as np

from privet import audit


class Learned:
    """A model whose loss is small on the records that it was trained on, and otherwise depends on the record."""

    def __init__(self, x, y, gain=1.0):
        self.known, self.gain = set(np.asarray(x)[:, 0].tolist()), gain

    def __call__(self, x, y):
        hard = 1.0 + np.abs(np.sin(1000.0 * x[:, 0]))
        known = np.array([value in self.known for value in x[:, 0].tolist()])
        return hard - self.gain * 0.4 * known + 0.05 * np.abs(np.cos(7.0 * x[:, 0] + len(self.known)))


def records(many, start=0):
    x = np.arange(start, start + many, dtype=float).reshape(-1, 1)
    return x, np.zeros(many)


def suspects(many=200, real=False):
    x, y = records(many)
    half = many // 2
    return audit.Suspects.of(members=(x[:half], y[:half]), others=(x[half:], y[half:]), real=real)
