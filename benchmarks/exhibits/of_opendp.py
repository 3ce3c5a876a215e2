"""Measurements of OpenDP."""

from collections.abc import Iterator

import numpy as np

from exhibits.base import REPLACE, Bulk, Exhibit
from privet import privacy


def opendp_exhibits() -> Iterator[Exhibit]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    m = dp.m
    whole, real = dp.vector_domain(dp.atom_domain(T=int)), dp.vector_domain(dp.atom_domain(T=float, nan=False))
    for name, domain, zero, kind in (("float", real, 0.0, float), ("int", whole, 0, int)):
        laplace = m.make_laplace(domain, dp.l1_distance(T=kind), scale=1.0)
        gaussian = m.make_gaussian(domain, dp.l2_distance(T=kind), scale=4.0)
        claims = (privacy.PureLoss(laplace.map(kind(1))), privacy.ZcdpLoss(gaussian.map(kind(1))))
        for measure, claim in zip((laplace, gaussian), claims, strict=True):
            yield Exhibit(
                f"make_{'laplace' if measure is laplace else 'gaussian'}, {name}",
                Bulk(lambda value, runs, measure=measure: np.array(measure([value] * runs))),
                claim,
                [(zero, zero + 1)],
                "a vector of equal numbers: one release for each",
            )
    bounded = m.make_geometric(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0, bounds=(0, 5))
    yield Exhibit("make_geometric, bounds", bounded, privacy.PureLoss(bounded.map(1)), [(0, 1)], "(0 or 1)", share=0.25)
    coin, dice = m.make_randomized_response_bool(prob=0.75), m.make_randomized_response(list("abcd"), prob=0.5)
    for measure, pair in ((coin, (False, True)), (dice, ("a", "b"))):
        name = "make_randomized_response" + ("_bool" if measure is coin else "")
        claim = privacy.PureLoss(measure.map(1), unit=REPLACE)
        yield Exhibit(name, measure, claim, [pair], "(value)", share=0.25)
    bits = m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    yield Exhibit(
        "make_randomized_response_bitvec",
        lambda place: np.unpackbits(np.frombuffer(bits(np.packbits(np.eye(8, dtype=np.uint8)[place])), dtype=np.uint8)),
        privacy.PureLoss(bits.map(1), unit=REPLACE),
        [(0, 1)],
        "(one bit out of eight)",
        share=0.25,
    )
    for name, measure, loss in (
        ("pure", dp.max_divergence(), privacy.PureLoss),
        ("zCDP", dp.zero_concentrated_divergence(), privacy.ZcdpLoss),
    ):
        best = m.make_noisy_max(whole, dp.linf_distance(T=int), measure, scale=1.0)
        pair = ([1] + [0] * 19, [0] + [1] * 19)
        yield Exhibit(f"make_noisy_max, {name}", best, loss(best.map(1)), [pair], "(20 scores)", share=0.25)
    middle = m.make_private_quantile(
        whole, dp.symmetric_distance(), dp.max_divergence(), candidates=[0, 5, 10], alpha=0.5, scale=1.0
    )
    tables = [([1, 2, 8], [1, 2]), ([1, 2, 8], [2, 8])]
    yield Exhibit("make_private_quantile", middle, privacy.PureLoss(middle.map(1)), tables, "(table)", share=0.25)
