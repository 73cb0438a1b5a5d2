#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on shell scripts that bash cannot parse or, where it is installed, shellcheck warns of. Usage: shell.py ROOT"""
import shutil
import subprocess
import sys

import support


def scripts(root):
    for name in support.files(root):
        text = support.text_of(root, name)
        if text is not None and (name.endswith('.sh') or text.startswith('#!/bin/bash')):
            yield name


def check(root):
    findings = []
    commands = [['bash', '-n']]
    if shutil.which('shellcheck'):
        commands.append(['shellcheck', '-x', '--source-path=SCRIPTDIR:.', '--format=gcc'])
    for name in scripts(root):
        for command in commands:
            done = subprocess.run(command + [name], cwd=root, capture_output=True, text=True)
            if done.returncode:
                findings += (done.stdout + done.stderr).splitlines()
    return findings


if __name__ == '__main__':
    support.report('shell scripts are sound', check(sys.argv[1]))
