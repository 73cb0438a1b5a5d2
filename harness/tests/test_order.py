# SPDX-License-Identifier: Apache-2.0
"""Orders as edges, and inversions."""
import itertools
import random

from stretto_tf import order
from stretto_tf.bundle import Direction, Transfer
from stretto_tf.order import Edges


def transfers(*servers: int) -> tuple[Transfer, ...]:
    return tuple(Transfer(f'v{i}', 0, 4, server) for i, server in enumerate(servers))


def test_window() -> None:
    found = order.edges(Direction('window', 2, (3, 1, 0, 2)), transfers(0, 0, 0, 0))
    assert found == [Edges(arrival=3), Edges(), Edges(arrival=1), Edges()]


def test_chain_window() -> None:
    found = order.edges(Direction('chain_window', 2, (3, 1, 0, 2)), transfers(0, 0, 0, 0))
    assert found == [Edges(3, 1), Edges(None, 3), Edges(1, 0), Edges()]


def test_each_server_has_its_own_chain() -> None:
    found = order.edges(Direction('window', 1, (0, 1, 2, 3)), transfers(0, 1, 0, 1))
    assert found == [Edges(), Edges(), Edges(arrival=0), Edges(arrival=1)]


def test_nothing_is_enforced_without_mode_or_outside_the_order() -> None:
    assert order.edges(Direction('none', 0, (1, 0)), transfers(0, 0)) == [Edges(), Edges()]
    assert order.edges(Direction('window', 1, (2, 0)), transfers(0, 0, 0)) == [Edges(2), Edges(), Edges()]


def test_no_cycle_and_window_one_is_a_total_order() -> None:
    draw = random.Random(1)
    for _ in range(200):
        n = draw.randint(1, 8)
        some = transfers(*[draw.randrange(3) for _ in range(n)])
        asked = draw.sample(range(n), n)
        for mode, window in itertools.product(('window', 'chain_window'), (1, 2, 5)):
            found = order.edges(Direction(mode, window, tuple(asked)), some)
            rank = {t: i for i, t in enumerate(asked)}
            for t, edges in enumerate(found):
                for before in (edges.arrival, edges.read):
                    assert before is None or (rank[before] < rank[t] and some[before].server == some[t].server)
            if window == 1:
                firsts = sum(edges.arrival is None for edges in found)
                assert firsts == len({t.server for t in some})


def test_inversions_count_pairs_of_one_server() -> None:
    some = transfers(0, 0, 0, 1)
    asked = (0, 1, 2, 3)
    assert order.count_pairs(asked, some) == 3
    assert order.count_inversions(asked, [(3, 0.1), (0, 1.0), (1, 2.0), (2, 3.0)], some) == 0
    assert order.count_inversions(asked, [(2, 1.0), (1, 2.0), (0, 3.0), (3, 4.0)], some) == 3
    assert order.count_inversions((0, 2), [(1, 1.0), (2, 2.0), (0, 3.0)], some) == 1
