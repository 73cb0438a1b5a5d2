# SPDX-License-Identifier: Apache-2.0
"""The op library that harness/setup builds into the environment."""
import functools
import pathlib
import sys
from typing import Any

from .errors import HarnessError


def path() -> pathlib.Path:
    return pathlib.Path(sys.prefix) / 'lib' / 'stretto_ops.so'


@functools.cache
def load() -> Any:
    """The module of ops; loads the library into this process."""
    import tensorflow as tf
    if not path().is_file():
        raise HarnessError(f'{path()} is missing; run harness/setup')
    return tf.load_op_library(str(path()))
