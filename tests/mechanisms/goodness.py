"""Whether counts fit a law: the likelihood-ratio test, with a false-alarm probability of one in a million."""

import numpy as np
from scipy.stats import power_divergence

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
    return power_divergence(counts[keep], expected, lambda_="log-likelihood").pvalue


def fits(outcomes, probabilities):
    return p_value(outcomes, probabilities) > ALPHA
