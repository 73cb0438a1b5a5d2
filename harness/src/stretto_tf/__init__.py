# SPDX-License-Identifier: Apache-2.0
"""Measures transfer schedules on a real TensorFlow parameter-server cluster; reads and writes files of stretto."""
