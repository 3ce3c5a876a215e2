"""Record and replay: what no noise covers is found; a sound pipeline has no findings."""

import random
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from privet import audit, mechanisms, noise
from privet.mechanisms import carry
from privet.mechanisms.payment import draw_coins

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


# --- what differs on one input already is named, not held against the pipeline -----------------------------------------


@dataclass(frozen=True)
class Answer:
    at: int
    total: float


def with_randomness(rows):
    return random.random(), LAPLACE.release(sum(rows)).value


def with_clock(rows):
    return Answer(time.time_ns(), LAPLACE.release(sum(rows)).value)


def with_printed_clock(rows):
    print("started", time.perf_counter_ns())
    print("done")
    return LAPLACE.release(sum(rows)).value


def with_generator(rows):
    noisy = LAPLACE.release(sum(rows)).value
    return [noisy, float(np.random.default_rng().normal())]


@pytest.mark.parametrize("pipeline", [with_randomness, with_clock, with_printed_clock, with_generator])
def test_public_randomness_and_clocks_are_named_and_not_refuted(pipeline):
    found = audit.replay(pipeline, LEFT, RIGHT)
    assert not found.refuted
    assert found.unstable
    assert found.verdict == "depends on more than its input"
    assert "not judged" in str(found)
    assert found.notes


@pytest.mark.parametrize("pipeline", [with_randomness, with_clock, with_printed_clock, with_generator])
def test_a_leak_beside_a_clock_is_still_found(pipeline):
    def leaking(rows):
        return pipeline(rows), len(rows)

    found = audit.replay(leaking, LEFT, RIGHT)
    assert [finding.where for finding in found.findings] == ["result[1]"]
    assert found.verdict == "violated"


def test_nan_and_missing_values_are_equal_to_themselves():
    def pipeline(rows):
        LAPLACE.release(sum(rows))
        return {"mean": float("nan"), "none": None, "array": np.array([np.nan])}

    assert audit.replay(pipeline, LEFT, RIGHT).verdict == "not refuted"


def test_an_input_that_is_used_up_is_whole_in_every_run():
    def consuming(rows):
        total = 0.0
        while rows:
            total += rows.pop()
        return LAPLACE.release(total).value

    assert audit.replay(consuming, list(LEFT), list(RIGHT)).verdict == "not refuted"
    far = audit.replay(consuming, [1.0, 1.0, 1.0], [1.0])
    assert [finding.kind for finding in far.findings] == ["distance"]


def test_leaving_the_program_is_an_ending():
    def leaving(rows):
        if len(rows) < 3:
            raise SystemExit(2)
        return LAPLACE.release(sum(rows)).value

    assert "exception" in kinds(leaving)


def test_records_with_none_are_compared():
    def pipeline(rows):
        return COUNT.release(list(rows)).value

    assert kinds(pipeline, (1, None, 3), (1, None)) == []
    assert kinds(pipeline, (1, None, None), (1, 2)) == ["records"]
    assert kinds(pipeline, (("a", None), ("b", 1)), (("a", None),)) == []
    assert kinds(pipeline, (("a", None), ("b", 1), ("c", 2)), (("a", 1), ("b", 1))) == ["records"]


# --- threads -------------------------------------------------------------------------------------------------------------


def in_threads(work, rows):
    out = [None] * 4

    def one(j):
        time.sleep(0.002 * (j % 2))
        out[j] = work(rows, j)

    threads = [threading.Thread(target=carry(one), args=(j,)) for j in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def in_a_pool(work, rows):
    with ThreadPoolExecutor(3) as pool:
        return [job.result() for job in [pool.submit(carry(work), rows, j) for j in range(8)]]


def in_joblib(work, rows):
    joblib = pytest.importorskip("joblib")
    parallel = joblib.Parallel(n_jobs=2, backend="threading")
    return parallel([joblib.delayed(carry(work))(rows, j) for j in range(8)])


def sound_work(rows, j):
    return LAPLACE.release(sum(rows) + 100 * j).value


def leaking_work(rows, j):
    return LAPLACE.release((3 if j == 3 else 1) * sum(rows) + 100 * j).value


@pytest.mark.parametrize("how", [in_threads, in_a_pool, in_joblib])
def test_releases_in_threads_that_they_are_carried_to_are_compared(how):
    found = audit.replay(lambda rows: how(sound_work, rows), LEFT, RIGHT)
    assert (found.verdict, found.releases >= 4) == ("not refuted", True)
    assert kinds(lambda rows: how(leaking_work, rows)) == ["distance"]
    assert kinds(lambda rows: how(lambda data, j: len(data), rows))[:1] == ["branch"]


def test_a_thread_that_work_was_not_carried_to_is_refused_and_that_is_said():
    def pipeline(rows):
        with ThreadPoolExecutor(1) as pool:
            return str(pool.submit(LAPLACE.release, sum(rows)).exception())

    found = audit.replay(pipeline, LEFT, RIGHT)
    assert (found.releases, found.verdict) == (0, "not refuted")
    assert any("mechanisms.carry(f)" in note for note in found.notes)
    assert not audit.replay(sound, LEFT, RIGHT).notes


def test_a_pipeline_that_ends_with_an_error_is_said_to_be_judged_no_further():
    def broken(rows):
        LAPLACE.release(sum(rows))
        raise KeyError("column")

    assert any("ended with an error" in note for note in audit.replay(broken, LEFT, RIGHT).notes)
    assert not any("ended with an error" in note for note in audit.replay(sound, LEFT, RIGHT).notes)


def test_noise_from_a_seed_is_named():
    def seeded(rows):
        return LAPLACE.release(sum(rows), source=noise.Seeded(7)).value

    assert any("from a seed" in note for note in audit.replay(seeded, LEFT, RIGHT).notes)
    assert not any("from a seed" in note for note in audit.replay(sound, LEFT, RIGHT).notes)


# --- luck: public coins that agree once, and mistakes that show under some noise only -------------------------------------


def with_a_coin(rows):
    return LAPLACE.release(sum(rows)).value, random.random() < 0.5


def test_public_coins_that_agree_by_luck_accuse_nobody():
    found = [audit.replay(with_a_coin, LEFT, RIGHT) for _ in range(12)]
    assert not any(each.refuted for each in found)
    assert any(each.unstable for each in found)


def test_what_comes_through_beside_a_coin_is_found_every_time():
    def leaking(rows):
        return with_a_coin(rows), len(rows)

    found = [audit.replay(leaking, LEFT, RIGHT) for _ in range(6)]
    assert {finding.where for each in found for finding in each.findings} == {"result[1]"}


def test_a_mistake_that_shows_under_some_noise_only_is_found_by_several_records():
    def stopping(rows):
        total = 0.0
        for _ in range(4):
            total = LAPLACE.release(sum(rows)).value
            if abs(total - sum(rows)) < 0.5:
                break
        return total

    assert sum(audit.replay(stopping, LEFT, RIGHT, times=12).refuted for _ in range(8)) == 8
    once = audit.replay(sound, LEFT, RIGHT, times=1)
    assert (once.times, audit.replay(sound, LEFT, RIGHT).times) == (1, 4)
    assert "under 1 record of their noise" in str(once)


def test_coins_are_compared_with_those_of_the_record():
    def throwing(rows):
        for _ in rows:
            draw_coins("kept", lambda source: noise.uniform_int(bound=2, source=source), None)
        return LAPLACE.release(sum(rows)).value

    assert kinds(throwing) == ["coins"]


class Offer:
    """A candidate that equals itself alone."""


def test_answers_are_the_candidates_themselves_and_a_pipeline_writes_into_a_copy_of_its_own():
    one, other = Offer(), Offer()
    prices = {one: 1.0, other: 2.0}
    best = mechanisms.Exponential.for_budget(epsilon=1.0, sensitivity=1.0, candidates=(one, other))
    most = mechanisms.TopK.for_budget(epsilon=1.0, sensitivity=1.0, k=1, candidates=(one, other))

    def looked_up(rows, told=0):
        scores = [float(len(rows)), 0.0]
        return prices[best.release(scores).value], *(prices[each] for each in most.release(scores).value), told

    found = audit.replay(looked_up, LEFT, RIGHT)
    assert not found.findings
    assert not found.unstable
    assert kinds(lambda rows: looked_up(rows, len(rows))) == ["branch"]

    def written(rows):
        noisy = LAPLACE.release(np.array([float(len(rows))])).value
        noisy.setflags(write=True)
        noisy += 1.0
        return noisy

    found = audit.replay(written, LEFT, RIGHT)
    assert not found.findings
    assert not found.unstable


# --- what a run gives out, in every form ----------------------------------------------------------------------------------


def test_what_a_generator_yields_is_part_of_its_run():
    def yielding(rows, told):
        yield LAPLACE.release(sum(rows)).value
        yield told

    assert kinds(lambda rows: yielding(rows, len(rows))) == ["branch"]
    found = audit.replay(lambda rows: yielding(rows, 3), LEFT, RIGHT)
    assert (found.verdict, found.releases) == ("not refuted", 1)


def test_what_a_traceback_prints_above_an_exception_counts():
    def failing(rows):
        try:
            raise KeyError(len(rows))
        except KeyError as inner:
            raise ValueError("no answer") from inner

    assert kinds(failing) == ["exception"]


def test_an_exception_may_be_its_own_cause():
    def failing(rows):
        problem = ValueError("no answer")
        raise problem from problem

    assert audit.replay(failing, LEFT, RIGHT).verdict == "not refuted"


def test_a_function_is_what_it_keeps():
    def made(rows, told):
        noisy = LAPLACE.release(sum(rows)).value
        return lambda x: noisy + told * x

    assert kinds(lambda rows: made(rows, len(rows))) == ["branch"]
    assert audit.replay(lambda rows: made(rows, 3), LEFT, RIGHT).verdict == "not refuted"
