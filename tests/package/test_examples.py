"""The examples run, and find what they say."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_the_planner_finds_the_cells_of_the_lectures():
    bmi = runpy.run_path(str(EXAMPLES / "bmi.py"))
    people = bmi["table"]()
    for epsilon in (0.1, 0.01):
        assert bmi["one_by_one"](epsilon) * epsilon**2 == pytest.approx(128.0)
        # noise on whole numbers has a little less variance than Laplace noise: 12 is approached from below
        assert 12.0 * (1.0 - epsilon**2) < bmi["together"](people, epsilon) * epsilon**2 <= 12.0
    assert bmi["asked"](people).preview(epsilon=0.1).mechanism.strategy.describe() == "every cell"
