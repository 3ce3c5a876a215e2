"""Every law of one loss, over every registered kind and over random prices."""

import pytest
from hypothesis import given, settings, strategies as st

from privet import privacy, testing
from tests.firsts import first_of_each

EXAMPLES = first_of_each(
    (loss for losses in testing.example_losses().values() for loss in losses),
    lambda loss: loss.kind,
    lambda loss, number: f"{loss.kind}-{number}",
)

# Laws that ask for no number of an accountant are quick enough for random prices.
RANDOM_LAWS = [
    testing.check_hashable,
    testing.check_json_round_trip,
    testing.check_singles_are_one_fold,
    testing.check_equal_is_interchangeable,
    testing.check_total_variation,
    testing.check_profile_shape,
    testing.check_mirror,
    testing.check_masses,
    testing.check_cells,
    testing.check_enclosure,
    testing.check_mixed_units_raise,
    testing.check_group_of_one,
    testing.check_sampling_identity,
    testing.check_poisson_amplification,
    testing.check_fixed_amplification,
    testing.check_statements_cover_pair,
]

RELATIONS = ("add_remove", "replace")

ENROLLED = {law.__name__ for subject in ("loss", "accountant", "losses") for law in testing.laws_of(subject)}


def test_every_registered_kind_has_examples():
    testing.assert_every_kind_has_examples()


def test_every_law_of_the_room_is_run_or_named_here():
    """A law that is written and never run is no law."""
    listed = {law.__name__ for law in (*testing.LOSS_LAWS, *testing.ACCOUNTANT_LAWS)}
    elsewhere = {
        "check_costs_nothing",
        "check_nested_is_flat",
        "check_never_costs_more",
        "check_order_does_not_matter",
        # over a grid of training runs: tests/laws/test_tightness.py
        "check_inverse",
        "check_monotone",
        "check_narrow",
    }
    assert listed | elsewhere == {
        law.__name__ for subject in ("loss", "accountant", "losses") for law in testing.laws_of(subject)
    }


@pytest.mark.parametrize("loss", EXAMPLES)
def test_every_law(loss):
    """All laws in one test: a loss that breaks several shows all of them."""
    broken = []
    for law in testing.LOSS_LAWS:
        try:
            law(loss)
        except AssertionError as error:
            broken.append(f"{law.__name__}: {error}")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("law", RANDOM_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("relation", RELATIONS)
def test_law_on_random_losses(law, relation):
    @settings(max_examples=12)
    @given(testing.loss_strategy(relation=relation))
    def check_random(loss):
        law(loss)

    check_random()


@pytest.mark.parametrize("relation", RELATIONS)
def test_order_and_nesting_of_random_losses(relation):
    @settings(max_examples=40)
    @given(st.lists(testing.loss_strategy(relation=relation, selection=True), min_size=2, max_size=3))
    def check_random(losses):
        testing.check_order_does_not_matter(losses)
        testing.check_nested_is_flat(losses)

    check_random()


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_order_and_nesting_of_all_examples(relation):
    unit = privacy.Unit(relation)
    losses = [loss for row in testing.example_losses().values() for loss in row if loss.unit == unit]
    testing.check_order_does_not_matter(losses[:12])
    testing.check_nested_is_flat(losses)
    shuffled = [losses[(7 * index) % len(losses)] for index in range(len(losses))] if len(losses) % 7 else losses[::-1]
    assert privacy.Composed(shuffled) == privacy.Composed(losses)
