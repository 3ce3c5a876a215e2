"""A call with a wrong keyword is refused by one sentence of ours that names the right one, for every mechanism."""

import inspect
import sys

import pytest

from privet import Budget, accounting, mechanisms, privacy
from privet._calls import door
from privet.errors import InvalidCall, InvalidParameter
from privet.mechanisms import registered_mechanisms

# those that questions about tables make know no budget by themselves
KINDS = sorted((name, kind) for name, kind in registered_mechanisms().items() if hasattr(kind, "for_budget"))
OTHERS = {
    "Budget": Budget,
    "Guarantee": privacy.Guarantee,
    "calibrate": lambda **given: accounting.calibrate(privacy.GaussianLoss, **given),
    "least_noise": lambda **given: mechanisms.least_noise(l1=1, l2=1, **given),
}


def said(call, *args, **keywords):
    with pytest.raises(InvalidParameter) as caught:
        call(*args, **keywords)
    text = str(caught.value)
    assert "__init__" not in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_budget_by_another_name(name, kind):
    text = said(kind.for_budget, eps=1.0)
    assert f"{kind.__name__}.for_budget takes no 'eps': did you mean epsilon?" in text


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_unknown_missing_and_nameless_arguments(name, kind):
    taken = list(inspect.signature(kind.for_budget).parameters)
    unknown = said(kind.for_budget, epsilon=1.0, colour="red")
    assert "takes no 'colour'" in unknown
    assert all(word in unknown for word in taken)
    assert "by name" in said(kind.for_budget, 1.0)
    signature = inspect.signature(kind.for_budget).parameters.values()
    needed = [p.name for p in signature if p.default is p.empty and p.name != "epsilon"]
    if needed:
        assert all(word in said(kind.for_budget, epsilon=1.0) for word in needed)


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_a_mechanism_made_by_hand_names_the_way_to_a_budget(name, kind):
    if "epsilon" not in inspect.signature(kind).parameters:
        assert f"{kind.__name__}.for_budget(epsilon=...)" in said(kind, epsilon=1.0)
    assert f"{kind.__name__}.for_budget(epsilon=...)" in said(kind, 1.0)


@pytest.mark.parametrize("name", OTHERS)
def test_other_takers_of_a_budget(name):
    assert "takes no 'eps': did you mean epsilon?" in said(OTHERS[name], eps=1.0)
    assert "none was given" in said(OTHERS[name])
    assert "epsilon and rho were given" in said(OTHERS[name], epsilon=1.0, rho=1.0)


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        (mechanisms.BoundedSum, "lower", "bounds"),
        (mechanisms.Histogram, "bins", "edges"),
        (mechanisms.Quantile, "quantile", "q"),
        (mechanisms.Exponential, "monotone", "monotonic"),
        (mechanisms.AboveThreshold, "treshold", "threshold"),
    ],
)
def test_words_of_other_libraries(kind, wrong, right):
    assert f"did you mean {right}?" in said(kind.for_budget, **{"epsilon": 1.0, wrong: 1})


def test_unit_as_a_word_is_refused_alike():
    options = {"bounds": (0, 10), "epsilon": 1.0, "unit": "replace"}
    kinds = [mechanisms.BoundedSum, mechanisms.BoundedMean, mechanisms.BoundedVariance, mechanisms.SmoothMedian]
    found = {said(kind.for_budget, **options) for kind in kinds}
    found.add(said(mechanisms.Quantile.for_budget, q=0.5, **options))
    found.add(said(mechanisms.Laplace.for_budget, epsilon=1.0, sensitivity=1, unit="replace"))
    assert found == {'unit must be a Unit, such as privacy.Unit("replace"), got str'}


def test_what_fails_inside_a_proper_call_is_not_retold():
    @door
    def broken(*, epsilon=None):
        return len(epsilon)

    with pytest.raises(TypeError, match="has no len") as caught:
        broken(epsilon=3)
    assert not isinstance(caught.value, InvalidCall)


def test_signature_and_name_stay():
    @door
    class Thing:
        def __init__(self, *, size):
            self.size = size

    assert Thing(size=3).size == 3
    assert list(inspect.signature(Thing).parameters) == ["size"]
    assert "Thing needs size" in said(Thing)
    assert list(inspect.signature(mechanisms.Laplace.for_budget).parameters)[:2] == ["sensitivity", "unit"]


def test_a_class_whose_module_was_loaded_anew_speaks_for_itself(monkeypatch):
    """A notebook loads modules again; older classes are no longer where their names lead."""
    older = mechanisms.Laplace
    monkeypatch.setattr(sys.modules[older.__module__], "Laplace", type("Laplace", (), {}))
    assert "scale must be greater than 0" in said(older, scale=-1.0, sensitivity=1.0)
    assert said(older(scale=1.0, sensitivity=1.0).simulate).startswith("Laplace.simulate needs value and runs")
    assert "did you mean epsilon" in said(older.for_budget, epsilonn=1.0)
