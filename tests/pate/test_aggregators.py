"""Aggregators: prices of the page, the law that runs, relations, and what is refused before anything is paid."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import privet as pv
from privet import accounting, pate
from privet.errors import InvalidData, InvalidParameter, PrivetError, SerialisationError
from privet.mechanisms import Gaussian
from privet.pate.vote_law import GumbelVotes, LaplaceVotes, NormalVotes
from privet.privacy import BinaryVoteLoss, GaussianLoss, Repeated, Unit, to_replace
from tests.firsts import ends


def epsilon(loss, delta=1e-5):
    return float(accounting.epsilon(loss, delta=delta).upper)


def votes(rows):
    return pate.Votes(rows, teachers=sum(rows[0]))


def test_prices_of_the_page():
    assert epsilon(pate.GNMax(sigma=40.0, queries=286, classes=10).loss) == pytest.approx(2.435360, abs=2e-5)
    confident = pate.ConfidentGNMax(threshold=200, sigma1=150.0, sigma2=40.0, queries=640, answers=286, classes=10)
    assert epsilon(confident.loss) == pytest.approx(2.542602, abs=2e-5)
    assert pate.LNMax(gamma=0.05, queries=100, classes=10).loss.pure() == pytest.approx(10.0, rel=1e-12)
    assert pate.GumbelMax(scale=20.0, queries=100, classes=2).loss.pure() == pytest.approx(10.0, rel=1e-12)


def test_a_replaced_id_touches_two_teachers():
    one = pate.GNMax(sigma=40.0, queries=5, classes=3)
    two = pate.GNMax(sigma=40.0, queries=5, classes=3, unit=Unit("replace"))
    kept = pate.GNMax(sigma=40.0, queries=5, classes=3, unit=Unit("replace"), fixed_ids=True)
    assert epsilon(two.loss) == pytest.approx(epsilon(to_replace(one.loss)))
    assert epsilon(two.loss) > 1.9 * epsilon(one.loss)
    assert epsilon(kept.loss) == epsilon(one.loss)
    assert kept.loss.unit == two.loss.unit == Unit("replace")
    confident = {"threshold": 3.0, "sigma1": 4.0, "sigma2": 4.0, "queries": 5, "answers": 2, "classes": 3}
    single, double = (pate.ConfidentGNMax(**confident, unit=unit) for unit in (Unit(), Unit("replace")))
    assert epsilon(double.loss) == pytest.approx(epsilon(to_replace(single.loss)))


def test_two_classes_and_known_teachers_have_the_exact_price():
    asked = {"queries": 100, "classes": 2}
    for made, golden in (
        (pate.GNMax(sigma=10.0, teachers=100, **asked), 5.458278),
        (pate.LNMax(gamma=0.05, teachers=100, **asked), 2.133159),
        (pate.GumbelMax(scale=20.0, teachers=100, **asked), 2.152153),
    ):
        assert epsilon(made.loss) <= golden
        assert epsilon(made.loss) > 0.97 * golden
    replaced = pate.GNMax(sigma=10.0, teachers=100, unit=Unit("replace"), **asked).loss
    assert replaced == Repeated(BinaryVoteLoss(100, 10.0, moved=2, unit=Unit("replace")), 100)
    assert (
        pate.GNMax(sigma=1.0, queries=1, classes=3, teachers=9).loss == pate.GNMax(sigma=1.0, queries=1, classes=3).loss
    )


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (pate.GNMax, {"epsilon": 1.0, "delta": 1e-5}),
        (pate.LNMax, {"epsilon": 1.0, "delta": 1e-5}),
        (pate.GumbelMax, {"epsilon": 1.0}),
    ],
)
def test_the_exact_price_buys_less_noise(kind, promise):
    plain = kind.for_budget(queries=20, classes=2, **promise)
    exact = kind.for_budget(queries=20, classes=2, teachers=30, **promise)
    assert exact.noise_scale < plain.noise_scale
    spent = exact.loss.pure() if "delta" not in promise else epsilon(exact.loss)
    assert 0.97 < spent <= 1.0


LAWS = [
    (pate.GNMax, {"sigma": 2.0}, NormalVotes(2.0)),
    (pate.LNMax, {"gamma": 0.5}, LaplaceVotes(0.5)),
    (pate.GumbelMax, {"scale": 2.0}, GumbelVotes(2.0)),
]


@pytest.mark.parametrize(("kind", "noise", "law"), LAWS, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("counts", ends([[5, 2], [4, 3, 2], [6, 2, 1, 1, 0, 0, 0, 0, 0, 0]]))
def test_what_is_drawn_has_the_law_of_the_figures(kind, noise, law, counts):
    """Half and twice the noise are told from the right one."""
    runs = 3_000
    made = kind(**noise, queries=1, classes=len(counts))
    drawn = Counter(np.asarray(made.simulate(votes([counts]), runs)).ravel().tolist())
    seen = [drawn[place] for place in range(len(counts))]
    chances = np.exp(law.log_chances(np.array(counts)))
    assert chances.sum() == pytest.approx(1.0)
    assert _likely(seen, chances) > 1e-6
    (name, value) = next(iter(noise.items()))
    for factor in (0.5, 2.0):
        other = type(law)(value * factor)
        assert _likely(seen, np.exp(other.log_chances(np.array(counts)))) < 1e-6, name


def _likely(seen, chances):
    return stats.power_divergence(seen, sum(seen) * chances / chances.sum(), lambda_="log-likelihood").pvalue


def test_thresholds_and_answers_are_counted():
    table = votes([[9, 1], [5, 5], [8, 2], [2, 8], [10, 0]])
    sure = pate.ConfidentGNMax(threshold=7.0, sigma1=0.01, sigma2=0.01, queries=5, answers=2, classes=2)
    assert sure.release(table).value.tolist() == [0, -1, 0, -1, -1]
    all_of_them = pate.ConfidentGNMax(threshold=-1e9, sigma1=0.01, sigma2=0.01, queries=5, answers=5, classes=2)
    assert (all_of_them.release(table).value >= 0).all()
    nobody = pate.ConfidentGNMax(threshold=10.0, sigma1=0.01, sigma2=0.01, queries=4, answers=4, classes=2)
    assert nobody.release(votes([[9, 1], [5, 5], [8, 2], [2, 8]])).value.tolist() == [-1] * 4


def test_a_threshold_above_the_number_of_teachers_is_refused_before_anything_is_paid():
    noises = {"threshold": 11.0, "sigma1": 1.0, "sigma2": 1.0, "queries": 1, "answers": 1, "classes": 2}
    for asked in (
        lambda: pate.ConfidentGNMax(**noises, teachers=10),
        lambda: pate.ConfidentGNMax.for_budget(
            epsilon=1.0, delta=1e-5, threshold=11, queries=1, answers=1, classes=2, teachers=10
        ),
        lambda: pate.InteractiveGNMax(**noises, teachers=10, rounds=1, student=lambda labels: np.full((1, 2), 0.5)),
        lambda: pate.VotePlan(teachers=10, queries=1, answers=1, sigma=1.0, threshold=11.0, sigma1=1.0),
    ):
        with pytest.raises(InvalidParameter, match="at most the number of teachers, 10"):
            asked()
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-4))
    unknown = pate.ConfidentGNMax(**noises)  # how many teachers there are is learnt with the votes, and is public
    with pytest.raises(InvalidParameter, match="at most the number of teachers, 10"):
        ledger.release(unknown, votes([[9, 1]]))
    assert ledger.spent.epsilon == 0.0
    assert pate.ConfidentGNMax(**(noises | {"threshold": 10.0}), teachers=10).threshold == 10.0


def test_the_vector_of_thresholds_costs_what_single_ones_cost():
    made = pate.ConfidentGNMax(threshold=5.0, sigma1=150.0, sigma2=1e9, queries=640, answers=1, classes=10)
    single = epsilon(Repeated(GaussianLoss(150.0), 640))
    assert epsilon(made.threshold_part.loss) == pytest.approx(single, rel=1e-6)
    assert epsilon(made.threshold_part.loss) >= single * (1 - 1e-9)
    assert isinstance(made.threshold_part, Gaussian)
    assert Fraction(made.threshold_part.sensitivity.value) ** 2 >= 640


def test_labels_are_paid_for_once_and_read_back():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-4))
    table = votes([[30, 2, 0], [16, 16, 0]])
    asked = pate.LNMax(gamma=1.0, queries=2, classes=3)
    first = ledger.release(asked, table, key="labels")
    again = ledger.release(asked, table, key="labels")
    assert first.value.tolist() == again.value.tolist()
    assert ledger.spent.epsilon == pytest.approx(4.0)


MISTAKES = {
    "no noise": lambda: pate.GNMax(sigma=0.0, queries=1, classes=2),
    "no queries": lambda: pate.GNMax(sigma=1.0, queries=0, classes=2),
    "one class": lambda: pate.LNMax(gamma=1.0, queries=1, classes=1),
    "nan": lambda: pate.GumbelMax(scale=math.nan, queries=1, classes=2),
    "more answers than queries": lambda: pate.ConfidentGNMax(
        threshold=1, sigma1=1.0, sigma2=1.0, queries=2, answers=3, classes=2
    ),
    "groups": lambda: pate.GNMax(sigma=1.0, queries=1, classes=2, unit=Unit(group_size=2)),
    "ids that stay, and nobody is replaced": lambda: pate.GNMax(sigma=1.0, queries=1, classes=2, fixed_ids=True),
    "a list for votes": lambda: pate.GNMax(sigma=1.0, queries=1, classes=2).release([[1, 2]]),
    "other queries": lambda: pate.GNMax(sigma=1.0, queries=1, classes=2).release(votes([[1, 2], [2, 1]])),
    "other classes": lambda: pate.GNMax(sigma=1.0, queries=1, classes=3).release(votes([[1, 2]])),
    "other teachers": lambda: pate.GNMax(sigma=1.0, queries=1, classes=2, teachers=4).release(votes([[1, 2]])),
    "other teachers, many classes": lambda: pate.LNMax(gamma=1.0, queries=1, classes=3, teachers=4).release(
        votes([[1, 2, 0]])
    ),
    "votes of other numbers of teachers": lambda: pate.Votes([[1, 2], [1, 1]], teachers=3),
    "negative votes": lambda: pate.Votes([[4, -1]], teachers=3),
    "fractions": lambda: pate.Votes([[1.5, 1.5]], teachers=3),
    "one class of votes": lambda: pate.Votes([[3]], teachers=3),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_one_sentence(mistake):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    with pytest.raises(PrivetError) as refused, ledger:
        mistake()
    assert isinstance(refused.value, InvalidParameter | InvalidData)
    assert ledger.spent.epsilon == 0.0


def test_votes_show_nothing():
    import copy
    import pickle

    table = votes([[17, 4]])
    assert "17" not in repr(table)
    assert "17" not in f"{table}"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SerialisationError):
            leave(table)
