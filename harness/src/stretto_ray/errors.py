# SPDX-License-Identifier: Apache-2.0
"""What ends the command."""


class DriverError(Exception):
    """Bad usage or input, or a cluster that cannot do it; the exit code is 2 as that of stretto."""
