#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the page of a report one C++ file. Usage: bundle.py OUTPUT.cpp page.html style.css SCRIPT.js...

The style and each script take the place of {{STYLE}} and {{SCRIPTS}} in the page; {{STYLE_HASHES}} and
{{SCRIPT_HASHES}} become what its Content-Security-Policy knows them by. The data stands where {{DATA}} is.
"""
import base64
import hashlib
import pathlib
import sys


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def without_head(text):
    """The text without its SPDX line."""
    first, _, rest = text.partition('\n')
    return rest if 'SPDX-License-Identifier' in first else text


def literal(text):
    quoted = {'\\': '\\\\', '"': '\\"', '\n': '\\n', '?': '\\?'}
    lines = []
    for line in text.splitlines(keepends=True):
        lines.append('    "' + ''.join(quoted.get(c, c) for c in line) + '"')
    return '\n'.join(lines)


def main():
    output, page, style, *scripts = map(pathlib.Path, sys.argv[1:])
    style_text = '\n' + without_head(style.read_text(encoding='ascii'))
    # One scope for all scripts, so that no element's id is shadowed and nothing reaches the window.
    body = ''.join(without_head(script.read_text(encoding='ascii')) for script in scripts)
    script_text = "\n(() => {\n'use strict';\n" + body + '})();\n'
    if '</' in style_text or '</script' in script_text or '<!--' in script_text:
        sys.exit('bundle.py: a closing tag in style or script')
    text = without_head(page.read_text(encoding='ascii'))
    for mark, value in (('{{STYLE_HASHES}}', policy_hash(style_text)), ('{{SCRIPT_HASHES}}', policy_hash(script_text)),
                        ('{{STYLE}}', style_text), ('{{SCRIPTS}}', script_text)):
        if text.count(mark) != 1:
            sys.exit(f'bundle.py: {mark} stands {text.count(mark)} times in {page.name}')
        text = text.replace(mark, value)
    head, mark, tail = text.partition('{{DATA}}')
    if not mark:
        sys.exit(f'bundle.py: no {{{{DATA}}}} in {page.name}')
    output.write_text(
        '// Made by report/web/bundle.py.\n#include "report/template.hpp"\n\nnamespace stretto::report {\n\n'
        f'const std::string_view kPageHead =\n{literal(head)};\n'
        f'const std::string_view kPageTail =\n{literal(tail)};\n\n'
        '}  // namespace stretto::report\n', encoding='ascii')


if __name__ == '__main__':
    main()
