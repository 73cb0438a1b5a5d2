# SPDX-License-Identifier: Apache-2.0
"""Runs the unittest cases of the calling module and prints TAP, so that Meson counts them one by one.

What failed is told on stderr: Meson shows that of a failed test.
"""
import sys
import unittest


class _TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.bad = False

    def _report(self, test, good, text='', directive=''):
        self.count += 1
        self.bad = self.bad or not good
        name = test.id().split('.', 1)[-1].replace('#', '')
        if text:
            print(f'{name}: {text}', file=sys.stderr)
        print(f'{"ok" if good else "not ok"} {self.count} - {name}{directive}', flush=True)

    def addSuccess(self, test):
        self._report(test, True)

    def addFailure(self, test, err):
        self._report(test, False, self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self._report(test, False, self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._report(subtest, False, self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        self._report(test, True, directive=f' # SKIP {reason}')


def main():
    """Runs all cases of __main__, or those named on the command line; exits with 1 if one fails."""
    loader = unittest.TestLoader()
    module = sys.modules['__main__']
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    print('TAP version 13')
    result = _TapResult()
    suite.run(result)
    print(f'1..{result.count}')
    sys.exit(1 if result.bad or result.count == 0 else 0)
