# SPDX-License-Identifier: Apache-2.0
"""python -m stretto_tf"""
import sys

from .cli import main

sys.exit(main())
