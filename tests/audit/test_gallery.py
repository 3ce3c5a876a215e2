"""The gallery of catches: float noise is caught by its low bits, privet's is not, and the show runs without any peer."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from privet import audit, mechanisms, privacy
from privet.audit.search import KINDS

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
ALPHA = 1e-6


@pytest.fixture
def gallery(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    import gallery

    yield gallery
    for name in [name for name in sys.modules if name == "gallery" or name.partition(".")[0] == "exhibits"]:
        del sys.modules[name]


class FloatLaplace:
    """Noise of numpy, added as it is, or on a grid of 2^-20."""

    def __init__(self, on_grid: bool = False) -> None:
        self.rng, self.on_grid = np.random.default_rng(), on_grid

    def simulate(self, value, runs):
        noisy = value + self.rng.laplace(0.0, 1.0, runs)
        return np.round(noisy * 2.0**20) / 2.0**20 if self.on_grid else noisy

    def __call__(self, value):
        return float(self.simulate(value, 1)[0])


def found(mechanism, **options):
    claim = privacy.PureLoss(1.0)
    return audit.mechanism(mechanism, claim=claim, neighbours=[(0.0, 1.0)], runs=20_000, alpha=ALPHA, **options)


def test_the_low_bits_of_numpy_noise_are_caught():
    result = found(FloatLaplace())
    assert result.verdict == "violated"
    assert result.witness.event.kind == "lowest bit"
    assert result.lower.lower > 4.0
    # A sum 1 + x is a multiple of 2^-53 whatever x is, so the event is impossible in one world, not only rare.
    assert result.test.counts.fp == 0
    assert result.witness.event.threshold < -53.0


def test_nothing_but_the_low_bits_gives_it_away():
    others = [kind for kind in KINDS if kind != "lowest bit"]
    assert found(FloatLaplace(), look_at=others).verdict == "not refuted"


def test_noise_on_a_grid_is_not_accused():
    assert found(FloatLaplace(on_grid=True)).verdict == "not refuted"
    assert found(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)).verdict == "not refuted"


def test_the_gallery_runs_with_numpy_alone(gallery, tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "version", only("numpy", gallery.version))
    lines = gallery.main(["--runs", "8000"], results=tmp_path)
    assert {line.peer for line in lines} == set(gallery.PEERS)
    assert {line.verdict for line in lines if line.peer != "numpy"} == {"not installed"}
    laplace = next(line for line in lines if line.mechanism == "laplace")
    assert (laplace.verdict, laplace.kind, laplace.on_grid) == ("violated", "lowest bit", "not refuted")
    (saved, *_) = json.loads((tmp_path / "gallery.json").read_text())
    certificate = audit.Certificate.from_json(json.dumps(saved["certificate"]))
    assert (certificate.verdict, certificate.alpha) == ("violated", gallery.ALPHA)


def only(name, version):
    def installed(peer):
        if peer != name:
            from importlib.metadata import PackageNotFoundError

            raise PackageNotFoundError(peer)
        return version(peer)

    return installed


def test_exact_laws_of_the_exhibits_are_as_told(gallery):
    from exhibits import of_multi_freq_ldpy
    from exhibits.base import geometric_law, pushed

    claim = privacy.PureLoss(1.0)
    noise = geometric_law(1.0, 40)
    counts = [pushed(noise, lambda k, value=value: min(30, max(0, value + k))) for value in (0, 1, 3)]
    assert audit.exact_pair(counts[0], counts[1], claim=privacy.PureLoss(1.0 + 1e-9)).verdict == "not refuted"
    assert audit.exact_pair(counts[0], counts[2], claim=claim).epsilon == pytest.approx(3.0)
    as_written, right = of_multi_freq_ldpy._place_in_subset(16, 1.0)
    assert math.isclose(sum(right.values()), 1.0)
    assert audit.exact_pair(as_written, right, claim=claim).epsilon == math.inf
    as_set = [{"in": law["first"] + law["later"], "out": law["absent"]} for law in (as_written, right)]
    assert audit.exact_pair(*as_set, claim=privacy.PureLoss(1.0 + 1e-9)).verdict == "not refuted"
