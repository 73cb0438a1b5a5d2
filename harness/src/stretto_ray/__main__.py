# SPDX-License-Identifier: Apache-2.0
"""python -m stretto_ray"""
import sys

from .cli import main

sys.exit(main())
