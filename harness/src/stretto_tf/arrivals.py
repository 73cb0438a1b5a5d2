# SPDX-License-Identifier: Apache-2.0
"""The order in which tensors arrived, step by step, without knowing when a step begins."""
import collections
from collections.abc import Iterable, Sequence
from typing import Any

KEPT_STEPS = 1000


class Arrivals:
    """On each channel a step begins when a tensor arrives that has arrived in the step before it.

    Sums cover all steps; the times of the last KEPT_STEPS are kept.
    """

    def __init__(self) -> None:
        self._pulls: list[Any] = []
        self._open: dict[Any, list[tuple[int, int]]] = {}
        self._kept: collections.deque[list[tuple[int, int]]] = collections.deque(maxlen=KEPT_STEPS)
        self._inversions: dict[Any, list[int]] = {}
        self._sizes: collections.Counter[Any] = collections.Counter()

    def count(self) -> int:
        return len(self._pulls)

    def extend(self, pulls: Sequence[Any]) -> None:
        """pulls: of enforce.Transfer; they get the next tags."""
        self._pulls.extend(pulls)
        self._sizes.update((p.server, p.worker) for p in pulls if p.rank is not None)

    def add(self, notes: Iterable[tuple[int, int]]) -> None:
        """notes: (tag, time in ns), all there are so far."""
        for tag, time in sorted(notes, key=lambda note: note[1]):
            pull = self._pulls[tag]
            channel = (pull.server, pull.worker)
            step = self._open.setdefault(channel, [])
            if any(tag == before for before, _ in step):
                self._close(channel)
                step = self._open[channel] = []
            step.append((tag, time))

    def _close(self, channel: Any) -> None:
        step = self._open.pop(channel, [])
        ranks = [self._pulls[tag].rank for tag, _ in step if self._pulls[tag].rank is not None]
        if len(ranks) < self._sizes.get(channel, 0) or not step:
            return  # an evaluation or an initialisation that pulls a part
        inverted = sum(ranks[i] > ranks[j] for j in range(len(ranks)) for i in range(j))
        self._inversions.setdefault(channel, []).append(inverted)
        self._kept.append(step)

    def summary(self) -> dict[str, Any]:
        """Ends the steps that are open."""
        for channel in list(self._open):
            self._close(channel)
        steps = max((len(found) for found in self._inversions.values()), default=0)
        total = sum(sum(found) for found in self._inversions.values())
        return {'steps': steps, 'inversions_mean': total / steps if steps else 0.0,
                'inversions_max': max((max(found) for found in self._inversions.values()), default=0),
                'pairs': sum(n * (n - 1) // 2 for n in self._sizes.values())}

    def transfers(self) -> list[dict[str, Any]]:
        return [{'name': p.name, 'server': p.server.task, 'worker': p.worker, 'rank': p.rank, 'bytes': p.bytes}
                for p in self._pulls]

    def kept(self) -> list[list[list[float]]]:
        """Per step and channel, by time: [transfer, ms since the first]."""
        return [[[tag, round((time - step[0][1]) / 1e6, 3)] for tag, time in step] for step in self._kept]
