"""Clients of multi-freq-ldpy: one report of one user."""

import math
from collections.abc import Iterator

import numpy as np

from exhibits.base import REPLACE, Exhibit, Law
from privet import privacy


def multi_freq_exhibits() -> Iterator[Exhibit]:
    from multi_freq_ldpy.long_freq_est import L_GRR, L_OSUE, L_OUE, L_SOUE, L_SUE, dBitFlipPM
    from multi_freq_ldpy.pure_frequency_oracles import ADP, GRR, HE, SS, UE

    one, pair = privacy.PureLoss(1.0, unit=REPLACE), [(0, 1)]
    for name, client in (
        ("GRR_Client", lambda v: GRR.GRR_Client(v, 4, 1.0)),
        ("UE_Client, optimal", lambda v: UE.UE_Client(v, 4, 1.0, True)),
        ("UE_Client, symmetric", lambda v: UE.UE_Client(v, 4, 1.0, False)),
        ("ADP_Client", lambda v: ADP.ADP_Client(v, 16, 1.0)),
        ("HE_Client", lambda v: HE.HE_Client(v, 4, 1.0)),
        ("L_GRR_Client", lambda v: L_GRR.L_GRR_Client(v, 4, 2.0, 1.0)),
        ("L_SUE_Client", lambda v: L_SUE.L_SUE_Client(v, 4, 2.0, 1.0)),
        ("L_OUE_Client", lambda v: L_OUE.L_OUE_Client(v, 4, 2.0, 1.0)),
        ("L_OSUE_Client", lambda v: L_OSUE.L_OSUE_Client(v, 4, 2.0, 1.0)),
        ("L_SOUE_Client", lambda v: L_SOUE.L_SOUE_Client(v, 4, 2.0, 1.0)),
        ("dBitFlipPM_Client", lambda v: dBitFlipPM.dBitFlipPM_Client(v, 4, 4, 2, 1.0)),
    ):
        call = "(v, k=4, eps_perm=2, eps_1=1): one report" if name.startswith("L_") else "(v, k, epsilon=1)"
        yield Exhibit(name, client, one, pair, call)
    yield Exhibit(
        "SS_Client",
        lambda v: SS.SS_Client(v, 16, 1.0),
        one,
        pair,
        "(v, k=16, epsilon=1)",
        laws=lambda: _place_in_subset(16, 1.0),
        note="a subset with the true value has it in the first place; as a set it would be private",
    )
    yield Exhibit(
        "SS_Client, as a set", lambda v: np.isin(np.arange(16), SS.SS_Client(v, 16, 1.0)), one, pair, "the same"
    )
    yield from _sampled_attributes()


def _place_in_subset(k: int, epsilon: float) -> tuple[Law, Law]:
    """Where the value 0 stands in the report of a user who has it, and of one who has the value 1."""
    size = max(1, round(k / (math.exp(epsilon) + 1.0)))
    hit = size * math.exp(epsilon) / (size * math.exp(epsilon) + k - size)
    first, later = (1.0 - hit) / (k - 1), (size - 1) / (k - 1)
    return {"first": hit, "later": 0.0, "absent": 1.0 - hit}, {
        "first": first,
        "later": later,
        "absent": 1.0 - first - later,
    }


def _sampled_attributes(d: int = 4, k: int = 2) -> Iterator[Exhibit]:
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client, RSpFD_UE_zero_Client

    def law(truth: tuple[int, ...]) -> Law:
        """One attribute, chosen at random, by randomized response at the larger epsilon; all others uniform."""
        odds = d * (math.e - 1.0) + 1.0
        p, q = odds / (odds + k - 1), 1.0 / (odds + k - 1)
        outcomes = np.ndindex(*(k,) * d)
        return {y: sum(p if y[j] == truth[j] else q for j in range(d)) / d * k ** (1 - d) for y in outcomes}

    one, everywhere, once = privacy.PureLoss(1.0, unit=REPLACE), (0,) * d, (1,) + (0,) * (d - 1)
    for name, client in (("RSpFD_GRR_Client", RSpFD_GRR_Client), ("RSpFD_UE_zero_Client", RSpFD_UE_zero_Client)):
        is_grr = client is RSpFD_GRR_Client
        yield Exhibit(
            name,
            lambda v, client=client: np.ravel(client(v, [k] * d, d, 1.0)),
            one,
            [(everywhere, (1,) * d)],
            f"(tuple of {d} attributes, epsilon=1), all attributes replaced",
            laws=(lambda: (law(everywhere), law((1,) * d))) if is_grr else None,
            note="a matter of reading: whichever attribute is sampled, it differs",
            share=4.0,
        )
    yield Exhibit(
        "RSpFD_GRR_Client, one attribute",
        lambda v: np.ravel(RSpFD_GRR_Client(v, [k] * d, d, 1.0)),
        one,
        [(everywhere, once)],
        f"(tuple of {d} attributes, epsilon=1), one attribute replaced",
    )
