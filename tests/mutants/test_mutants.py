"""The table of planted bugs follows the source: each has its one place, and planting it leaves valid Python."""

import pytest

from tests.mutants import MUTANTS
from tests.mutants.mutant import SOURCE, Mutant, definitions, find


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.key)
def test_bug_can_be_planted(mutant):
    planted = mutant.text()
    compile(planted, mutant.file, "exec")
    assert planted != (SOURCE / mutant.file).read_text(encoding="utf-8")


def test_names_are_unique():
    assert len({mutant.key for mutant in MUTANTS}) == len(MUTANTS)


def test_a_place_that_is_gone_or_doubled_is_named():
    with pytest.raises(LookupError, match="names 0 definitions"):
        find("ledger:Ledger.nothing_of_that_name")
    doubled = [each.name.rpartition(".")[2] for each in definitions("privacy")]
    often = max(set(doubled), key=doubled.count)
    with pytest.raises(LookupError, match="definitions"):
        find(f"privacy:{often}")


def test_the_text_is_sought_in_its_place_alone():
    with pytest.raises(LookupError, match="stands 0 times"):
        Mutant("elsewhere", "noise:Source", "text = _keystream(self._key, _KEY + count)", "", ()).text()


def test_a_text_that_is_laid_out_anew_is_found():
    other = "text   =  _keystream(\n    self._key,  # why\n  _KEY + count)"
    planted = Mutant("layout", "noise:_SeededStream._fill", other, "text = b''", ()).text()
    assert "        text = b''\n        self._key = bytes(text[:_KEY])" in planted
