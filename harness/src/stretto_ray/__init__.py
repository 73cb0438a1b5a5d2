# SPDX-License-Identifier: Apache-2.0
"""Runs the shards of a sweep as tasks on a Ray cluster and merges what they found into one results store."""
