"""Exact quantities flow into releases alone: the law over every algorithm and strategy, and source twins that break it."""

import inspect
import textwrap

import pytest

from privet import testing
from privet.learn.solvers import boosted_ssp, coordinate
from privet.mechanisms import registered_mechanisms
from privet.testing.flows import TRUSTED, exact_flows
from privet.workloads import DAWA, MWEM, AdaptiveGrid, Automatic
from privet.workloads.adaptive import AdaptiveStrategy
from tests.seams import toy

STRATEGIES = [AdaptiveGrid(), DAWA(), MWEM(), Automatic()]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: each.name)
def test_strategies_hand_exact_cells_to_releases_alone(strategy):
    assert exact_flows(type(strategy)._run, strategy) == []


def test_every_strategy_is_read():
    known = {each for each in AdaptiveStrategy.__subclasses__() if each.__module__.startswith("privet.")}
    assert {type(each) for each in STRATEGIES} == known


def twin(kind, method, old, new):
    """The same class with one piece of the source of a method changed; its source can be read as the original's can."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(getattr(kind, method))))
    assert source.count(old) == 1, "the planted bug must follow the source"
    names = dict(vars(inspect.getmodule(kind)))
    file = f"<twin of {kind.__name__}.{method}>"
    changed = source.replace(old, new)
    exec(compile(changed, file, "exec"), names)
    made = names[method]
    made.__qualname__ = f"{kind.__name__}.{method}"
    return made, changed


PLANTED = {
    "boosted: the clip follows the exact spread": (
        boosted_ssp.BoostedFit,
        "_with_slopes",
        "clip_of(float(squares), float(many), self.spread.sigma)",
        "clip_of(float(others[0]), float(many), self.spread.sigma)",
    ),
    "coordinate: the clip follows the exact sizes": (
        coordinate.CoordinateFit,
        "_moved",
        "quantile_of_sizes(np.asarray(noisy), self.quantile.sigma, self.clip)",
        "quantile_of_sizes(columns.sizes(lengths, self.clip), self.quantile.sigma, self.clip)",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_flows_are_found(name, monkeypatch):
    kind, method, old, new = PLANTED[name]
    made, source = twin(kind, method, old, new)
    plain = inspect.getsource
    monkeypatch.setattr(inspect, "getsource", lambda each: source if each is made else plain(each))
    monkeypatch.setattr(kind, method, made)
    example = next(iter(kind.examples()))
    with pytest.raises(AssertionError, match="computed from exact quantities"):
        testing.check_exact_numbers_stay_inside(example)


def test_a_mechanism_that_is_chosen_by_an_exact_number_is_found():
    found = exact_flows(ChosenByData._run, ChosenByData())
    assert any("chooses the mechanism" in each for each in found)


class ChosenByData(toy.Toy):
    """Which part is asked depends on the exact number of rows."""

    name = "toy_with_a_part_chosen_by_data"

    def _run(self, prepared, source):
        part = self.count if len(prepared) > 3 else self.total
        return part.release(prepared.sum(axis=0), source=source).value


class BranchesOnData(toy.Toy):
    """What comes out is set in a branch on the exact number of rows."""

    name = "toy_with_a_branch_on_data"

    def _run(self, prepared, source):
        n = self.count.release(len(prepared), source=source).value
        if len(prepared) > 3:
            n = 0.0
        return n


def test_a_branch_on_an_exact_number_is_found():
    assert exact_flows(BranchesOnData._run, BranchesOnData())
    assert exact_flows(toy.Leaking._run, toy.Leaking())
    assert exact_flows(toy.Toy._run, toy.Toy()) == []


def test_what_is_trusted_is_a_short_list_of_functions_that_exist():
    assert len(TRUSTED) <= 3
    for name in TRUSTED:
        owner = name.partition(".")[0]
        known = {type(each).__name__ for each in STRATEGIES} | {
            each.__name__ for each in registered_mechanisms().values()
        }
        assert owner in known or owner == "known_rows"
