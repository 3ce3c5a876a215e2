"""Many unlike prices in one composition: ours beside dp-accounting, with a growth curve to 1,000 of them.

    python benchmarks/accounting_many.py [--most 1000]

Each row is a process of its own: CPU seconds of one question with cold caches, and the memory above what the imports hold.
Ours has both ends; the peer's upper end is pessimistic connect-the-dots at its default step of 1e-4, its lower end privacy
buckets: it is asked for the upper end alone, and for both. The peer is asked where it has the mechanism.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

DELTA = 1e-6
RANGES = {"laplace": (20.0, 80.0), "discrete gaussian": (10.0, 40.0), "eight kinds": (10.0, 60.0)}


def scales(kind: str, count: int) -> list[float]:
    return [float(scale) for scale in np.linspace(*RANGES[kind], count)]


def ours(kind: str, count: int) -> tuple[float, float]:
    from privet import accounting, privacy

    made: list[privacy.PrivacyLoss] = []
    for place, scale in enumerate(scales(kind, count)):
        if kind == "laplace":
            made.append(privacy.LaplaceLoss(scale))
        elif kind == "discrete gaussian":
            made.append(privacy.DiscreteGaussianLoss(scale))
        else:
            made.append(
                [
                    lambda s: privacy.LaplaceLoss(s),
                    lambda s: privacy.GaussianLoss(s),
                    lambda s: privacy.DiscreteGaussianLoss(s),
                    lambda s: privacy.DiscreteLaplaceLoss(s),
                    lambda s: privacy.PureLoss(1.0 / s),
                    lambda s: privacy.PoissonSampled(privacy.GaussianLoss(1.0 + s / 20.0), q=0.01),
                    lambda s: privacy.GeometricLoss(float(np.exp(-1.0 / s))),
                    lambda s: privacy.StaircaseLoss(1.0 / s),
                ][place % 8](scale)
            )
    bound = accounting.epsilon(privacy.Composed(tuple(made)), delta=DELTA)
    return bound.lower, bound.upper


def peer(kind: str, count: int, *, above: bool = True) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    make = {"laplace": pld.from_laplace_mechanism, "discrete gaussian": pld.from_discrete_gaussian_mechanism}[kind]
    total = None
    for scale in scales(kind, count):
        one = make(scale, value_discretization_interval=1e-4, pessimistic_estimate=above)
        total = one if total is None else total.compose(one)
    assert total is not None
    return float(total.get_epsilon_for_delta(DELTA))


def worker(who: str, kind: str, count: int) -> None:
    if who == "ours":
        from privet import accounting, privacy  # noqa: F401
    else:
        from dp_accounting.pld import privacy_loss_distribution  # noqa: F401
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    if who == "ours":
        lower, upper = ours(kind, count)
    else:
        lower, upper = 0.0 if who == "peer" else peer(kind, count, above=False), peer(kind, count)
    spent = time.process_time() - start
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024.0
    print(json.dumps({"lower": lower, "upper": upper, "seconds": spent, "MB": megabytes}))


def asked(who: str, kind: str, count: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", who, kind, str(count)]
    found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--worker", nargs=3)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker[0], options.worker[1], int(options.worker[2]))
    print(
        f"{'':24}{'lower':>9}{'upper':>9}{'width':>9}{'s':>7}{'MB':>6}  {'peer upper':>10}{'s':>7}{'MB':>6}{'ratio':>7}"
        f"{'its lower':>10}{'s both':>7}{'ratio':>7}"
    )
    for kind in RANGES:
        for count in (30, 100, 300, 1000):
            if count > options.most:
                continue
            mine = asked("ours", kind, count)
            line = f"{count:5d} {kind:18}{mine['lower']:9.5f}{mine['upper']:9.5f}{mine['upper'] - mine['lower']:9.1e}"
            line += f"{mine['seconds']:7.2f}{mine['MB']:6.0f}"
            if kind != "eight kinds":
                other = asked("peer", kind, count)
                line += f"  {other['upper']:10.5f}{other['seconds']:7.2f}{other['MB']:6.0f}"
                line += f"{mine['seconds'] / other['seconds']:7.2f}"
                both = asked("both", kind, count)
                line += f"{both['lower']:10.5f}{both['seconds']:7.2f}{mine['seconds'] / both['seconds']:7.2f}"
            print(line, flush=True)
    return None


if __name__ == "__main__":
    main()
