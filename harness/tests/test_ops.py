# SPDX-License-Identifier: Apache-2.0
"""The op library, in one process."""
import threading
import time
from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow
tf = pytest.importorskip('tensorflow')


@pytest.fixture(scope='module')
def ops() -> Any:
    from stretto_tf import oplib
    return oplib.load()


def session() -> Any:
    from stretto_tf.config import session_config
    return tf.compat.v1.Session(config=session_config(16, 2))


MS = 1_000_000


def test_a_stream_is_exclusive_and_holds_its_times(ops: Any) -> None:
    durations = [2, 1, 3, 2, 0]
    with tf.Graph().as_default():
        work = [ops.stretto_compute(duration_ns=d * MS, tag=i, stream=1) for i, d in enumerate(durations)]
        other = ops.stretto_compute(duration_ns=5 * MS, tag=99, stream=2)
        drain = ops.stretto_drain()
        with session() as running:
            running.run(drain)
            begin = time.monotonic_ns()
            running.run([*work, other])
            took = time.monotonic_ns() - begin
            rows = running.run(drain).tolist()
            assert running.run(drain).shape == (0, 3)
    assert sorted(row[0] for row in rows) == [0, 1, 2, 3, 4, 99]
    served = sorted((row for row in rows if row[0] < 99), key=lambda row: row[2])
    for tag, start, end in rows:
        assert end - start >= (durations + [5] * 99)[min(tag, 5)] * MS and start >= begin - 1
    for before, after in zip(served, served[1:]):
        assert after[2] - before[2] >= durations[after[0]] * MS - (before[2] - before[1] - durations[before[0]] * MS)
    assert took >= 8 * MS
    if took < 11 * MS:  # a busy machine may delay us, but streams that wait for each other need 13 ms
        assert max(row[2] for row in rows) - begin < 13 * MS


def test_delays_do_not_add_up_over_a_chain(ops: Any) -> None:
    count, duration = 100, MS
    with tf.Graph().as_default():
        before: list[Any] = []
        for i in range(count):
            with tf.control_dependencies(before):
                before = [ops.stretto_compute(duration_ns=duration, tag=i, stream=3)]
        drain = ops.stretto_drain()
        with session() as running:
            running.run(drain)
            running.run(before)
            rows = sorted(running.run(drain).tolist())
    starts = [row[1] for row in rows]
    caught_up = sum(b - a == duration for a, b in zip(starts, starts[1:]))
    assert all(b - a >= duration for a, b in zip(starts, starts[1:]))
    assert caught_up >= count // 4


def test_a_stamp_passes_its_value_on(ops: Any) -> None:
    with tf.Graph().as_default():
        value = tf.constant([1.5, 2.5])
        stamp = ops.stretto_stamp(value=value, tag=7)
        drain = ops.stretto_drain()
        assert stamp.shape == (2,)
        with session() as running:
            running.run(drain)
            assert running.run(stamp).tolist() == [1.5, 2.5]
            [[tag, start, end]] = running.run(drain).tolist()
    assert tag == 7 and start == end and 0 <= time.monotonic_ns() - start < 60_000 * MS


def test_a_barrier_lets_all_go_together(ops: Any) -> None:
    left: list[int] = []

    def go(number: int) -> None:
        with tf.Graph().as_default():
            meet = ops.stretto_barrier(meeting='all', parties=3)
            with session() as running:
                for _ in range(5):
                    running.run(meet)
                    left.append(number)

    threads = [threading.Thread(target=go, args=[i]) for i in range(3)]
    threads[0].start()
    threads[1].start()
    time.sleep(0.3)
    assert left == []
    threads[2].start()
    for thread in threads:
        thread.join(60)
    assert sorted(left) == sorted([0, 1, 2] * 5)


def test_a_cancelled_step_leaves_its_barrier(ops: Any) -> None:
    options = tf.compat.v1.RunOptions(timeout_in_ms=300)
    with tf.Graph().as_default():
        alone = ops.stretto_barrier(meeting='cancelled', parties=2)
        with session() as running:
            with pytest.raises(tf.errors.DeadlineExceededError):
                running.run(alone, options=options)
            with pytest.raises(tf.errors.DeadlineExceededError):
                running.run(alone, options=options)


@pytest.mark.parametrize('name, attributes', [('compute', {'duration_ns': -1, 'tag': 0}),
                                              ('barrier', {'meeting': 'x', 'parties': 0})])
def test_wrong_attributes_are_errors(ops: Any, name: str, attributes: dict[str, Any]) -> None:
    with tf.Graph().as_default():
        op = getattr(ops, f'stretto_{name}')(**attributes)
        with session() as running, pytest.raises(tf.errors.InvalidArgumentError):
            running.run(op)
