"""Membership attacks: they find what is known by heart, cover chance where nothing is, and define their edges."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from privet import audit, privacy, report, testing
from privet.audit.membership.signals import sureness
from privet.errors import InvalidCall, InvalidData, InvalidParameter
from tests.audit.membership.planted import Learned, records, suspects

STRICT = testing.alarm_level("attacks", of=1000)


@pytest.fixture(scope="module")
def shadows(tmp_path_factory):
    return audit.shadow_models(Learned, records(200), many=8, folder=tmp_path_factory.mktemp("shadows"))


ATTACKS = {
    "loss": lambda model, who, shadows, **more: audit.loss_attack(model, who, **more),
    "quantile": lambda model, who, shadows, **more: audit.quantile_attack(
        model, who, strangers=(records(400)[0] / 2.0 + 0.25, np.zeros(400)), fpr=0.05, **more
    ),
    "lira online": lambda model, who, shadows, **more: audit.lira(model, who, shadows, online=True, **more),
    "lira offline": lambda model, who, shadows, **more: audit.lira(model, who, shadows, online=False, **more),
    "rmia": lambda model, who, shadows, **more: audit.rmia(
        model, who, shadows, population=records(100, start=1000), **more
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_members_are_found_and_attacks_that_compare_find_all(name, shadows):
    who = suspects()
    found = ATTACKS[name](Learned(who.x[who.included], None), who, shadows)
    assert found.exact_area.auc.low > 0.5
    if "lira" in name or name == "rmia":
        assert found.exact_area.auc.value > 0.99


def null_coverage(name, shadows, runs):
    """How often intervals hold chance. Who is a member is drawn anew each time: an attack that looks at columns would find
    members who have other columns than the rest, whatever the model knows."""
    rng, (x, y) = np.random.default_rng(5), records(200)
    hits = np.zeros(4)
    for _ in range(runs):
        inside = rng.permutation(len(y)) < len(y) // 2
        who = audit.Suspects.of(members=(x[inside], y[inside]), others=(x[~inside], y[~inside]), real=False)
        found = ATTACKS[name](lambda x, y: rng.exponential(size=len(y)), who, shadows)
        hits += [0.5 in found.exact_area.auc, *(rate.fpr in rate.tpr for rate in found.exact_rates)]
    return hits / runs


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "quantile"])
def test_chance_is_covered_where_the_model_never_saw_anybody(name, shadows):
    assert null_coverage(name, shadows, 60).min() >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_chance_is_covered_in_a_thousand_runs(name, shadows):
    assert null_coverage(name, shadows, 1_000).min() >= 0.94


def by_coins(gain, seed, claim, m=400):
    """One run: the model's losses on its members are smaller by `gain` standard deviations of its noise."""
    rng = np.random.default_rng(seed)
    coins = audit.Coins.draw(m, top=m // 10, bottom=m // 10)
    noisy = rng.normal(size=m) - gain * coins.included + 10.0
    return audit.loss_attack(lambda x, y: noisy, audit.Suspects.by(records(m), coins), claim=claim, alpha=STRICT)


def test_with_coins_a_false_claim_is_refuted_and_a_true_one_is_not():
    assert by_coins(4.0, 1, privacy.GaussianLoss(4.0)).verdict == "violated"
    assert by_coins(1.0, 2, privacy.GaussianLoss(1.0)).verdict == "not refuted"
    told = by_coins(4.0, 1, privacy.GaussianLoss(4.0))
    assert len(told.commitment) == 64
    assert "violated" in told.explain()


def test_without_coins_nothing_is_refuted_and_the_ceiling_is_told(shadows):
    who = suspects(400)
    found = audit.loss_attack(lambda x, y: (~who.included).astype(float), who, claim=0.1)
    assert found.verdict == "not refuted"
    assert [rate.fpr for rate in found.above_ceiling] == [0.1]
    assert "no test of the claim" in found.explain()
    assert found.ceiling(0.1) == pytest.approx(np.exp(0.1) * 0.1)


def test_a_claim_about_replaced_records_is_not_tested_by_coins():
    found = by_coins(1.0, 3, privacy.PureLoss(1.0, unit=privacy.Unit("replace")))
    assert found.test is None
    assert "replaced" in found.explain()


class Priced(Learned):
    class privacy_:
        loss = privacy.PureLoss(0.5)


def test_the_price_of_the_model_itself_is_the_ceiling():
    who = suspects()
    assert audit.loss_attack(Priced(who.x, None), who).claim == privacy.PureLoss(0.5)
    assert audit.loss_attack(Priced(who.x, None), who, claim=2.0).claim == privacy.PureLoss(2.0)
    assert audit.loss_attack(Learned(who.x, None), who).ceiling(0.1) is None


def test_real_records_are_flagged_and_scores_are_held_back():
    found = audit.loss_attack(Learned(records(200)[0], None), suspects(real=True))
    assert "not releasable" in found.explain()
    assert "not releasable" not in audit.loss_attack(Learned(records(200)[0], None), suspects()).explain()
    assert "Private(...)" in repr(found) or "scores" not in repr(found)


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([3, 7])])
def test_labels_of_any_kind_and_models_of_scikit_learn(labels):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    y = labels[(x[:, 0] + rng.normal(size=300) > 0).astype(int)]
    who = audit.Suspects.of(members=(x[:150], y[:150]), others=(x[150:], y[150:]), real=False)
    nearest = KNeighborsClassifier(1).fit(x[:150], y[:150])
    found = audit.loss_attack(nearest, who)  # probabilities 0 and 1
    assert found.exact_area.auc.value > 0.6
    straight = audit.loss_attack(LogisticRegression().fit(x[:150], y[:150]), who)
    assert straight.exact_area.auc.value < found.exact_area.auc.value


def test_a_label_that_the_model_never_saw_has_the_least_probability():
    x = np.arange(6.0).reshape(-1, 1)
    model = LogisticRegression().fit(x[:4], np.array(["a", "a", "b", "b"]))
    who = audit.Suspects.of(members=(x[:4], ["a", "a", "b", "b"]), others=(x[4:], ["c", "c"]), real=False)
    assert audit.loss_attack(model, who).exact_area.auc.value == 1.0


def test_models_that_predict_numbers():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 25)), rng.normal(size=60)
    who = audit.Suspects.of(members=(x[:30], y[:30]), others=(x[30:], y[30:]), real=False)
    assert audit.loss_attack(LinearRegression().fit(x[:30], y[:30]), who).exact_area.auc.value > 0.8


def test_networks_are_left_as_they_were_found():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)).train()
    who = suspects(20)
    one = audit.Suspects(who.x, who.y.astype(int), who.included, False)
    first, second = (audit.loss_attack(net, one).scores.exact_value for _ in range(2))
    assert (first[0] == second[0]).all()  # dropout was off
    assert net.training


def test_log_odds_of_certainty_are_numbers(shadows):
    who = suspects()
    found = audit.lira(lambda x, y: np.zeros(len(y)), who, shadows)  # p = 1 everywhere
    assert np.isfinite(np.concatenate(found.scores.exact_value)).all()


class Certain:
    """A model whose first class has all the probability that floats can hold."""

    classes_ = (0, 1)

    def predict_proba(self, x):
        return np.tile([1.0, 1e-20], (len(x), 1))


def test_log_odds_are_against_the_sum_of_all_other_classes():
    """1 - p is 0 here, and the other class is not."""
    assert sureness(Certain(), np.zeros((2, 1)), np.array([0, 1])) == pytest.approx([46.0517, -46.0517], rel=1e-5)


def test_shadow_models_without_variance(tmp_path):
    made = audit.shadow_models(lambda x, y: lambda a, b: np.ones(len(b)), records(200), many=4, folder=tmp_path)
    who = suspects()
    flat = audit.lira(lambda x, y: np.ones(len(y)), who, made)
    assert flat.exact_area.auc.value == 0.5
    assert "All scores are equal" in flat.explain()
    assert audit.lira(Learned(who.x[who.included], None), who, made, online=False).exact_area.auc.value > 0.5


def test_online_needs_two_models_of_each_kind(tmp_path):
    few = audit.shadow_models(Learned, records(200), many=2, folder=tmp_path / "few")
    apart = audit.shadow_models(Learned, records(50, start=500), many=8, folder=tmp_path / "apart")
    for made in (few, apart):
        with pytest.raises(InvalidParameter, match="online=False"):
            audit.lira(Learned(records(100)[0], None), suspects(), made, online=True)
    found = audit.lira(Learned(records(100)[0], None), suspects(), apart)
    assert found.name == "LiRA, offline"
    assert found.exact_area.auc.value > 0.9


def test_models_that_were_trained_on_the_suspect_are_left_out_offline(shadows):
    """The planted bug: with all models as references the suspect is compared with itself, and stands out less."""
    who = suspects()
    model = Learned(who.x[who.included], None)
    honest = audit.lira(model, who, shadows, online=False).scores.exact_value[0]
    blind = audit.Shadows(shadows.folder, np.array(["none"] * 200), shadows.included)
    leaked = audit.lira(model, who, blind, online=False).scores.exact_value[0]
    assert np.median(honest) > np.median(leaked)


def test_several_versions_of_a_record_help(tmp_path):
    def train(x, y):
        rng = np.random.default_rng(int(x.sum()) % 2**31)
        known, noise = set(x[:, 0].round().tolist()), rng.normal(size=(4, 200)) * 0.8

        def loss(a, b):
            version = round(float(a[0, 0] % 1.0) * 10)
            near = np.array([round(v) in known for v in a[:, 0].tolist()])
            return 5.0 - 1.0 * near + noise[version][: len(b)]

        return loss

    who = suspects()
    made = audit.shadow_models(train, records(200), many=16, folder=tmp_path)
    model = train(who.x[who.included], None)
    shifts = [lambda x, k=k: x + k / 10.0 for k in (1, 2, 3)]
    one = audit.lira(model, who, made).exact_area.auc.value
    four = audit.lira(model, who, made, augment=shifts).exact_area.auc.value
    assert four > one
    with pytest.raises(InvalidParameter, match="may not add or drop"):
        audit.lira(model, who, made, augment=[lambda x: x[1:]])


def test_records_of_their_own_variance_from_64_models_on(tmp_path):
    who = suspects(40)
    for many in (63, 64):
        made = audit.shadow_models(Learned, records(40), many=many, folder=tmp_path / str(many))
        found = audit.lira(Learned(who.x[who.included], None), who, made)
        assert ("share one variance" in found.assumes) == (many == 63)
        assert found.exact_area.auc.value > 0.99


def test_rmia_works_with_one_pair_of_models_and_without_any_that_was_trained_on_the_suspect(tmp_path):
    who = suspects()
    model, others = Learned(who.x[who.included], None), records(100, start=1000)
    pair = audit.shadow_models(Learned, records(200), many=2, folder=tmp_path / "pair")
    apart = audit.shadow_models(Learned, records(200, start=5000), many=2, folder=tmp_path / "apart")
    for made in (pair, apart):
        for gamma in (1.0, 2.0):
            found = audit.rmia(model, who, made, population=others, gamma=gamma)
            assert found.exact_area.auc.value > (0.9 if made is pair else 0.8)
    with pytest.raises(InvalidData, match="other records"):
        audit.rmia(model, who, pair, population=records(10))


def test_the_conformal_threshold_accuses_few_strangers():
    rng, wrong = np.random.default_rng(6), 0
    for _ in range(3):
        found = audit.quantile_attack(
            lambda x, y: rng.exponential(size=len(y)) + np.abs(np.sin(x[:, 0])),
            suspects(800),
            strangers=(records(800)[0] + 0.5, np.zeros(800)),
            fpr=0.1,
        )
        wrong += int(found.notes[0].split("members and ")[1].split(" ")[0].replace(",", ""))
    assert wrong / 1200 < 0.16  # 0.1 on average; this much has probability below 1e-6
    with pytest.raises(InvalidParameter, match="too few"):
        audit.quantile_attack(Learned(records(2)[0], None), suspects(), strangers=records(20, start=1000), fpr=0.01)
    with pytest.raises(InvalidData, match="other records"):
        audit.quantile_attack(Learned(records(2)[0], None), suspects(), strangers=records(300), fpr=0.1)


def test_members_and_others_that_overlap_are_refused():
    x, y = records(4)
    with pytest.raises(InvalidData, match="both members and others"):
        audit.Suspects.of(members=(x[:3], y[:3]), others=(x[2:], y[2:]))
    with pytest.raises(InvalidData, match="at least one of each"):
        audit.Suspects(x, y, np.ones(4, dtype=bool))
    with pytest.raises(InvalidData, match="same columns"):
        audit.Suspects.of(members=(x[:3], y[:3]), others=(np.ones((2, 2)), y[:2]))
    with pytest.raises(InvalidData, match="one label each"):
        audit.Suspects.of(members=(x[:3], y[:2]), others=(x[3:], y[3:]))


def test_a_model_that_raises_is_told_by_the_kind_of_its_error(shadows):
    def broken(x, y):
        raise RuntimeError(f"row {x[0]}")

    for attack in (audit.loss_attack, lambda m, w: audit.lira(m, w, shadows)):
        with pytest.raises(InvalidData, match="RuntimeError") as caught:
            attack(broken, suspects())
        assert "row" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="predict_proba"):
        audit.loss_attack(3, suspects())
    with pytest.raises(InvalidData, match="one loss for each"):
        audit.loss_attack(lambda x, y: np.ones(3), suspects())
    with pytest.raises(InvalidData, match="negative"):
        audit.lira(lambda x, y: -np.ones(len(y)), suspects(), shadows)
    with pytest.raises(InvalidCall):
        audit.loss_attack(broken, suspects(), epsilon=1.0)


def test_the_picture_has_the_ceiling_and_every_attack(shadows):
    who = suspects()
    model = Learned(who.x[who.included], None)
    figure = report.roc_figure(audit.loss_attack(model, who, claim=1.0), audit.lira(model, who, shadows, claim=1.0))
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert words == ["chance", "ceiling of the price", "loss threshold", "LiRA, online"]


@pytest.mark.parametrize("name", ATTACKS)
def test_models_that_fail_or_give_no_numbers_are_told_alike_by_every_attack(name, shadows):
    def broken(x, y):
        raise KeyError(f"row {x[0]}")

    with pytest.raises(InvalidData, match="KeyError") as caught:
        ATTACKS[name](broken, suspects(), shadows)
    assert "row" not in str(caught.value)
    with pytest.raises(InvalidData):
        ATTACKS[name](lambda x, y: np.full(len(y), np.nan), suspects(), shadows)


@pytest.mark.parametrize("name", ATTACKS)
def test_constant_losses_are_chance(name, shadows, tmp_path):
    """Models that say the same of everybody: the area is 1/2 where nothing else is looked at, and covers it elsewhere."""
    made = audit.shadow_models(lambda x, y: lambda a, b: np.ones(len(b)), records(200), many=4, folder=tmp_path)
    found = ATTACKS[name](lambda x, y: np.ones(len(y)), suspects(), made)
    assert found.exact_area.auc.value == 0.5
    assert "All scores are equal" in found.explain()


class Words:
    """A classifier without probabilities, whose labels are words."""

    def predict(self, x):
        return np.array(["yes"] * len(x))


def test_words_where_numbers_are_needed_are_refused_and_not_quoted(shadows):
    x, who = np.array([["Mrs Smith"], ["Mr Jones"]] * 20), suspects(40)
    named = audit.Suspects(np.arange(40.0).reshape(-1, 1), np.array(["ill", "well"] * 20), who.included, False)
    texts = np.concatenate((np.char.add(x[:20], np.arange(20).astype(str)[:, None]), x[20:]))
    for model, asked in ((Words(), named), (Words(), who), (LinearRegression().fit(who.x, who.y), named)):
        with pytest.raises(InvalidData, match="numbers") as caught:
            audit.loss_attack(model, asked)
        assert not any(word in str(caught.value) for word in ("yes", "ill", "well"))
    columns = audit.Suspects.of(
        members=(texts[:20], who.y[:20]), others=(np.char.add(texts[:20], "!"), who.y[:20]), real=False
    )
    with pytest.raises(InvalidData, match="columns of numbers") as caught:
        audit.quantile_attack(
            lambda x, y: np.arange(len(y)) / 10.0, columns, strangers=(np.char.add(texts, "?"), np.zeros(40)), fpr=0.1
        )
    assert "Smith" not in str(caught.value)


class Shares:
    """A classifier whose probabilities are what it is told."""

    def __init__(self, told):
        self.predict_proba = lambda x: told(len(x))


@pytest.mark.parametrize(
    "told",
    [
        lambda n: np.array([["Mrs Smith", "1"]] * n),
        lambda n: [[object(), 1.0]] * n,
        lambda n: [[10**400, 1]] * n,
        lambda n: np.full((n, 2), 0.5j),
    ],
)
def test_probabilities_that_are_no_numbers_are_not_quoted(told):
    with pytest.raises(InvalidData, match="probabilities must be numbers") as caught:
        audit.loss_attack(Shares(told), suspects(40))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_rmia_compares_a_suspect_with_models_that_were_not_trained_on_it(shadows):
    """The planted bug: where the coins of the pool are not looked at, members stand out less."""
    who, crowd = suspects(), records(100, start=1000)
    model = Learned(who.x[who.included], None)
    blind = audit.Shadows(shadows.folder, np.array(["none"] * 200), shadows.included)
    honest = audit.rmia(model, who, shadows, population=crowd).exact_area.auc.value
    assert honest > audit.rmia(model, who, blind, population=crowd).exact_area.auc.value


def test_a_suspect_that_every_shadow_model_was_trained_on_is_refused(tmp_path):
    x, y = records(10)
    made = audit.shadow_models(Learned, (np.concatenate([x] * 8), np.concatenate([y] * 8)), many=2, folder=tmp_path)
    with pytest.raises(InvalidParameter, match="not trained on it"):
        audit.rmia(Learned(x[:5], None), suspects(10), made, population=records(20, start=1000))
    with pytest.raises(InvalidParameter, match="not trained on it"):
        audit.lira(Learned(x[:5], None), suspects(10), made, online=False)


def test_members_who_are_all_on_both_sides_are_nobody():
    x, y = records(20)
    with pytest.raises(InvalidData, match="nobody left"):
        audit.Suspects.of(members=(x, y), others=(x[:5], y[:5]), leave_out_shared=True)


def test_predictions_that_are_too_few_or_too_large():
    class Wide:
        def __init__(self, many):
            self.many = many

        def predict(self, x):
            return np.full(self.many, 1e200) ** 2  # overflows, as a model's own product does

    who = suspects()
    found = audit.loss_attack(Wide(len(who.y)), who)
    assert found.exact_area.auc.value == 0.5
    with pytest.raises(InvalidData, match="one number for each record"):
        audit.loss_attack(Wide(3), who)
