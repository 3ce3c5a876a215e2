"""Clients of multi-freq-ldpy: one report of one user."""

import math
from collections.abc import Iterator

import numpy as np

from exhibits.base import REPLACE, Exhibit, Law, supported
from privet import privacy


def multi_freq_exhibits() -> Iterator[Exhibit]:
    from multi_freq_ldpy.long_freq_est import L_GRR, L_OSUE, L_OUE, L_SOUE, L_SUE, dBitFlipPM
    from multi_freq_ldpy.pure_frequency_oracles import ADP, GRR, HE, LH, SS, UE

    one, pair = privacy.PureLoss(1.0, unit=REPLACE), [(0, 1)]
    for name, client in (
        ("GRR_Client", lambda v: GRR.GRR_Client(v, 4, 1.0)),
        ("UE_Client, optimal", lambda v: UE.UE_Client(v, 4, 1.0, True)),
        ("UE_Client, symmetric", lambda v: UE.UE_Client(v, 4, 1.0, False)),
        ("ADP_Client", lambda v: ADP.ADP_Client(v, 16, 1.0)),
        ("LH_Client, optimal", lambda v: supported(*LH.LH_Client(v, 4, 1.0), 4)),
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
    yield from _other_tuples()


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


def _sampled(truth: tuple[int, ...], odds: float) -> Law:
    """One attribute of two values, chosen at random, goes through randomized response; all others are uniform."""
    d = len(truth)
    chance = {True: odds / (odds + 1.0), False: 1.0 / (odds + 1.0)}
    return {y: sum(chance[y[j] == truth[j]] for j in range(d)) / d * 2.0 ** (1 - d) for y in np.ndindex(*(2,) * d)}


def _sampled_unary(truth: tuple[int, ...], odds: float) -> Law:
    """One attribute, chosen at random, is sent as two noisy bits; all others as the noisy bits of nothing."""
    d, q = len(truth), 1.0 / (odds + 1.0)

    def bit(value: int, one: bool) -> float:
        rate = 0.5 if one else q
        return rate if value else 1.0 - rate

    def mass(y: tuple[int, ...]) -> float:
        nothing = [bit(y[2 * j], False) * bit(y[2 * j + 1], False) for j in range(d)]
        told = [bit(y[2 * j], truth[j] == 0) * bit(y[2 * j + 1], truth[j] == 1) for j in range(d)]
        return sum(told[j] * math.prod(nothing) / nothing[j] for j in range(d)) / d

    return {y: mass(y) for y in np.ndindex(*(2,) * (2 * d))}


def _sampled_attributes(d: int = 4) -> Iterator[Exhibit]:
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client, RSpFD_UE_zero_Client

    odds = d * (math.e - 1.0) + 1.0  # the client's own: epsilon as if sampling one attribute of d amplified it
    one, zeros, ones, once = privacy.PureLoss(1.0, unit=REPLACE), (0,) * d, (1,) * d, (1,) + (0,) * (d - 1)
    for name, client, law in (
        ("RSpFD_GRR_Client", RSpFD_GRR_Client, _sampled),
        ("RSpFD_UE_zero_Client", RSpFD_UE_zero_Client, _sampled_unary),
    ):
        for pair, how in (((zeros, ones), "all attributes"), ((zeros, once), "one attribute")):
            yield Exhibit(
                f"{name}, {how}",
                lambda v, client=client: np.ravel(client(v, [2] * d, d, 1.0)),
                one,
                [pair],
                f"(tuple of {d} attributes, epsilon=1), {how} replaced",
                laws=lambda law=law, pair=pair: (law(pair[0], odds), law(pair[1], odds)),
                note="a matter of reading: where all attributes differ, it does not matter which one is sampled",
                share=4.0,
            )


def _other_tuples() -> Iterator[Exhibit]:
    from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Client
    from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Client

    for name, client in (("SMP_GRR_Client", SMP_GRR_Client), ("SPL_GRR_Client", SPL_GRR_Client)):
        yield Exhibit(
            name,
            lambda v, client=client: client(v, [2] * 4, 4, 1.0),
            privacy.PureLoss(1.0, unit=REPLACE),
            [((0,) * 4, (1,) * 4)],
            "(tuple of 4 attributes, epsilon=1), all attributes replaced",
        )
