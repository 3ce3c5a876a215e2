"""The JSON form: a golden text of every kind ever written, unknown kinds and versions, corrupted texts."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from privet import accounting, privacy, testing
from privet.errors import NoGuarantee, SerialisationError

GOLDEN = Path(__file__).parent / "golden_json"
ANSWERS = json.loads((GOLDEN / "_answers.json").read_text(encoding="utf-8"))
TEXTS = {path.stem: path.read_text(encoding="utf-8").strip() for path in sorted(GOLDEN.glob("[a-z]*.json"))}

FUTURE = '{"amount":3,"kind":"from_the_future","privet":1,"unit":{"group_size":1,"relation":"add_remove"}}'


def number(value):
    return math.inf if value == "inf" else value


@pytest.mark.parametrize("name", TEXTS)
def test_golden_text_loads_and_is_written_again_unchanged(name):
    loss = privacy.from_json(TEXTS[name])
    assert type(loss) is privacy.registered_kinds()[name.partition(".")[0]]
    assert privacy.to_json(loss) == TEXTS[name]


def test_every_registered_kind_has_a_golden_text():
    assert {name.partition(".")[0] for name in TEXTS} == set(privacy.registered_kinds())


@pytest.mark.parametrize("name", TEXTS)
def test_golden_text_keeps_its_meaning(name):
    """Bounds may become tighter, never looser; what a price states exactly stays as it is."""
    loss, old = privacy.from_json(TEXTS[name]), ANSWERS[name]
    epsilon, delta = loss.approximate()
    curve = loss.rdp(np.array([2.0, 8.0]))
    new = [loss.pure(), epsilon, delta, loss.gdp(), *curve.values, curve.delta0]
    expected = [number(old[key]) for key in ("pure", "epsilon", "delta", "gdp")]
    expected += [number(value) for value in old["rdp"]] + [old["delta0"]]
    for found, wanted in zip(new, expected, strict=True):
        assert found <= wanted * (1.0 + 1e-6)
    stated = [0, 1, 2, 6]
    assert [new[i] for i in stated] == pytest.approx([expected[i] for i in stated], rel=1e-9)
    if all(part.exact for part, _ in loss.parts()):
        assert new[4:6] == pytest.approx(expected[4:6], rel=1e-6)


@pytest.mark.parametrize("name", TEXTS)
def test_key_order_and_blanks_do_not_matter(name):
    backwards = dict(reversed(json.loads(TEXTS[name]).items()))
    assert privacy.to_json(privacy.from_json(json.dumps(backwards, indent=3))) == TEXTS[name]


def test_integers_and_floats_and_negative_zero_are_one_price():
    assert privacy.to_json(privacy.PureLoss(1)) == privacy.to_json(privacy.PureLoss(1.0))
    assert privacy.to_json(privacy.PureLoss(-0.0)) == privacy.to_json(privacy.PureLoss(0.0))
    assert privacy.to_json(privacy.PureLoss(np.float64(0.5))) == privacy.to_json(privacy.PureLoss(0.5))
    assert privacy.Repeated(privacy.PureLoss(1.0), np.int64(3)) == privacy.Repeated(privacy.PureLoss(1.0), 3.0)
    whole = privacy.FinitePairLoss((1, 0), (0, 1))
    assert whole == privacy.FinitePairLoss((1.0, 0.0), (0.0, 1.0))


def test_a_missing_field_takes_its_default():
    text = '{"kind":"discrete_laplace","privet":1,"scale":2.0,"unit":{"relation":"add_remove"}}'
    assert privacy.from_json(text) == privacy.DiscreteLaplaceLoss(2.0, sensitivity=1)
    bare = '{"kind":"pure","privet":1,"epsilon":1.0}'
    assert privacy.from_json(bare) == privacy.PureLoss(1.0)


# --- the future ------------------------------------------------------------------------------------------------

QUESTIONS = {
    "pure": lambda loss: loss.pure(),
    "approximate": lambda loss: loss.approximate(),
    "zcdp": lambda loss: loss.zcdp(),
    "gdp": lambda loss: loss.gdp(),
    "gaussian": lambda loss: loss.gaussian(),
    "rdp": lambda loss: loss.rdp(np.array([2.0])),
    "variable": lambda loss: loss.variable("remove"),
    "profile": lambda loss: loss.profile(1.0),
    "grouped": lambda loss: loss.grouped(2),
    "epsilon": lambda loss: accounting.epsilon(loss, delta=1e-5),
    "delta": lambda loss: accounting.delta(loss, epsilon=1.0),
    **{
        f"epsilon by {type(accountant).__name__}": lambda loss, accountant=accountant: accountant.epsilon(loss, 1e-5)
        for accountant in testing.accountants()
    },
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_unknown_kind_refuses_every_question(question):
    with pytest.raises(NoGuarantee):
        QUESTIONS[question](privacy.from_json(FUTURE))


def test_an_unknown_kind_can_be_stored_and_compared():
    loss = privacy.from_json(FUTURE)
    assert isinstance(loss, privacy.OpaqueLoss)
    assert privacy.to_json(loss) == FUTURE
    assert loss == privacy.from_json(FUTURE)
    assert hash(loss) == hash(privacy.from_json(FUTURE))
    assert loss != privacy.from_json(FUTURE.replace("3", "4"))


WRAPPED = {
    "composed": lambda x: privacy.Composed((x, privacy.PureLoss(0.5))),
    "repeated": lambda x: privacy.Repeated(x, 3),
    "parallel": lambda x: privacy.Parallel((x, privacy.PureLoss(0.5))),
    "poisson_sampled": lambda x: privacy.PoissonSampled(x, 0.5),
    "grouped": lambda x: privacy.Grouped(x, 2),
    "selected": lambda x: privacy.Selected(x, 2.0),
}


@pytest.mark.parametrize("wrap", WRAPPED)
def test_an_unknown_kind_inside_a_combinator_is_stored_and_refuses(wrap):
    loss = WRAPPED[wrap](privacy.from_json(FUTURE))
    assert privacy.from_json(privacy.to_json(loss)) == loss
    with pytest.raises(NoGuarantee):
        accounting.epsilon(loss, delta=1e-5)


@pytest.mark.parametrize("version", ["2", "0", "-1", '"1"', "null", "1.5", "[1]", "true"])
def test_an_unknown_version_is_refused(version):
    text = TEXTS["pure"].replace('"privet":1', f'"privet":{version}')
    with pytest.raises(SerialisationError):
        privacy.from_json(text)


# --- corruption ------------------------------------------------------------------------------------------------

CORRUPTED = {
    "empty": "",
    "no JSON": "epsilon = 1",
    "cut off": TEXTS["pure"][:-7],
    "a list": "[1, 2]",
    "a number": "3",
    "null": "null",
    "no version": '{"kind":"pure","epsilon":1.0}',
    "no kind": '{"privet":1,"epsilon":1.0}',
    "kind is no text": '{"privet":1,"kind":3,"epsilon":1.0}',
    "field missing": '{"privet":1,"kind":"pure"}',
    "field unknown": '{"privet":1,"kind":"pure","epsilon":1.0,"epsilom":2.0}',
    "negative": '{"privet":1,"kind":"pure","epsilon":-1.0}',
    "NaN": '{"privet":1,"kind":"pure","epsilon":NaN}',
    "infinite": '{"privet":1,"kind":"pure","epsilon":"inf"}',
    "true for a number": '{"privet":1,"kind":"pure","epsilon":true}',
    "text for a number": '{"privet":1,"kind":"pure","epsilon":"1.0"}',
    "null for a number": '{"privet":1,"kind":"pure","epsilon":null}',
    "list for a number": '{"privet":1,"kind":"pure","epsilon":[1.0]}',
    "text for a truth value": '{"privet":1,"kind":"exponential","epsilon":1.0,"monotonic":"false"}',
    "number for a truth value": '{"privet":1,"kind":"exponential","epsilon":1.0,"monotonic":2}',
    "text for a truth value, selection": (
        '{"privet":1,"kind":"selected","mean":2.0,"eta":1.0,"poisson":"no","of":{"kind":"pure","epsilon":1.0}}'
    ),
    "text for a truth value, blocks": (
        '{"privet":1,"kind":"parallel","fixed_blocks":"no","blocks":[{"kind":"pure","epsilon":1.0}]}'
    ),
    "unknown relation": '{"privet":1,"kind":"pure","epsilon":1.0,"unit":{"relation":"friendship"}}',
    "unknown field of the unit": '{"privet":1,"kind":"pure","epsilon":1.0,"unit":{"x":1}}',
    "unit is a list": '{"privet":1,"kind":"pure","epsilon":1.0,"unit":[1]}',
    "unit is a text": '{"privet":1,"kind":"pure","epsilon":1.0,"unit":"replace"}',
    "unit is null": '{"privet":1,"kind":"pure","epsilon":1.0,"unit":null}',
    "group of none": '{"privet":1,"kind":"pure","epsilon":1.0,"unit":{"group_size":0}}',
    "rate above one": '{"privet":1,"kind":"poisson_sampled","q":1.5,"of":{"kind":"pure","epsilon":1.0}}',
    "no loss inside": '{"privet":1,"kind":"poisson_sampled","q":0.5,"of":3}',
    "inner loss without kind": '{"privet":1,"kind":"poisson_sampled","q":0.5,"of":{"epsilon":1.0}}',
    "forbidden relation": (
        '{"privet":1,"kind":"poisson_sampled","q":0.5,"of":{"kind":"pure","epsilon":1.0,"unit":{"relation":"replace"}}}'
    ),
    "contradictory relations": (
        '{"privet":1,"kind":"repeated","times":2,"unit":{"relation":"replace"},"of":{"kind":"pure","epsilon":1.0}}'
    ),
    "composition without parts": '{"privet":1,"kind":"composed"}',
    "parts are no list": '{"privet":1,"kind":"composed","parts":3}',
    "part without a count": '{"privet":1,"kind":"composed","parts":[{"of":{"kind":"pure","epsilon":1.0}}]}',
    "part without a loss": '{"privet":1,"kind":"composed","parts":[{"times":2}]}',
    "part is a loss": '{"privet":1,"kind":"composed","parts":[{"kind":"pure","epsilon":1.0}]}',
    "negative count": '{"privet":1,"kind":"composed","parts":[{"of":{"kind":"pure","epsilon":1.0},"times":-1}]}',
    "blocks missing": '{"privet":1,"kind":"parallel"}',
    "blocks empty": '{"privet":1,"kind":"parallel","blocks":[]}',
    "probabilities do not sum to one": '{"privet":1,"kind":"finite_pair","p":["1/2","1/3"],"q":["1/2","1/2"]}',
    "division by zero": '{"privet":1,"kind":"finite_pair","p":["1/0"],"q":["1/1"]}',
    "m above n": (
        '{"privet":1,"kind":"fixed_sampled","m":5,"n":2,"of":{"kind":"k_rr","k":3,"epsilon":1.0,'
        '"unit":{"relation":"replace"}}}'
    ),
    "too deep": '{"privet":1,"kind":"repeated","times":1,"of":' * 50_000 + "1" + "}" * 50_000,
    "deep": '{"privet":1,"times":1,"kind":"repeated","of":'
    + '{"kind":"repeated","times":1,"of":' * 900
    + "1"
    + "}" * 901,
}


@pytest.mark.parametrize("name", CORRUPTED)
def test_a_corrupted_text_is_refused(name):
    with pytest.raises(SerialisationError):
        privacy.from_json(CORRUPTED[name])


@pytest.mark.parametrize("thing", [None, 3, 1.5, b"\xff", object(), ["x"]], ids=lambda thing: type(thing).__name__)
def test_what_is_no_text_is_refused(thing):
    with pytest.raises(SerialisationError):
        privacy.from_json(thing)


@settings(max_examples=200)
@given(
    name=st.sampled_from(sorted(TEXTS)), at=st.integers(0, 400), new=st.sampled_from(list('0123456789-.e"{}[],:xtn'))
)
def test_a_flipped_character_is_refused_or_is_another_price(name, at, new):
    text = TEXTS[name]
    at %= len(text)
    damaged = text[:at] + new + text[at + 1 :]
    try:
        loss = privacy.from_json(damaged)
    except SerialisationError:
        return
    assert privacy.from_json(privacy.to_json(loss)) == loss
