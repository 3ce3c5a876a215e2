"""Whether counts fit a law: the likelihood-ratio test, with a false-alarm probability of one in a million."""

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2

ALPHA = 1e-6


def p_value(outcomes, probabilities):
    """Of draws 0, 1, ... against their probabilities; cells that expect fewer than 8 draws are pooled."""
    law = np.asarray(probabilities, dtype=float)
    counts = np.bincount(np.asarray(outcomes, dtype=np.int64), minlength=len(law)).astype(float)
    assert len(counts) == len(law), "an outcome outside the law's support"
    expected = law * counts.sum()
    rare = expected < 8.0
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0.0
    if keep.sum() == 1:
        return 1.0
    expected = expected[keep] * counts[keep].sum() / expected[keep].sum()
    ratio = 2.0 * float(xlogy(counts[keep], counts[keep] / expected).sum())
    return chi2.sf(max(ratio, 0.0), keep.sum() - 1)  # counts that fit perfectly may come out a little below 0


def fits(outcomes, probabilities):
    return p_value(outcomes, probabilities) > ALPHA
