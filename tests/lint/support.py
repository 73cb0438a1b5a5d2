# SPDX-License-Identifier: Apache-2.0
"""What the lint scripts share: the list of files and the TAP report of findings."""
import os
import pathlib
import subprocess
import sys


def files(root):
    """Paths of the project's files relative to root, sorted: tracked and new ones in a checkout, else all."""
    root = pathlib.Path(root)
    if (root / '.git').exists():
        command = ['git', '-c', f'safe.directory={root.resolve()}', '-C', str(root)]
        command += ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
        done = subprocess.run(command, capture_output=True, check=True)
        names = [name for name in done.stdout.decode().split('\0') if name]
    else:
        names = []
        for folder, subfolders, entries in os.walk(root):
            subfolders[:] = [s for s in subfolders if s != '__pycache__' and not s.startswith('build')]
            names += [os.path.relpath(os.path.join(folder, entry), root) for entry in entries]
    return sorted(name for name in set(names) if (root / name).is_file())


def text_of(root, name):
    """The file's text, or None if it is not UTF-8."""
    try:
        return (pathlib.Path(root) / name).read_text(encoding='utf-8')
    except UnicodeDecodeError:
        return None


def is_script(text):
    return text.startswith('#!')


def report(title, findings):
    """Prints the verdict as one TAP point, the findings to stderr (Meson shows that), and exits."""
    print('TAP version 13')
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f'{"not ok" if findings else "ok"} 1 - {title}')
    print('1..1')
    sys.exit(1 if findings else 0)
