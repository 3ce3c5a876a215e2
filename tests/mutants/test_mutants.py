"""The table of planted bugs follows the source: each has its one place, and planting it leaves valid Python."""

import pytest

from tests.mutants import MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.file}: {mutant.name}")
def test_bug_can_be_planted(mutant):
    compile(mutant.text(), mutant.file, "exec")
    assert mutant.old != mutant.new


def test_names_are_unique():
    assert len({(mutant.file, mutant.name) for mutant in MUTANTS}) == len(MUTANTS)
