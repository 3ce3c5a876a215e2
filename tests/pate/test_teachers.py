"""Partition, teachers and student: one person changes one teacher, failures vote, and only the student leaves."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from privet import pate
from privet._progress import listening
from privet.errors import InvalidData, InvalidParameter, SerialisationError

KEY = b"a public key"


def data(rows=200):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, rows)
    return rng.normal(size=(rows, 4)) + 2.0 * y[:, None], y


def test_one_more_row_changes_one_teacher():
    X, y = data()
    rng = np.random.default_rng(2)
    pool = rng.normal(size=(50, 4)) * 3
    made = [
        pate.Teachers(
            lambda: DecisionTreeClassifier(max_features=1), pate.KeyedPartition(9, KEY), classes=range(3)
        ).fit(X[:n], y[:n], ids=np.arange(n))
        for n in (199, 200)
    ]
    part = int(pate.KeyedPartition(9, KEY).assign([199])[0])
    told = [[model.predict(pool).tolist() for model in each._models] for each in made]
    assert [place for place in range(9) if told[0][place] != told[1][place]] in ([], [part])
    one, two = (each.vote(pool, public=True).exact_counts for each in made)
    assert np.abs(one - two).sum(axis=1).max() <= 2
    assert np.array_equal(made[0].vote(pool, public=True).exact_counts, one)


class Raises:
    def fit(self, X, y):
        raise RuntimeError(f"secret {X[0]}")

    def predict(self, X):
        raise RuntimeError("secret")


class Strange:
    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.answer(len(X))


STRANGE = {
    "raises": Raises,
    "nan": lambda: Strange(lambda n: [float("nan")] * n),
    "an unknown class": lambda: Strange(lambda n: ["zebra"] * n),
    "too few answers": lambda: Strange(lambda n: [1]),
    "lists": lambda: Strange(lambda n: [[1, 2]] * n),
    "nothing": lambda: Strange(lambda n: None),
}


@pytest.mark.parametrize("factory", STRANGE.values(), ids=STRANGE)
def test_a_teacher_that_fails_votes_for_the_default(factory):
    X, y = data(30)
    teachers = pate.Teachers(factory, pate.KeyedPartition(4, KEY), classes=[0, 1, 2], default=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        votes = teachers.fit(X, y, ids=np.arange(30)).vote(X[:3], public=True)
    assert votes.exact_counts.tolist() == [[0, 0, 4]] * 3


def test_fewer_rows_than_teachers_and_parts_of_one_class():
    X, y = data(6)
    made = pate.Teachers(LogisticRegression, pate.KeyedPartition(20, KEY), classes=range(3)).fit(X, y, ids=range(6))
    assert made.vote(X, public=True).exact_counts.sum(axis=1).tolist() == [20] * 6


def test_processes_train_the_same_teachers():
    X, y = data(60)
    partition, pool = pate.KeyedPartition(4, KEY), data(10)[0]
    one, two = (
        pate.Teachers(LogisticRegression, partition, classes=range(3)).fit(X, y, ids=range(60), jobs=jobs)
        for jobs in (1, 2)
    )
    assert np.array_equal(one.vote(pool, public=True).exact_counts, two.vote(pool, public=True).exact_counts)


def test_teachers_stay():
    X, y = data(30)
    teachers = pate.Teachers(LogisticRegression, pate.KeyedPartition(2, KEY), classes=range(3)).fit(X, y, ids=range(30))
    with pytest.raises(SerialisationError, match="not pickled"):
        pickle.dumps(teachers)
    with pytest.raises(InvalidParameter, match="public=True"):
        teachers.vote(X)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda X, y: pate.Teachers(3, pate.KeyedPartition(2, KEY), classes=[0, 1]), "factory"),
        (lambda X, y: pate.Teachers(Raises, 2, classes=[0, 1]), "partition"),
        (lambda X, y: pate.Teachers(Raises, pate.KeyedPartition(2, KEY), classes=[0]), "classes"),
        (lambda X, y: pate.Teachers(Raises, pate.KeyedPartition(2, KEY), classes=[0, 0]), "classes"),
        (lambda X, y: pate.Teachers(Raises, pate.KeyedPartition(2, KEY), classes=[0, 1], default=7), "default"),
        (lambda X, y: pate.KeyedPartition(0, KEY), "parts"),
        (lambda X, y: pate.KeyedPartition(2, b""), "key"),
        (lambda X, y: _teachers().fit(X, y, ids=[1]), "ids"),
        (lambda X, y: _teachers().fit(X, y[:2], ids=range(30)), "rows"),
        (lambda X, y: _teachers().vote(X, public=True), "fit first"),
        (lambda X, y: _teachers().fit(X, y, ids=range(30)).vote(X[:0], public=True), "at least one"),
    ],
)
def test_mistakes_are_one_sentence(ask, words):
    with pytest.raises((InvalidParameter, InvalidData), match=words):
        ask(*data(30))


def _teachers():
    return pate.Teachers(LogisticRegression, pate.KeyedPartition(2, KEY), classes=range(3))


def test_the_student_learns_from_labels_alone():
    X, y = data(300)
    labels = np.where(np.arange(300) < 40, y, -1)
    plain = pate.Student(LogisticRegression(), classes=["a", "b", "c"]).fit(X, labels)
    spread = pate.Student(LogisticRegression(), classes=["a", "b", "c"], neighbours=7).fit(X, labels)
    names = np.array(["a", "b", "c"])[y]
    assert (plain.predict(X) == names).mean() > 0.85
    assert (spread.predict(X) == names).mean() > 0.85


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1], "one for each"),
        ([0.5] * 30, "whole"),
        ([0] * 30, "two classes"),
        ([9] * 30, "places"),
        ([-1] * 30, "two"),
    ],
)
def test_labels_that_teach_nothing_are_refused(labels, words):
    with pytest.raises(InvalidData, match=words):
        pate.Student(LogisticRegression(), classes=[0, 1, 2]).fit(data(30)[0], labels)


def test_a_student_teaches_itself_what_it_is_sure_of():
    X, y = data(300)
    labels = np.where(np.arange(300) < 40, y, -1)
    names = np.array(["a", "b", "c"])[y]
    taught = []

    class Watched(LogisticRegression):
        def fit(self, X, y):
            taught.append(len(X))
            return super().fit(X, y)

    made = pate.Student(Watched(), classes=["a", "b", "c"], sure=0.8).fit(X, labels)
    assert taught[0] == 40
    assert len(taught) > 1
    assert taught == sorted(taught)
    assert taught[-1] > 100
    assert (made.predict(X) == names).mean() > 0.8
    never = pate.Student(LogisticRegression(), classes=["a", "b", "c"], sure=1.0).fit(X, labels)
    plain = pate.Student(LogisticRegression(), classes=["a", "b", "c"]).fit(X, labels)
    assert never.predict(X).tolist() == plain.predict(X).tolist()
    with pytest.raises(InvalidParameter, match="predict_proba"):
        pate.Student(Strange(lambda n: [0] * n), classes=[0, 1], sure=0.9)
    with pytest.raises(InvalidParameter, match="either"):
        pate.Student(LogisticRegression(), classes=[0, 1], sure=0.9, neighbours=3)


def test_a_student_is_a_model():
    with pytest.raises(InvalidParameter, match="fit and predict"):
        pate.Student(3, classes=[0, 1])


def test_every_teacher_has_a_stream_of_its_own():
    """Two parts with the same rows are not the same teacher."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 6)), rng.integers(0, 2, 60)
    teachers = pate.Teachers(
        lambda: DecisionTreeClassifier(max_features=1), pate.KeyedPartition(6, KEY), classes=[0, 1]
    )
    teachers.fit(np.tile(X, (6, 1)), np.tile(y, 6), ids=_one_in_each_part(6, 60))
    told = {tuple(model.predict(X * 1.3).tolist()) for model in teachers._models}
    assert len(told) > 1


def _one_in_each_part(parts, rows):
    """Ids such that each part gets the same rows."""
    partition, found = pate.KeyedPartition(parts, KEY), {}
    for each in range(1_000):
        found.setdefault(int(partition.assign([each])[0]), each)
    return np.repeat([found[part] for part in range(parts)], rows)


SHARED = LogisticRegression()
SCALER = StandardScaler()


class FromTheSharedGenerator:
    """A model that draws from numpy's own generator, as often as it has rows: what a research script does."""

    def fit(self, X, y):
        self.weights = np.random.normal(size=(len(X), 3)).sum(axis=0)
        return self

    def predict(self, X):
        return np.argmax(self.weights + X[:, :3], axis=1)


@pytest.mark.parametrize(
    "factory",
    [
        pytest.param(lambda: SHARED, id="one object for all"),
        pytest.param(lambda: make_pipeline(SCALER, LogisticRegression()), id="a shared scaler"),
        pytest.param(
            lambda: make_pipeline(StandardScaler(copy=False), LogisticRegression()), id="writes into the pool"
        ),
        pytest.param(lambda: make_pipeline(StandardScaler(), RandomForestClassifier(3)), id="a generator inside"),
        pytest.param(FromTheSharedGenerator, id="the shared generator"),
    ],
)
@pytest.mark.parametrize("part", [0, 8])  # the first is trained before others, the last after them
def test_a_person_changes_one_vote_whatever_factories_share(factory, part):
    assert_one_vote_moves(factory, part, jobs=1)


def test_a_person_changes_one_vote_in_processes_too():
    assert_one_vote_moves(FromTheSharedGenerator, 0, jobs=2)


def assert_one_vote_moves(factory, part, jobs):
    X, y = data()
    pool = np.random.default_rng(2).normal(size=(60, 4)) * 3 + 2
    partition = pate.KeyedPartition(9, KEY)
    person = next(each for each in range(1_000, 2_000) if partition.assign([each]) == [part])
    kept, counts = pool.copy(), []
    for more in (0, 1):  # one more row, in one part
        np.random.seed(0)  # as people do
        rows, told = np.vstack([X, *[np.full((1, 4), 1e4)] * more]), [*y, *[2] * more]
        ids = [*range(200), *[person] * more]
        made = pate.Teachers(factory, partition, classes=range(3)).fit(rows, told, ids=ids, jobs=jobs)
        counts.append(made.vote(pool, public=True).exact_counts)
    assert np.abs(counts[0] - counts[1]).sum(axis=1).max() <= 2
    assert np.array_equal(pool, kept)


def test_training_leaves_the_shared_generators_as_they_were():
    X, y = data()
    np.random.seed(5)
    expected = np.random.random(2)
    np.random.seed(5)
    first = np.random.random()
    pate.Teachers(FromTheSharedGenerator, pate.KeyedPartition(3, KEY), classes=range(3)).fit(X, y, ids=np.arange(200))
    assert [first, np.random.random()] == expected.tolist()


def test_a_factory_that_cannot_work_says_why_before_rows_are_read():
    X, y = data()

    def broken():
        raise ValueError("no such solver")

    made = pate.Teachers(broken, pate.KeyedPartition(3, KEY), classes=range(3))
    with pytest.raises(InvalidParameter, match="no such solver"):
        made.fit(X, y, ids=np.arange(200))
    with pytest.raises(InvalidParameter, match="fit and predict"):
        pate.Teachers(object, pate.KeyedPartition(3, KEY), classes=range(3)).fit(X, y, ids=np.arange(200))


# --- teachers that are kept ---

TRAINED = []


class Counted(DecisionTreeClassifier):
    def fit(self, X, y):
        TRAINED.append(len(X))
        return super().fit(X, y)


def kept_votes(folder, rows=200, depth=2, key=KEY, jobs=1):
    """How many teachers were trained, and what they all say."""
    TRAINED.clear()
    X, y = data()
    made = pate.Teachers(lambda: Counted(max_depth=depth), pate.KeyedPartition(9, key), classes=range(3))
    made.fit(X[:rows], y[:rows], ids=np.arange(rows), folder=folder, jobs=jobs)
    return len(TRAINED), made.vote(data(20)[0], public=True).exact_counts


def test_a_finished_part_is_not_trained_again(tmp_path):
    folder = tmp_path / "teachers"
    first, votes = kept_votes(folder)
    again, same = kept_votes(folder)
    assert (first, again) == (9, 0)
    assert np.array_equal(votes, same)
    one_less, _ = kept_votes(folder, rows=199)
    assert one_less == 1  # the part of the row that is gone
    deeper, _ = kept_votes(folder, depth=3)
    assert deeper == 9
    other, _ = kept_votes(folder, key=b"another")
    assert other == 9
    assert all(each.stat().st_mode & 0o077 == 0 for each in (folder, *folder.iterdir()))


def test_a_file_that_was_cut_is_trained_again(tmp_path):
    folder = tmp_path / "teachers"
    _, votes = kept_votes(folder)
    for each in list(folder.iterdir())[:2]:
        each.write_bytes(each.read_bytes()[:20])
    again, same = kept_votes(folder)
    assert again == 2
    assert np.array_equal(votes, same)


def test_training_is_cancelled_and_goes_on(tmp_path):
    seen = []

    def stop_at_four(what, done, total):
        seen.append((what, done, total))
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listening(stop_at_four):
        kept_votes(tmp_path / "teachers")
    assert seen[-1] == ("teachers", 4, 9)
    rest, votes = kept_votes(tmp_path / "teachers")
    assert rest == 5
    assert np.array_equal(votes, kept_votes(tmp_path / "other")[1])


def test_progress_of_processes_is_told(tmp_path):
    X, y = data(60)
    seen = []
    made = pate.Teachers(LogisticRegression, pate.KeyedPartition(4, KEY), classes=range(3))
    with listening(lambda *told: seen.append(told)):
        made.fit(X, y, ids=range(60), jobs=2, folder=tmp_path / "teachers")
    assert seen == [("teachers", done, 4) for done in range(5)]
    assert len(list((tmp_path / "teachers").iterdir())) == 4


def test_a_folder_that_others_read_is_refused(tmp_path):
    X, y = data(30)
    (tmp_path / "open").mkdir(mode=0o755)
    with pytest.raises(InvalidParameter, match="owner alone"):
        _teachers().fit(X, y, ids=range(30), folder=tmp_path / "open")
    with pytest.raises(InvalidParameter, match="folder cannot be made"):
        _teachers().fit(X, y, ids=range(30), folder=tmp_path / "no" / "such")


class Unpicklable(DecisionTreeClassifier):
    def __reduce_ex__(self, protocol):
        raise TypeError("secret")

    def __deepcopy__(self, memo):
        return Unpicklable(max_depth=1)


def test_what_cannot_be_kept_is_refused_before_rows_are_read(tmp_path):
    X, y = data(30)
    made = pate.Teachers(Unpicklable, pate.KeyedPartition(2, KEY), classes=range(3), default=2)
    with pytest.raises(InvalidParameter, match="copied and pickled"):
        made.fit(X, y, ids=range(30), folder=tmp_path / "teachers")
    assert made.fit(X, y, ids=range(30)).vote(X[:2], public=True).queries == 2
