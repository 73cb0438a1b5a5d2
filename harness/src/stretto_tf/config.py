# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's settings, the same for servers and sessions.

Spinning threads cost milliseconds where tasks share processors, and the graph optimizers would undo or move what is put
into a graph to order its transfers.
"""
from typing import Any


def session_config(inter_op_threads: int, intra_op_threads: int) -> Any:
    from tensorflow.core.protobuf import config_pb2
    config = config_pb2.ConfigProto(
        inter_op_parallelism_threads=inter_op_threads, intra_op_parallelism_threads=intra_op_threads,
        device_count={'GPU': 0})
    config.experimental.disable_thread_spinning = True
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config
