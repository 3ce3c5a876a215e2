"""The threshold of the quantile attack: few strangers do not make it accuse more of those whom the model never saw."""

import re

import numpy as np

from privet import audit

RATE, DRAWS, OTHERS = 0.1, 60, 200


def test_the_rate_of_false_positives_holds_with_few_strangers():
    """Twenty strangers for a rate of a tenth, ten of which set the threshold: the largest of these is beaten by one in
    eleven; the second largest, which a quantile without the correction takes, by two."""
    rng, wrong = np.random.default_rng(7), 0
    model = lambda x, y: 0.01 + np.abs(x[:, 0])  # noqa: E731 (how badly it knows a record)
    for _ in range(DRAWS):
        x = rng.uniform(0.0, 3.0, (20 + 2 * OTHERS, 1))
        y = np.zeros(len(x), dtype=int)
        members, others = (x[20 : 20 + OTHERS], y[:OTHERS]), (x[20 + OTHERS :], y[:OTHERS])
        who = audit.Suspects.of(members=members, others=others, real=False)
        found = audit.quantile_attack(model, who, strangers=(np.zeros((20, 1)) + x[:20], y[:20]), fpr=RATE)
        wrong += int(re.search(r"and\s+([\d,]+)\s+others", " ".join(found.notes))[1].replace(",", ""))
    error = 0.09 / DRAWS**0.5  # of a mean of shares above the largest of ten
    assert wrong / (DRAWS * OTHERS) <= RATE + 3.0 * error
