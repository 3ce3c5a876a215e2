"""Noise beside numpy (fast, unprotected floats) and OpenDP (exact): draws per CPU-second, in one process, one thread.

Rounds of all three are interleaved and the best of each counts, so a busy machine slows all of them alike. The ratio is
the result. Exactness is shown beside speed: every sampler of privet is G-tested on a million fresh draws.
"""

import importlib.metadata
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import opendp.prelude as dp  # noqa: E402

from privet import noise, testing  # noqa: E402

N = 1_000_000
ROUNDS = 7
RNG = np.random.default_rng()


@dataclass
class Row:
    """One law at one scale: millions of draws per CPU-second of each library, and a p-value."""

    task: str
    ours: float
    numpy: float
    opendp: float | None = None
    first_ms: float | None = None  # what the first call costs beyond a later one: tables
    p_value: float | None = None

    @property
    def to_numpy(self) -> float:
        return self.ours / self.numpy

    @property
    def to_opendp(self) -> float | None:
        return None if self.opendp is None else self.ours / self.opendp


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def opendp_noise(kind: str, scale: float) -> tuple[Callable[[], object], int]:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "gaussian":
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
    else:
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T="f64"), scale=scale)
    count = 5_000
    return partial(measurement, [0] * count), count


def compare(
    task: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    exact_peer: tuple[Callable[[], object], int] | None,
    law: Callable[[np.ndarray], np.ndarray] | None,
) -> Row:
    first = seconds(ours)
    best = {"ours": float("inf"), "numpy": float("inf"), "opendp": float("inf")}
    for _ in range(ROUNDS):
        best["ours"] = min(best["ours"], seconds(ours) / N)
        best["numpy"] = min(best["numpy"], seconds(peer) / N)
        if exact_peer is not None:
            best["opendp"] = min(best["opendp"], seconds(exact_peer[0]) / exact_peer[1])
    speed = {name: 1e-6 / value for name, value in best.items()}
    p_value = None if law is None else testing.g_test(np.asarray(ours()), law).p_value
    return Row(
        task,
        speed["ours"],
        speed["numpy"],
        speed["opendp"] if exact_peer is not None else None,
        1e3 * (first - best["ours"] * N),
        p_value,
    )


def gaussian_rows() -> list[Row]:
    rows = []
    normal = partial(RNG.normal, size=N)
    for sigma in (1.0, 10.0, 1_000.0, 10_000.0, 2.0**20, 2.0**40):
        law = partial(testing.pmf_discrete_gaussian, sigma=sigma) if sigma <= 1e4 else None
        ours = partial(noise.discrete_gaussian, sigma=sigma, size=N)
        rows.append(compare(f"discrete Gaussian, sigma {sigma:g}", ours, normal, opendp_noise("gaussian", sigma), law))
    for sigma in (1.0, 10.0, 1_000.0, 2.0**24, 2.0**40):
        law = partial(testing.pmf_rounded_gaussian, sigma=sigma) if sigma <= 1e4 else None
        ours = partial(noise.rounded_gaussian, sigma=sigma, size=N)
        rows.append(compare(f"rounded Gaussian, sigma {sigma:g}", ours, normal, None, law))
    centers = RNG.normal(scale=100.0, size=N)
    for sigma in (1.0, 2.0**24):
        ours = partial(noise.rounded_gaussian, sigma=sigma, center=centers)
        rows.append(compare(f"rounded Gaussian, sigma {sigma:g}, a centre each", ours, normal, None, None))
    return rows


def laplace_rows() -> list[Row]:
    rows = []
    laplace = partial(RNG.laplace, size=N)
    for scale in (1.0, 10.0, 1_000.0, 2.0**24, 2.0**40):
        law = partial(testing.pmf_discrete_laplace, scale=scale) if scale <= 1e4 else None
        ours = partial(noise.discrete_laplace, scale=scale, size=N)
        rows.append(compare(f"discrete Laplace, scale {scale:g}", ours, laplace, opendp_noise("laplace", scale), law))
    for scale in (10.0, 2.0**24):
        law = partial(testing.pmf_rounded_laplace, scale=scale) if scale <= 1e4 else None
        ours = partial(noise.rounded_laplace, scale=scale, size=N)
        rows.append(compare(f"rounded Laplace, scale {scale:g}", ours, laplace, None, law))
    cauchy = partial(RNG.standard_cauchy, size=N)
    rows.append(
        compare("rounded Cauchy, scale 2^24", partial(noise.rounded_cauchy, scale=2**24, size=N), cauchy, None, None)
    )
    return rows


def other_rows() -> list[Row]:
    uniform = partial(RNG.random, size=N)
    geometric = partial(noise.geometric, scale=10.0, size=N)
    law = partial(testing.pmf_geometric, scale=10.0)
    return [
        compare("geometric, scale 10", geometric, partial(RNG.geometric, 0.095, size=N), None, law),
        compare("Bernoulli(0.3)", partial(noise.bernoulli, p=0.3, size=N), uniform, None, None),
        compare("Bernoulli(exp(-x)), array x", partial(noise.bernoulli_exp, x=RNG.random(N)), uniform, None, None),
        compare(
            "uniform below 1,000",
            partial(noise.uniform_int, bound=1000, size=N),
            partial(RNG.integers, 1000, size=N),
            None,
            None,
        ),
    ]


def single_draws() -> dict[str, float]:
    """Microseconds for one draw, a fresh key included."""
    draws = {
        "discrete Laplace": partial(noise.discrete_laplace, scale=10.0),
        "discrete Gaussian": partial(noise.discrete_gaussian, sigma=10.0),
        "rounded Laplace": partial(noise.rounded_laplace, scale=2.0**24, center=0.3),
        "rounded Gaussian": partial(noise.rounded_gaussian, sigma=2.0**24, center=0.3),
    }
    best = {}
    for name, draw in draws.items():
        best[name] = min(seconds(lambda draw=draw: [draw() for _ in range(500)]) / 500 for _ in range(9)) * 1e6
    return best


def show(rows: list[Row], single: dict[str, float]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"Exact noise, millions of draws per CPU-second (OpenDP {importlib.metadata.version('opendp')})"
    )
    for heading in ("law", "privet", "numpy floats", "OpenDP", "of numpy", "of OpenDP", "first call ms", "G-test p"):
        table.add_column(heading, justify="left" if heading == "law" else "right")
    for row in rows:
        table.add_row(
            row.task,
            f"{row.ours:.1f}",
            f"{row.numpy:.1f}",
            "" if row.opendp is None else f"{row.opendp:.3f}",
            f"{row.to_numpy:.2f}x",
            "" if row.to_opendp is None else f"{row.to_opendp:.0f}x",
            f"{max(row.first_ms or 0.0, 0.0):.1f}",
            "" if row.p_value is None else f"{row.p_value:.3f}",
        )
    console = Console(width=140)
    console.print(table)
    console.print("single draws: " + ", ".join(f"{name} {value:.1f} us" for name, value in single.items()))


def missed(rows: list[Row], single: dict[str, float]) -> list[str]:
    """Targets that this run did not meet."""
    found = []
    for row in rows:
        if row.p_value is not None and row.p_value < 1e-6:
            found.append(f"{row.task}: not its law")
        if row.to_opendp is not None and row.to_opendp < 20:
            found.append(f"{row.task}: below 20x OpenDP")
        if "sigma" in row.task and row.task.startswith("discrete") and row.ours < 1.0:
            found.append(f"{row.task}: below 1 M/s")
        if row.task in ("discrete Gaussian, sigma 10", "discrete Gaussian, sigma 1000") and (
            row.ours < 20 or row.to_numpy < 0.5
        ):
            found.append(f"{row.task}: below 20 M/s or half of numpy")
        if row.task.startswith("rounded Gaussian") and row.to_numpy < 0.2:
            found.append(f"{row.task}: below a fifth of numpy")
    found += [f"single {name}: above 20 us" for name, value in single.items() if value > 20]
    return found


def main() -> None:
    noise.rounded_gaussian(sigma=1.0)  # loads scipy
    rows = gaussian_rows() + laplace_rows() + other_rows()
    single = single_draws()
    show(rows, single)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    lines = [{**asdict(row), "to_numpy": row.to_numpy, "to_opendp": row.to_opendp} for row in rows]
    (results / "noise.json").write_text(json.dumps({"rows": lines, "single_us": single}, indent=1) + "\n")
    print("; ".join(missed(rows, single)) or "every target met")


if __name__ == "__main__":
    main()
