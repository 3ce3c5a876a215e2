"""Clients of pure-ldp: one report of one user, who has the value 1 or the value 2."""

import math
from collections.abc import Iterator
from typing import Any

from exhibits.base import REPLACE, Exhibit, supported
from privet import privacy


def pure_ldp_exhibits() -> Iterator[Exhibit]:
    from pure_ldp import frequency_oracles as fo
    from pure_ldp.core import generate_hash_funcs
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient
    from pure_ldp.frequency_oracles.rappor import RAPPORClient

    one, pair = privacy.PureLoss(1.0, unit=REPLACE), [(1, 2)]
    for client in (
        fo.DEClient(1.0, 4),
        fo.UEClient(1.0, 4),
        fo.UEClient(1.0, 4, use_oue=True),
        fo.HEClient(1.0, 4),
        fo.HadamardResponseClient(1.0, 4, None),
        fo.PCSClient(1.0, 2, 8, list(zip(generate_hash_funcs(2, 8), generate_hash_funcs(2, 2), strict=True))),
        fo.CMSClient(1.0, generate_hash_funcs(2, 8), 8),
        fo.CMSClient(1.0, generate_hash_funcs(2, 8), 8, is_hadamard=True),
    ):
        extra = "".join(f", {flag}" for flag in ("use_oue", "is_hadamard") if getattr(client, flag, False))
        yield Exhibit(type(client).__name__ + extra, client.privatise, one, pair, "privatise(1 or 2)")
    yield from _local_hashing(fo)
    rappor = RAPPORClient(0.5, 8, [[lambda data: int(data) % 8]], num_of_cohorts=1)
    epsilon = rappor.convert_f_to_eps(0.5, 1)
    yield Exhibit(
        "RAPPORClient",
        lambda value: rappor.privatise(value)[0],
        privacy.PureLoss(epsilon, unit=REPLACE),
        pair,
        "privatise(1 or 2), f=0.5, one hash: convert_f_to_eps(0.5, 1)",
        laws=lambda: ({1: 1.0, 0: 0.0}, {1: 0.25, 0: 0.75}),
        note="a bit that is 1 stays 1: the branch that should clear it sets nothing",
    )
    yield from _hadamard(HadamardMechClient(1.0, 4, 2), one)


def _local_hashing(fo: Any) -> Iterator[Exhibit]:
    for client in (fo.LHClient(1.0, 4, use_olh=True), fo.FastLHClient(1.0, 4, 50, use_olh=True)):
        yield Exhibit(
            f"{type(client).__name__}, use_olh",
            lambda value, client=client: supported(*client.privatise(value), client.g),
            privacy.PureLoss(1.0, unit=REPLACE),
            [(1, 2)],
            "privatise(1 or 2), seen as: which values it supports",
        )


def _hadamard(client: Any, claim: privacy.PrivacyLoss) -> Iterator[Exhibit]:
    def with_type(value: int) -> str:
        output = client.privatise(value)
        sort, signs = type(output).__name__, [sign == (-1) ** place for place, sign in output]
        return f"{sort}, {'may be 2' if all(signs) else 'not 2'}"

    truth = math.e / (math.e + 3.0)
    yield Exhibit("HadamardMechClient", lambda v: list(client.privatise(v)), claim, [(1, 2)], "list(privatise(1 or 2))")
    yield Exhibit(
        "HadamardMechClient, type",
        with_type,
        claim,
        [(1, 2)],
        "privatise(1 or 2): its type, and whether the signs are those of the value 2",
        laws=lambda: ({"list, not 2": 0.75 * truth, "else": 1.0 - 0.75 * truth}, {"list, not 2": 0.0, "else": 1.0}),
        note="a true answer comes as a list, a randomised one as a zip object; list(...) removes the difference",
    )
