"""Generators of other libraries: a stream of one's own inside, untouched outside, and threads take turns."""

import random
import threading

import numpy as np
import pytest

from privet.noise import own_stream


def drawn() -> list[float]:
    return [random.random(), np.random.random()]


def test_a_stream_begins_at_its_seed_and_leaves_no_trace():
    random.seed(5)
    np.random.seed(5)
    expected = drawn()
    random.seed(5)
    np.random.seed(5)
    with own_stream(7):
        first = drawn()
    with pytest.raises(ZeroDivisionError), own_stream(8):
        np.random.random(1 // 0)
    assert drawn() == expected
    with own_stream(7):
        assert drawn() == first
    with own_stream(2**64 - 1):
        assert drawn() != first


def test_threads_take_turns():
    """Without turns the thread that ends first puts the seed of the script back under the other one."""
    with own_stream(9):
        alone = drawn()
    np.random.seed(0)
    random.seed(0)
    entered, ended, found = threading.Event(), threading.Event(), []

    def other() -> None:
        with own_stream(9):
            entered.set()
            ended.wait(60)
            found.extend(drawn())

    thread = threading.Thread(target=other)
    with own_stream(7):
        thread.start()
        entered.wait(0.5)  # it waits for its turn: only without turns is it inside now
    ended.set()
    thread.join(60)
    assert found == alone
