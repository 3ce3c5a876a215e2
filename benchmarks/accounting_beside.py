"""The rows of accounting.py that an older source of privet can answer too: a worker of beside.py, with cold caches.

`compare(other)` asks this checkout and the `src` folder of another one in turn.
"""

from collections.abc import Callable

import beside  # sets threads, before numpy is loaded

from privet import accounting, privacy

CASES = {
    "A": (0.01, 4.0, 10_000, 1e-5),
    "B": (0.01, 1.0, 1_000, 1e-5),
    "C": (0.001, 0.8, 100_000, 1e-6),
    "D": (256 / 60_000, 1.1, 14_062, 1e-5),
    "E": (0.1, 20.0, 1_000, 1e-8),
    "F": (1.0, 100.0, 5_000, 1e-6),
}
TINY_CASE = (1e-5, 1.0, 1_000_000, 1e-8)
MULTIPLIERS = [1.0 + 0.1 * i for i in range(15)]


def sampled(q: float, z: float, steps: int) -> privacy.PrivacyLoss:
    return privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=z), q=q), steps)


def without_replacement() -> privacy.PrivacyLoss:
    base = privacy.GaussianLoss(noise_multiplier=1.1, unit=privacy.Unit("replace"))
    return privacy.Repeated(privacy.FixedSampled(base, m=256, n=60_000), 14_062)


def odometer() -> float:
    """Fifteen distinct noise multipliers, 100 steps each; epsilon is asked after every one, as tightly as by the peer."""
    spent: list[privacy.PrivacyLoss] = []
    for z in MULTIPLIERS:
        spent.append(sampled(0.01, z, 100))
        total = accounting.Tightest(tol=2e-5).epsilon(privacy.Composed(spent), 1e-5).upper
    return total


def _epsilon(loss: privacy.PrivacyLoss, delta: float, accountant: accounting.Accountant) -> Callable[[], float]:
    return lambda: accountant.epsilon(loss, delta).upper


def questions() -> dict[str, Callable[[], float]]:
    """What is asked, by the names of the rows."""
    asked: dict[str, Callable[[], float]] = {}
    quick, default = accounting.Tightest(tol=1e-3, two_sided=False), accounting.Tightest()
    for name, (q, z, steps, delta) in CASES.items():
        loss = sampled(q, z, steps)
        if q < 1.0:
            asked[f"RDP epsilon {name}"] = _epsilon(loss, delta, accounting.Rdp())
        asked[f"PLD upper {name}"] = _epsilon(loss, delta, quick)
        asked[f"two-sided {name}"] = _epsilon(loss, delta, default)
    for delta in (1e-12, 1e-20, 1e-50):
        asked[f"B at delta {delta:g}"] = _epsilon(sampled(*CASES["B"][:3]), delta, default)
    asked["z=0.3"] = _epsilon(sampled(0.01, 0.3, 1000), 1e-5, default)
    asked["T=1e7"] = _epsilon(sampled(0.001, 0.8, 10_000_000), 1e-6, default)
    asked["q=1e-5, T=1e6, within 1%"] = _epsilon(sampled(*TINY_CASE[:3]), TINY_CASE[3], accounting.Tightest(tol=1e-3))
    asked["WOR 256 of 60,000"] = _epsilon(without_replacement(), 1e-5, default)
    q, _, steps, delta = CASES["D"]
    for epsilon in (1.0, 3.0, 8.0):
        asked[f"calibrate epsilon={epsilon:g}"] = lambda e=epsilon: accounting.calibrate(  # type: ignore[misc]
            lambda z: sampled(q, z, steps), epsilon=e, delta=delta
        )
    asked["odometer, 15 distinct z"] = odometer
    return dict(sorted(asked.items()))


def work() -> None:
    """Answer questions with cold caches."""
    asked = questions()
    for question in (asked["two-sided B"], asked["RDP epsilon B"]):
        question()  # loads scipy
    beside.work(dict(asked), accounting.clear_caches)


def compare(other: str, only: str = "") -> list[beside.Beside]:
    """Every question (whose name contains `only`) asked of this checkout and of the `src` folder of another one."""
    return beside.compare(__file__, other, only)


if __name__ == "__main__":
    work()
