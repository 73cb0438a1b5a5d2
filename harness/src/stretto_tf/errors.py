# SPDX-License-Identifier: Apache-2.0
"""What ends a command. Exit codes are those of stretto: 1 the run says no, 2 bad usage or input."""


class HarnessError(Exception):
    """Something outside this program failed: a task, the network, the time."""

    exit_code = 1


class InputError(HarnessError):
    """A file or an argument is unusable."""

    exit_code = 2
