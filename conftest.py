"""What every test shares, doctests in `src/` included."""

import os

from hypothesis import HealthCheck, settings

# `ci` gives the same verdict on every run and on every machine; `explore` looks for new failures.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", deadline=None, max_examples=1000)
pytest_plugins = ["tests.whole_run", "tests.fixed_coins"]

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# One worker a core: threads of linear algebra would only wait for each other. Workers inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A test must never open a window, whichever process it starts.
os.environ["MPLBACKEND"] = "Agg"
