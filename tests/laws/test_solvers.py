"""Every law of solvers over every registered one, and twins that break each of them."""

from dataclasses import dataclass, fields, replace

import pytest

from privet import testing
from privet.errors import InvalidParameter
from privet.learn.losses import Logistic
from privet.learn.solvers import NoisyGD, NoisyGDFit, Solver, SolverExample, registered_solvers
from privet.privacy import Guarantee, Unit
from tests.firsts import first_of_each

EXAMPLES = [example for kind in registered_solvers().values() for example in kind.examples()]
(SOUND,) = NoisyGD.examples()


@pytest.mark.parametrize("check_law", testing.laws_of("solver"), ids=lambda law: law.__name__)
@pytest.mark.parametrize("example", first_of_each(EXAMPLES, lambda example: example.kind))
def test_law(check_law, example):
    check_law(example)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_group_of_three_has_three_times_the_noise(example, relation):
    """In every part of the plan; a little less where groups are sampled. What is priced for one person alone is refused."""

    def plan(size):
        return example.solver.plan(
            replace(example.task, unit=Unit(relation, group_size=size)), example.loss, example.promise
        )

    try:
        one, three = plan(1), plan(3)
    except InvalidParameter:
        assert example.kind in ("objective_perturbation", "projected_sgd", "tukey_em")
        return
    assert three.loss.unit == Unit(relation, group_size=3)
    pairs = [(getattr(one, each.name), getattr(three, each.name)) for each in fields(one)]
    sizes = [
        [getattr(part, "scale", None) or part.sigma for part in pair]
        for pair in pairs
        if hasattr(pair[0], "sensitivity")
    ]
    louder = [large / small for small, large in sizes]
    assert louder
    assert min(louder) > 2.5


def test_every_solver_is_registered():
    testing.load_rooms()
    made = [each for each in Solver.__subclasses__() if each.__module__.startswith("privet.")]
    assert sorted(each.__name__ for each in made) == sorted(each.__name__ for each in registered_solvers().values())
    assert {example.kind for example in EXAMPLES} == set(registered_solvers())


class Cheap(NoisyGDFit):
    """A plan that forgets to charge a step."""

    name = "example_cheap_fit"

    @property
    def loss(self):
        return self.noise.loss


class Late(NoisyGDFit):
    """A plan that looks at its records only when it runs."""

    name = "example_late_fit"

    def _admit(self, value):
        pass


@dataclass(frozen=True)
class Twin(Solver):
    """Noisy gradients with something changed: what a law must see."""

    change: str = ""

    def plan(self, task, loss, target):
        if self.change == "protects others":
            task = replace(task, unit=Unit())
        if self.change == "spends more":
            target = Guarantee(1.5 * target.epsilon, target.delta)
        if self.change == "no word":
            raise InvalidParameter("no")
        made = NoisyGD(steps=2 + self._often()).plan(task, loss, target)
        kind = {"a step is free": Cheap, "looks late": Late}.get(self.change)
        return made if kind is None else kind(**{name: getattr(made, name) for name in made.__dataclass_fields__})

    def _often(self):
        COUNTED.append(self.change)
        return len(COUNTED) if self.change == "plans by the hour" else 0

    @classmethod
    def examples(cls):
        yield SolverExample(cls(), SOUND.task, Logistic(), SOUND.promise)


COUNTED = []
BROKEN = {
    "protects others": "check_plan_keeps_the_promise",
    "spends more": "check_plan_keeps_the_promise",
    "plans by the hour": "check_plan_keeps_the_promise",
    "no word": "check_plan_keeps_the_promise",
    "a step is free": "check_price_is_that_of_the_parts",
    "looks late": "check_records_that_do_not_fit_are_unpaid",
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_solver_is_seen(what):
    with pytest.raises(AssertionError):
        getattr(testing, BROKEN[what])(SolverExample(Twin(what), SOUND.task, Logistic(), SOUND.promise))


@pytest.mark.parametrize("check_law", testing.laws_of("solver"), ids=lambda law: law.__name__)
def test_a_sound_twin_passes(check_law):
    check_law(next(iter(Twin.examples())))
