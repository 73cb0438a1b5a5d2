#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases of Meson build directories and pytest reports.

Usage: summarize_tests.py --allowed-skips FILE [--failed-stage NAME]... [--pytest NAME=REPORT]... [BUILD_DIR]...

GoogleTest cases and TAP points are counted one by one (testlog.junit.xml); any other test is one case. A test that
ended badly without a failed case of its own (crash, timeout) is one failure, and so is a GoogleTest or TAP program
that ran no case, a pytest report that is missing or empty, and each --failed-stage. Prints failures and skips by name;
the last line is "N passed, N failed, N skipped". Exit code 1 if any failed, none passed, or (with CI=true) one was
skipped whose name matches no pattern of FILE.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

GOOD_RESULTS = {'OK', 'EXPECTEDFAIL', 'SKIP'}


def outcome(case):
    if case.find('failure') is not None or case.find('error') is not None:
        return 'failed'
    if case.find('skipped') is not None or case.get('status') == 'notrun':
        return 'skipped'
    return 'passed'


def short_name(name):
    """The test's own name: Meson puts "project:suite / " before it if there are several suites."""
    return name.split(' / ')[-1]


def cases_of(log_dir):
    """(name, outcome) of each case, from the logs that `meson test` left in log_dir."""
    log = log_dir / 'testlog.json'
    if not log.is_file():
        return [(f'{log_dir}: meson left no log', 'failed')]
    groups = {}  # test name -> cases of its GoogleTest or TAP output
    for suite in ElementTree.parse(log_dir / 'testlog.junit.xml').getroot().iter('testsuite'):
        _, _, label = suite.get('name').partition('.')
        if not label:
            continue  # the project's suite of plain tests: testlog.json knows more about those
        label = short_name(label)
        for case in suite.iter('testcase'):
            point = re.sub(r'^\d+ - ', '', case.get('name'))  # a TAP point has its number before its name
            groups.setdefault(label.split('.')[0], []).append((f'{label}.{point}', outcome(case)))
    cases = []
    for line in log.read_text(encoding='utf-8').splitlines():
        test = json.loads(line)
        name = short_name(test['name'])
        good = test['result'] in GOOD_RESULTS
        if name not in groups:
            word = 'skipped' if test['result'] == 'SKIP' else 'passed' if good else 'failed'
            cases.append((name, word))
            continue
        own = groups[name]
        cases += own
        if not good and all(word != 'failed' for _, word in own):
            cases.append((f'{name} ({test["result"].lower()})', 'failed'))
    return cases


def pytest_cases(report):
    """(name, outcome) of each case of a report that pytest wrote (--junitxml)."""
    try:
        cases = [(f'{case.get("classname")}.{case.get("name")}', outcome(case))
                 for case in ElementTree.parse(report).getroot().iter('testcase')]
    except (OSError, ElementTree.ParseError):
        cases = []
    return cases or [(f'{report}: no test ran', 'failed')]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--allowed-skips', required=True, type=pathlib.Path)
    parser.add_argument('--failed-stage', action='append', default=[])
    parser.add_argument('--pytest', action='append', default=[], metavar='NAME=REPORT')
    parser.add_argument('build_dirs', nargs='*', type=pathlib.Path)
    args = parser.parse_args()

    cases = [(stage, 'failed') for stage in args.failed_stage]
    for build_dir in args.build_dirs:
        cases += [(f'{build_dir.name}: {name}', word) for name, word in cases_of(build_dir / 'meson-logs')]
    for named in args.pytest:
        stage, _, report = named.partition('=')
        cases += [(f'{stage}: {name}', word) for name, word in pytest_cases(report)]
    lines = args.allowed_skips.read_text(encoding='utf-8').splitlines()
    patterns = [line.split('#')[0].strip() for line in lines]
    patterns = [pattern for pattern in patterns if pattern]
    in_ci = os.environ.get('CI') == 'true'

    counts = {'passed': 0, 'failed': 0, 'skipped': 0}
    for name, word in cases:
        allowed = any(fnmatch.fnmatchcase(name.split(': ', 1)[-1], pattern) for pattern in patterns)
        if word == 'skipped' and not allowed and in_ci:
            print(f'failed:  {name} (skipped, and not in {args.allowed_skips.name})')
            word = 'failed'
        elif word != 'passed':
            print(f'{word + ":":8} {name}')
        counts[word] += 1
    print('{passed} passed, {failed} failed, {skipped} skipped'.format(**counts))
    return 1 if counts['failed'] or not counts['passed'] else 0


if __name__ == '__main__':
    sys.exit(main())
