#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each lint must refuse a tree with a planted fault, and accept the same tree without it."""
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))

import docs  # noqa: E402
import format as formatting  # noqa: E402
import include_edges  # noqa: E402
import shell  # noqa: E402
import style  # noqa: E402
import tap  # noqa: E402

SPDX = '// SPDX-License-Identifier: Apache-2.0\n'
HEADER = SPDX + '// A header.\n#pragma once\n'
EDGES = '''sim/base:
sim/engine:
sim/network: sim/engine
config:
app: *
tests: *
[external]
yaml-cpp/*: config
CLI/*: app
random: -
format: -
'''


class Planted(unittest.TestCase):
    def tree(self, files):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding='utf-8')
        return root

    def found(self, check, name, text, **others):
        return check(self.tree({name: text, **others.get('beside', {})}))

    def assert_one(self, findings, words):
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(words, findings[0])

    # Includes

    def edges(self, name, include, table=EDGES):
        sources = {
            'sim/base/units.hpp': HEADER,
            'sim/engine/queue.hpp': HEADER,
            'sim/network/fluid.hpp': HEADER,
            name: HEADER + f'#include {include}\n',
        }
        return include_edges.check(self.tree(sources), table)

    def test_edges_allowed(self):
        self.assertEqual(self.edges('sim/network/a.hpp', '"sim/engine/queue.hpp"'), [])
        self.assertEqual(self.edges('sim/network/a.hpp', '"sim/base/units.hpp"'), [])
        self.assertEqual(self.edges('config/a.cpp', '<yaml-cpp/yaml.h>'), [])
        self.assertEqual(self.edges('app/main.cpp', '<CLI/CLI.hpp>'), [])

    def test_edges_forbidden_direction(self):
        self.assert_one(self.edges('sim/engine/a.hpp', '"sim/network/fluid.hpp"'), 'sim/engine may not include')

    def test_edges_base_includes_nothing(self):
        self.assert_one(self.edges('sim/base/a.hpp', '"sim/engine/queue.hpp"'), 'sim/base may not include')

    def test_edges_unknown_directory(self):
        self.assert_one(self.edges('extra/a.hpp', '<vector>'), 'is not in include_edges.txt')

    def test_edges_unrooted_include(self):
        self.assert_one(self.edges('sim/engine/a.cpp', '"queue.hpp"'), 'named from its root')

    def test_edges_generated_header(self):
        root = self.tree({'sim/engine/x.proto': '', 'sim/engine/a.cpp': SPDX + '#include "sim/engine/x.pb.h"\n'})
        self.assertEqual(include_edges.check(root, EDGES), [])
        (root / 'sim/engine/x.proto').unlink()
        self.assert_one(include_edges.check(root, EDGES), 'named from its root')

    def test_edges_yaml_outside_config(self):
        self.assert_one(self.edges('sim/engine/a.cpp', '<yaml-cpp/yaml.h>'), 'in config only')

    def test_edges_cli11_outside_app(self):
        self.assert_one(self.edges('config/a.cpp', '<CLI/CLI.hpp>'), 'in app only')

    def test_edges_std_random_and_format(self):
        self.assert_one(self.edges('app/a.cpp', '<random>'), 'nowhere only')
        self.assert_one(self.edges('app/a.cpp', '<format>'), 'nowhere only')

    def test_edges_cycle_in_table(self):
        table = EDGES.replace('sim/engine:\n', 'sim/engine: sim/network\n')
        self.assert_one(self.edges('sim/engine/a.cpp', '<vector>', table), 'form a cycle')

    def test_edges_cycle_of_headers(self):
        root = self.tree({
            'sim/engine/a.hpp': HEADER + '#include "sim/engine/b.hpp"\n',
            'sim/engine/b.hpp': HEADER + '#include "sim/engine/a.hpp"\n',
        })
        self.assert_one(include_edges.check(root, EDGES), 'include each other')

    # Style

    def test_style_good_file(self):
        self.assertEqual(self.found(style.check, 'a.hpp', HEADER), [])

    def test_style_spdx(self):
        self.assert_one(self.found(style.check, 'a.cpp', 'int a;\n'), 'SPDX')
        self.assert_one(self.found(style.check, 'tool', '#!/bin/bash\ntrue\n'), 'SPDX')
        self.assert_one(self.found(style.check, 'sim/meson.build', "subdir('a')\n"), 'SPDX')

    def test_style_pragma_once(self):
        self.assert_one(self.found(style.check, 'a.hpp', SPDX + '// A header.\n'), '#pragma once')

    def test_style_header_comment(self):
        self.assert_one(self.found(style.check, 'a.hpp', SPDX + '#pragma once\n'), 'starts with a comment')

    def test_style_long_file(self):
        self.assertEqual(self.found(style.check, 'a.cpp', SPDX + 'int a;\n' * 599), [])
        self.assert_one(self.found(style.check, 'a.cpp', SPDX + 'int a;\n' * 600), 'more than 600')

    def test_style_long_line(self):
        self.assertEqual(self.found(style.check, 'a.cpp', SPDX + '//' + 118 * 'a' + '\n'), [])
        self.assert_one(self.found(style.check, 'a.cpp', SPDX + '//' + 119 * 'a' + '\n'), '121 columns')

    def test_style_white_space(self):
        self.assert_one(self.found(style.check, 'a.cpp', SPDX + 'int a; \n'), 'space at the end')
        self.assert_one(self.found(style.check, 'a.cpp', SPDX + '\tint a;\n'), 'tab')
        self.assert_one(self.found(style.check, 'a.md', 'text'), 'no newline')

    def test_style_unfinished(self):
        self.assert_one(self.found(style.check, 'a.cpp', SPDX + '// TO' 'DO: more\n'), 'unfinished')
        self.assert_one(self.found(style.check, 'a.md', 'FIX' 'ME\n'), 'unfinished')

    def test_style_machine_path(self):
        self.assert_one(self.found(style.check, 'a.md', 'see /ho' 'me/me/x\n'), 'path of one machine')

    def test_style_not_utf8(self):
        root = self.tree({})
        (root / 'a.md').write_bytes(b'\xff\n')
        self.assert_one(style.check(root), 'not UTF-8')

    # Shell, documentation, format

    def test_shell(self):
        self.assertEqual(self.found(shell.check, 'a.sh', '#!/bin/bash\ntrue\n'), [])
        self.assertNotEqual(self.found(shell.check, 'a.sh', '#!/bin/bash\nif true\n'), [])
        self.assertNotEqual(self.found(shell.check, 'tool', '#!/bin/bash\ncase x in\n'), [])

    def test_docs_link(self):
        beside = {'docs/b.md': '# Big title\n'}
        self.assertEqual(self.found(docs.check, 'a.md', '[b](docs/b.md#big-title)\n', beside=beside), [])
        self.assert_one(self.found(docs.check, 'a.md', '[b](docs/c.md)\n', beside=beside), 'dead link')
        self.assert_one(self.found(docs.check, 'a.md', '[b](docs/b.md#small)\n', beside=beside), 'no such heading')

    def test_docs_named_path(self):
        beside = {'sim/base/units.hpp': HEADER}
        self.assertEqual(self.found(docs.check, 'a.md', '`sim/base/units.hpp` and `sim/base/`\n', beside=beside), [])
        self.assert_one(self.found(docs.check, 'a.md', '`sim/base/gone.hpp`\n', beside=beside), 'does not exist')

    @unittest.skipUnless(shutil.which('clang-format-14'), 'clang-format-14 is not installed')
    def test_format(self):
        self.assertEqual(self.found(formatting.check, 'a.cpp', 'int a;\n'), [])
        self.assertNotEqual(self.found(formatting.check, 'a.cpp', 'int   a ;\n'), [])


if __name__ == '__main__':
    tap.main()
