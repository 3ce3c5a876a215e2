"""The attacks of the lectures, each a small experiment: what leaks without differential privacy, and not with it."""

import hashlib

import numpy as np

import privet as pv
from privet import audit, learn, mechanisms, noise, testing

STRICT = testing.alarm_level("attacks", of=100)


def nearest(x, y):
    """A model that knows its records by heart: the distance to the nearest one it was trained on."""
    return lambda a, b: np.abs(np.asarray(a)[:, None, :] - x[None]).sum(axis=2).min(axis=1)


def test_membership_inference():
    """Members of a model that stores its records are all found; one with a price stays below its ceiling."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.5, 0.5, (400, 2))
    y = (x[:, 0] + rng.normal(0, 0.2, 400) > 0).astype(int)
    who = audit.Suspects.of(members=(x[:200], y[:200]), others=(x[200:], y[200:]), real=False)
    stored = audit.loss_attack(nearest(x[:200], y[:200]), who)
    assert stored.exact_area.auc.low > 0.9
    assert stored.exact_rates[2].tpr.low > 0.9
    private = learn.LogisticRegression(epsilon=1.0, row_norm=1.0, classes=[0, 1]).fit(x[:200], y[:200])
    found = audit.loss_attack(private, who)
    assert found.claim is not None
    assert 0.5 in found.exact_area.auc
    assert found.above_ceiling == ()


def test_model_inversion():
    """A hidden attribute is guessed from an outcome, as well for people who were not in the data."""
    rng = np.random.default_rng(1)
    marker = rng.integers(0, 3, 1200)
    dose = 20.0 + 8.0 * marker + rng.normal(0, 5.0, 1200)
    means = [dose[:600][marker[:600] == value].mean() for value in range(3)]
    rest = np.zeros((1200, 1))
    found = audit.invert(
        lambda rest, value: np.full(len(rest), means[value]),
        members=(rest[:600], marker[:600], dose[:600]),
        others=(rest[600:], marker[600:], dose[600:]),
        values=[0, 1, 2],
        sigma=5.0,
        given_rest=lambda rest: np.full((len(rest), 3), 1 / 3),
    )
    assert found.exact_others.rate.low > found.exact_majority.rate.high
    assert 0.0 in found.leak


def test_reconstruction():
    """Exact counts give a column of secret bits away; counts that are paid for do not."""
    rng = np.random.default_rng(2)
    secret, subsets = rng.integers(0, 2, 64), rng.integers(0, 2, (256, 64))
    exact = subsets @ secret
    assert audit.reconstruct(subsets, exact).right(secret) == 1.0
    each = mechanisms.DiscreteLaplace.for_budget(epsilon=1.0 / 256, sensitivity=1)
    private = np.array([each.release(int(answer)).value for answer in exact])
    assert 0.25 < audit.reconstruct(subsets, private).right(secret) < 0.75


class Words:
    """A model of digits by the three before them: counts, with noise of an epsilon where it has one."""

    def __init__(self, text, epsilon=None):
        counts = np.zeros((10, 10, 10, 10))
        digits = [int(each) for each in text]
        np.add.at(counts, tuple(np.array([digits[i : i + 4] for i in range(len(digits) - 3)]).T), 1)
        if epsilon is not None:  # one secret of nine digits moves at most nine counts on either side
            counts = counts + np.asarray(noise.discrete_laplace(scale=18 / epsilon, size=counts.shape))
        self.logs = np.log(np.maximum(counts, 0.0) + 0.1)
        self.logs -= np.log(np.exp(self.logs).sum(axis=-1, keepdims=True))

    def cost(self, text):
        digits = [int(each) for each in text]
        return -sum(self.logs[tuple(digits[i : i + 4])] for i in range(len(digits) - 3))

    def following(self, texts):
        return np.array([self.logs[tuple(int(each) for each in text[-3:])] for text in texts])


def trained(epsilon=None, seed=3, copies=1):
    rng = np.random.default_rng(seed)
    filler = "".join(map(str, rng.integers(0, 10, 400)))
    secret = "000" + "".join(map(str, rng.integers(0, 10, 6)))  # what was put in begins with a known prefix
    return Words(filler + secret * copies, epsilon), secret, rng


def test_training_data_extraction():
    """Without privacy the most likely continuation of the known beginning is the secret itself."""
    model, secret, _ = trained(copies=3)
    read = audit.extract(model.following, alphabet="0123456789", length=6, start="000")
    assert read.complete
    assert "000" + read.found[0][0] == secret
    private, secret, _ = trained(epsilon=1.0, copies=3)
    read = audit.extract(private.following, alphabet="0123456789", length=6, start="000")
    assert "000" + read.found[0][0] != secret


def test_exposure_with_and_without_dp():
    """Secrets in trainings of their own: near the largest figure without privacy, within the law with it."""

    def measured(epsilon):
        secrets, references = [], []
        for seed in range(20):
            model, secret, rng = trained(epsilon, seed)
            others = ["000" + "".join(map(str, rng.integers(0, 10, 6))) for _ in range(255)]
            secrets.append(model.cost(secret))
            references.append([model.cost(each) for each in others])
        return audit.exposure(secrets, references, space=1e6)

    plain, private = measured(None), measured(0.5)
    assert plain.mean > 7.0  # of 8
    assert plain.test(bits=6.0, claim=0.5, alpha=STRICT).verdict == "violated"
    assert private.test(bits=6.0, claim=0.5, alpha=STRICT).verdict == "not refuted"
    assert private.mean < plain.mean - 3.0


def test_quasi_identifiers():
    """Nobody is alone by sex, few by age and sex, nearly everybody with the place as well."""
    rng = np.random.default_rng(4)
    rows = {"zip": rng.integers(0, 200, 400), "age": rng.integers(20, 80, 400), "sex": rng.integers(0, 2, 400)}
    table = pv.Table(rows, columns={"zip": pv.Int(0, 199), "age": pv.Int(0, 110), "sex": pv.Int(0, 1)})
    alone = [
        audit.exact_reidentification(table, quasi=quasi).exact_unique
        for quasi in (["sex"], ["age", "sex"], ["age", "sex", "zip"])
    ]
    assert alone[0] == 0.0
    assert 0.0 < alone[1] < 0.2
    assert alone[2] > 0.9


def test_removing_names_is_not_enough():
    """Numbers of taxis as hashes: undone by trying them all, and rides found by time and place even without."""
    numbers = ["1A23", "2B34", "3C45"]
    rides = {
        "medallion": [hashlib.md5(each.encode()).hexdigest() for each in numbers],
        "minute": [61, 200, 555],
        "place": [4, 17, 4],
    }
    kinds = {"medallion": pv.Text(), "minute": pv.Int(0, 1439), "place": pv.Int(0, 99)}
    table = pv.Table(rides, columns=kinds, name="rides")
    assert audit.exact_pseudonyms(table, "medallion", audit.spellings("9A99")).exact_share == 1.0
    photo = pv.Table(
        {"minute": [200], "place": [17]}, columns={"minute": kinds["minute"], "place": kinds["place"]}, name="p"
    )
    assert audit.exact_linkage(photo, table, on=["minute", "place"]).linked == 1
