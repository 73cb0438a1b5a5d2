# SPDX-License-Identifier: Apache-2.0
"""Orders as edges of a graph, and what arrivals say of them."""
import dataclasses
from collections.abc import Sequence

from .bundle import Direction, Transfer


@dataclasses.dataclass(frozen=True)
class Edges:
    """What the sending of one transfer waits for: the arrival of one transfer, the reading of another."""

    arrival: int | None = None
    read: int | None = None


def edges(direction: Direction, transfers: tuple[Transfer, ...]) -> list[Edges]:
    """Per transfer. Never across servers: each server's channel has a chain of its own."""
    result = [Edges()] * len(transfers)
    if direction.mode == 'none':
        return result
    for server in sorted({transfer.server for transfer in transfers}):
        chain = direction.chain_of(transfers, server)
        for place, transfer in enumerate(chain):
            result[transfer] = Edges(
                arrival=chain[place - direction.window] if place >= direction.window else None,
                read=chain[place - 1] if place and direction.mode == 'chain_window' else None)
    return result


def count_pairs(order: Sequence[int], transfers: tuple[Transfer, ...]) -> int:
    """Pairs of ordered transfers on one server."""
    counts: dict[int, int] = {}
    for transfer in order:
        counts[transfers[transfer].server] = counts.get(transfers[transfer].server, 0) + 1
    return sum(n * (n - 1) // 2 for n in counts.values())


def count_inversions(order: Sequence[int], arrivals: Sequence[tuple[int, float]],
                     transfers: tuple[Transfer, ...]) -> int:
    """Pairs of one server that arrived in the other order than asked for. arrivals: (transfer, time) by time."""
    rank = {transfer: place for place, transfer in enumerate(order)}
    inversions = 0
    for server in {transfer.server for transfer in transfers}:
        seen = [rank[t] for t, _ in arrivals if t in rank and transfers[t].server == server]
        inversions += sum(seen[i] > seen[j] for j in range(len(seen)) for i in range(j))
    return inversions
