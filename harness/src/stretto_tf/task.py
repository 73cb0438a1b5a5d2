# SPDX-License-Identifier: Apache-2.0
"""One task of a cluster: python -m stretto_tf.task PARENT ROLE INDEX. Started by cluster.py, never by hand.

Commands come as lines of JSON on standard input, answers go to standard output; everything else is logged. The roles:
switch (holds a network namespace and does nothing), ps, worker.
"""
import json
import os
import pathlib
import signal
import sys
import time
import traceback
from typing import Any, TextIO

from . import network, processes


def _receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


class Task:
    def __init__(self, role: str, index: int, answers: TextIO):
        self.role = role
        self.index = index
        self._answers = answers
        self.server: Any = None
        self.config: Any = None

    def answer(self, kind: str, **rest: Any) -> None:
        self._answers.write(json.dumps({'kind': kind, **rest}) + '\n')
        self._answers.flush()

    def enter(self, message: dict[str, Any]) -> None:
        if message['namespace']:
            network.enter_new_namespace()
        self.answer('entered')

    def start(self, message: dict[str, Any]) -> None:
        if message['real']:
            from . import real
            real.prepare()
        import tensorflow as tf
        from . import config, oplib
        tf.compat.v1.disable_v2_behavior()
        oplib.load()
        nice = os.getpriority(os.PRIO_PROCESS, 0) if message['real'] else processes.raise_priority()
        self.config = config.session_config(message['inter_op_threads'], message['intra_op_threads'])
        self.server = tf.compat.v1.train.Server(
            {'ps': message['ps'], 'worker': message['worker']}, job_name=self.role, task_index=self.index,
            protocol='grpc', config=self.config)
        self.answer('started', tensorflow=tf.__version__, nice=nice)

    def policy(self, message: dict[str, Any]) -> None:
        """Builds, then initialises (worker 0), then measures; the parent lets all workers go together."""
        import tensorflow as tf
        from . import bundle as bundle_file
        from . import emulated, real
        bundle = bundle_file.read(message['bundle'])
        index = message['index']
        built = (real if bundle.model else emulated).build(bundle, bundle.policies[index], index, self.index)
        with tf.compat.v1.Session(self.server.target, graph=built.graph, config=self.config) as session:
            if self.index == 0:
                session.run(built.init)
            self.answer('initialised')
            _receive()
            step = session.make_callable(built.step)
            times = []
            for _ in range(bundle.warm_up):
                step()
                self.answer('step')
            session.run(built.drains)
            self.answer('warm')
            _receive()
            for _ in range(bundle.steps):
                begin = time.monotonic_ns()
                step()
                times.append((begin, time.monotonic_ns()))
                self.answer('step')
            self.answer('finished')
            _receive()
            notes = [row for place in session.run(built.drains) for row in place.tolist()]
            self.answer('measured', times=times, notes=notes)

    def profile(self, message: dict[str, Any]) -> None:
        """Writes traces of steps of the graph as it is; worker 0 of a cluster with one worker."""
        import tensorflow as tf
        from . import bundle as bundle_file
        from . import profile, real
        bundle = bundle_file.read(message['bundle'])
        built = real.build(bundle, bundle.policies[0], 0, self.index, as_it_is=True)
        with tf.compat.v1.Session(self.server.target, graph=built.graph, config=self.config) as session:
            session.run(built.init)
            found = profile.trace(session, built.step, bundle.warm_up, message['traces'],
                                  lambda: self.answer('step'))
            counts = profile.write(pathlib.Path(message['folder']), built.graph, built.step, found)
        self.answer('profiled', **counts)

    def reset(self, message: dict[str, Any]) -> None:
        """Frees the variables of all servers."""
        import tensorflow as tf
        tf.compat.v1.Session.reset(self.server.target)
        self.answer('reset')


def main() -> None:
    parent, role, index = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    processes.die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    task = Task(role, index, answers)
    handlers = {'enter': task.enter, 'start': task.start, 'policy': task.policy, 'profile': task.profile,
                'reset': task.reset}
    while True:
        message = _receive()
        try:
            handlers[message['kind']](message)
        except Exception as error:
            traceback.print_exc()
            task.answer('error', text=str(error).strip().splitlines()[0] if str(error).strip() else repr(error))


if __name__ == '__main__':
    main()
