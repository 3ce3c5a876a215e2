"""Record and replay: what no noise covers is found; a sound pipeline has no findings."""

import warnings

import numpy as np
import pytest

from privet import audit, mechanisms

LAPLACE = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
COUNT = mechanisms.Count.for_budget(epsilon=1.0)
LEFT, RIGHT = (0.5, 1.0, 1.0), (0.5, 1.0)


def kinds(pipeline, left=LEFT, right=RIGHT) -> list[str]:
    return [finding.kind for finding in audit.replay(pipeline, left, right).findings]


def sound(rows):
    total = LAPLACE.release(sum(rows)).value
    return total if total > 0 else COUNT.release(list(rows)).value


def too_far(rows):
    return LAPLACE.release(2 * sum(rows)).value


def branching(rows):
    noisy = LAPLACE.release(sum(rows)).value
    return noisy if len(rows) > 2 else -noisy


def growing(rows):
    LAPLACE.release(sum(rows))
    return [0.0] * len(rows)


def printing(rows):
    print(f"{len(rows)} rows read")
    return LAPLACE.release(sum(rows)).value


def warning(rows):
    if len(rows) < 3:
        warnings.warn("few rows", UserWarning, stacklevel=1)
    return LAPLACE.release(sum(rows)).value


def raising(rows):
    if len(rows) < 3:
        raise ValueError("too few rows")
    return LAPLACE.release(sum(rows)).value


def asking_more(rows):
    return [LAPLACE.release(row).value for row in rows]


def other_mechanism(rows):
    budget = 1.0 if len(rows) > 2 else 0.5
    return mechanisms.Laplace.for_budget(epsilon=budget, sensitivity=1.0).release(sum(rows)).value


def longer_input(rows):
    return LAPLACE.release(np.asarray(rows)).value


def exact_answer(rows):
    return LAPLACE.release(sum(rows)).value + sum(rows)


@pytest.mark.parametrize(
    ("pipeline", "kind"),
    [
        (too_far, "distance"),
        (branching, "branch"),
        (exact_answer, "branch"),
        (growing, "shape"),
        (longer_input, "shape"),
        (printing, "message"),
        (warning, "warning"),
        (raising, "exception"),
        (asking_more, "count of calls"),
        (other_mechanism, "mechanism"),
    ],
)
def test_what_no_noise_covers_is_found(pipeline, kind):
    assert kind in kinds(pipeline)
    assert kind in kinds(pipeline, RIGHT, LEFT)  # either order of the worlds


def test_a_sound_pipeline_has_no_findings():
    for _ in range(20):  # it branches on noise
        found = audit.replay(sound, LEFT, RIGHT)
        assert found.findings == ()
        assert not found.refuted
        assert found.releases >= 1


def test_a_finding_names_its_place_and_its_numbers():
    found = audit.replay(too_far, LEFT, RIGHT)
    assert found.refuted
    assert [str(finding) for finding in found.findings] == [
        "release 0: distance: laplace: inputs are 2 apart, declared 1"
    ]
    assert str(audit.replay(branching, LEFT, RIGHT).findings[0]).startswith("end: branch")


def test_the_distance_is_measured_in_the_declared_norm():
    def vector(mechanism):
        return lambda rows: mechanism.release(np.asarray(rows)).value

    near, far = (0.0, 0.0), (0.6, 0.7)  # l1 distance 1.3, l2 distance 0.92
    gaussian = mechanisms.Gaussian.for_budget(epsilon=1.0, delta=1e-6, sensitivity=1.0)
    assert kinds(vector(gaussian), near, far) == []
    assert kinds(vector(LAPLACE), near, far) == ["distance"]


def test_records_of_one_unit_may_differ_and_no_more():
    def pipeline(rows):
        return COUNT.release(list(rows)).value

    assert kinds(pipeline, (1, 2, 3), (1, 2)) == []
    assert kinds(pipeline, (1, 2, 3), (1,)) == ["records"]


def test_the_second_world_sees_the_first_worlds_noise():
    values = []

    def pipeline(rows):
        values.append(LAPLACE.release(sum(rows)).value)
        return values[-1]

    audit.replay(pipeline, LEFT, RIGHT)
    assert values[0] == values[1]


def test_recording_ends_with_the_replay():
    audit.replay(sound, LEFT, RIGHT)
    assert not LAPLACE.release(1.0).insecure
