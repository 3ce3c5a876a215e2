"""Every law fails on something broken on purpose, and only then."""

import sys
from functools import cache, lru_cache

import pytest

from privet import privacy, testing
from privet.privacy import serial
from tests.laws.plant_groups import BUGS

ENROLLED = {law.__name__ for subject in ("loss", "accountant", "losses") for law in testing.laws_of(subject)}


def clear_caches():
    """A planted bug must not outlive its test, nor find the answers of healthy code."""
    for cached in caches(len(sys.modules)):
        cached.cache_clear()


@lru_cache(maxsize=1)
def caches(modules):
    """Every cache of the package; looked for again only when a module has joined, which takes long."""
    values = (
        value
        for name, module in list(sys.modules.items())
        if name.startswith("privet.")
        for value in list(vars(module).values())
    )
    return [each for each in values if not isinstance(each, type) and callable(getattr(each, "cache_clear", None))]


@pytest.fixture(autouse=True)
def fresh_caches():
    clear_caches()
    yield
    clear_caches()


@pytest.mark.parametrize("planted", BUGS, ids=lambda planted: f"{planted.law}-{planted.name}".replace(" ", "_"))
def test_law_catches_the_planted_bug(planted, monkeypatch):
    healthy_code_obeys(planted.law, planted.healthy)
    clear_caches()
    arguments = planted.plant(monkeypatch) or planted.healthy()
    with pytest.raises(AssertionError):
        getattr(testing, planted.law)(*arguments)


@cache
def healthy_code_obeys(law, healthy):
    """Once for all bugs that share their arguments."""
    getattr(testing, law)(*healthy())


def test_every_law_has_been_seen_to_fail():
    assert {planted.law for planted in BUGS} == ENROLLED


def test_a_new_kind_without_examples_is_noticed(monkeypatch):
    class NewLoss(privacy.PrivacyLoss):
        kind = "brand_new"

    monkeypatch.setitem(serial._KINDS, "brand_new", NewLoss)
    with pytest.raises(AssertionError, match="brand_new"):
        testing.assert_every_kind_has_examples()


def test_an_example_under_the_wrong_kind_is_noticed():
    table = {**testing.example_losses(), "pure": (privacy.LaplaceLoss(1.0),)}
    with pytest.raises(AssertionError, match="listed under 'pure'"):
        testing.assert_every_kind_has_examples(table)
