"""Extraction: the search finds the likeliest text of the whole space, and says when it was cut short."""

from itertools import product

import numpy as np
import pytest

from privet import audit
from privet.errors import InvalidData, InvalidParameter

DIGITS = "0123456789"


def chain(seed=0, gain=0.0, secret="314159"):
    """A model of digits by the digit before, which has learned one text."""
    table = np.random.default_rng(seed).dirichlet(np.ones(10), size=11)

    def following(texts):
        rows = []
        for text in texts:
            row = table[10 if not text else int(text[-1])].copy()
            if secret.startswith(text) and len(text) < len(secret):
                row = (1.0 - gain) * row + gain * np.eye(10)[int(secret[len(text)])]
            rows.append(np.log(row))
        return np.array(rows)

    return following


def test_the_likeliest_of_all_is_found():
    following = chain()
    found = audit.extract(following, alphabet=DIGITS, length=4, most=5)
    assert found.complete
    costs = {
        "".join(text): -sum(following(["".join(text[:i])])[0][int(text[i])] for i in range(4))
        for text in product(DIGITS, repeat=4)
    }
    assert [name for name, _ in found.found] == sorted(costs, key=costs.get)[:5]
    assert found.found[0][1] == pytest.approx(min(costs.values()))
    assert found.asked < 1_111  # of as many beginnings


def test_a_secret_that_was_learned_is_read_out_and_one_that_was_not_is_not():
    assert audit.extract(chain(gain=0.95), alphabet=DIGITS, length=6).rank("314159") == 1
    assert audit.extract(chain(), alphabet=DIGITS, length=6).rank("314159") is None


def test_a_search_that_is_cut_short_says_so():
    found = audit.extract(chain(), alphabet=DIGITS, length=6, budget=3)
    assert not found.complete
    assert found.asked <= 3
    assert found.found == ()


def test_symbols_that_cannot_follow_are_not_tried():
    with np.errstate(divide="ignore"):
        only = np.log(np.eye(2)[1])
    found = audit.extract(lambda texts: np.tile(only, (len(texts), 1)), alphabet="ab", length=3, most=4, start="x")
    assert found.found == (("bbb", 0.0),)
    assert found.complete


def test_answers_that_are_no_logarithms_are_refused():
    with pytest.raises(InvalidData):
        audit.extract(lambda texts: np.ones((len(texts), 2)), alphabet="ab", length=3)
    with pytest.raises(InvalidData):
        audit.extract(lambda texts: np.zeros((len(texts), 3)), alphabet="ab", length=3)
    with pytest.raises(InvalidParameter):
        audit.extract(chain(), alphabet="aa", length=3)


def test_what_a_model_says_when_it_fails_is_not_quoted():
    def failing(texts):
        raise KeyError("SECRET")

    with pytest.raises(InvalidData, match=r"following failed on the records it was asked about \(KeyError\)") as caught:
        audit.extract(failing, alphabet="ab", length=2)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(InvalidData, match="answers of following must be numbers"):
        audit.extract(lambda texts: [["SECRET", "x"]] * len(texts), alphabet="ab", length=2)


def test_a_whole_text_waits_for_beginnings_before_it():
    """More symbols than are asked for at once: the 65th beginning lies before the first whole text, and leads below it."""
    symbols = [chr(0x4E00 + i) for i in range(70)]

    def following(texts):
        ends = {"": -1.0 - 0.01 * np.arange(70), symbols[64]: np.full(70, -0.005)}
        return np.array([ends.get(text, np.full(70, -0.65)) for text in texts])

    (found,) = audit.extract(following, alphabet=symbols, length=2).found
    assert found[0].startswith(symbols[64])
    assert found[1] == pytest.approx(1.645)
