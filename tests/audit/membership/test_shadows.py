"""Shadow models: halves, kept, resumed, and never mixed up."""

import numpy as np
import pytest

from privet import audit
from privet.errors import InvalidData, InvalidParameter
from tests.audit.membership.planted import Learned, records


def test_every_record_is_in_half_of_the_models(tmp_path):
    made = audit.shadow_models(Learned, records(30), many=7, folder=tmp_path)
    assert made.included.shape == (7, 30)
    assert (made.included.sum(axis=0) == 3).all()
    assert len(set(map(bytes, made.included.T))) > 10  # not one split for all
    for model, included in zip(made.models(), made.included, strict=True):
        assert model.known == set(np.flatnonzero(included).astype(float).tolist())


def test_a_second_call_trains_only_what_is_missing(tmp_path):
    trained = []

    def train(x, y):
        trained.append(len(y))
        return Learned(x, y)

    first = audit.shadow_models(train, records(20), many=4, folder=tmp_path)
    assert len(trained) == 4
    (tmp_path / "shadow-0002.joblib").unlink()
    told = []
    again = audit.shadow_models(
        train, records(20), many=4, folder=tmp_path, progress=lambda done, of: told.append((done, of))
    )
    assert len(trained) == 5
    assert told == [(4, 4)]
    assert (again.included == first.included).all()


@pytest.mark.parametrize("other", [(records(21), 4), (records(20, start=1), 4), (records(20), 6)])
def test_a_folder_of_something_else_is_refused(tmp_path, other):
    audit.shadow_models(Learned, records(20), many=4, folder=tmp_path)
    with pytest.raises(InvalidParameter, match="another pool or number"):
        audit.shadow_models(Learned, other[0], many=other[1], folder=tmp_path)


def test_a_failing_fit_leaves_the_others_and_quotes_nothing(tmp_path):
    calls = []

    def train(x, y):
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("record of Mrs Smith")
        return Learned(x, y)

    with pytest.raises(InvalidData, match=r"1 of 3 .*KeyError") as caught:
        audit.shadow_models(train, records(20), many=3, folder=tmp_path)
    assert "Smith" not in str(caught.value)
    assert len(list(tmp_path.glob("shadow-*.joblib"))) == 2
    assert len(audit.shadow_models(train, records(20), many=3, folder=tmp_path)) == 3
    assert len(calls) == 4


@pytest.mark.slow
def test_processes_train_side_by_side(tmp_path):
    made = audit.shadow_models(Learned, records(12), many=4, folder=tmp_path, jobs=2)
    for model, included in zip(made.models(), made.included, strict=True):
        assert model.known == set(np.flatnonzero(included).astype(float).tolist())


def test_equal_records_in_the_pool_are_one_for_the_attack(tmp_path):
    x, y = records(10)
    made = audit.shadow_models(Learned, (np.concatenate((x, x)), np.concatenate((y, y))), many=4, folder=tmp_path)
    assert (made.inside(x, y) == (made.included[:, :10] | made.included[:, 10:])).all()
    assert not made.inside(*records(5, start=100)).any()


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "here").write_text("")
    with pytest.raises(InvalidParameter, match="cannot use the folder"):
        audit.shadow_models(Learned, records(4), many=2, folder=tmp_path / "here")
    with pytest.raises(InvalidParameter):
        audit.shadow_models(Learned, records(4), many=1, folder=tmp_path / "there")
