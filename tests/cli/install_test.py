#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`meson install`: the program works from where it was put, without the checkout; man page and completions say what
--help says, are well-formed, and complete in a real bash and zsh."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import program
import tap  # noqa: E402 (program.py extends the path)

BUILD = pathlib.Path(os.environ['STRETTO_BUILD'])
# What a user types, the cursor at the end, and what must be among the answers. Bash and zsh.
COMPLETED = (('stretto sh', 'show'), ('stretto run --se', '--set'), ('stretto list po', 'policies'),
             ('stretto run x.yaml --format j', 'json'), ('stretto export s.json --to per', 'perfetto'),
             ('stretto results exp', 'export'), ('stretto completion z', 'zsh'), ('stretto --ver', '--version'))


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        done = subprocess.run(['meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', cls.folder / 'out'],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        binary, = (cls.folder / 'out').rglob('bin/stretto')
        # Where it is found is not where it was built for.
        shutil.move(binary.parents[1], cls.folder / 'moved here')
        cls.prefix = cls.folder / 'moved here'
        cls.binary = cls.prefix / 'bin/stretto'
        cls.work = cls.folder / 'work'
        cls.work.mkdir()

    def stretto(self, *words, **environment):
        done = subprocess.run([self.binary, *words], cwd=self.work, capture_output=True, text=True, check=False,
                              env=os.environ | environment)
        self.assertEqual((done.returncode, done.stderr), (0, ''), words)
        return done.stdout

    def commands(self):
        """Command to the options of its --help."""
        helped = {}
        commands = self.stretto('--help').split('Subcommands:')[1].split('Examples:')[0]
        for name in re.findall(r'^  ([a-z-]+) ', commands, re.MULTILINE):
            options = re.findall(r'^  (?:-\w,)?(--[\w-]+)', self.stretto(name, '--help'), re.MULTILINE)
            helped[name] = options
        self.assertIn('--set', helped['run'])
        self.assertGreater(len(helped), 15)
        return helped

    def test_it_finds_what_was_installed(self):
        self.assertIn('(commit ', self.stretto('--version'))
        self.assertIn('slim_resnet_101_v2', self.stretto('list', 'workloads'))
        self.assertIn('528 MiB', self.stretto('show', 'vgg_16'))
        self.stretto('init', '--workload', 'vgg_16')
        what_if = (self.work / 'what_if.yaml').read_text()
        self.assertIn('moved here/share/stretto/configs/clusters/ethernet_10g.yaml', what_if)
        self.assertIn('Verdict', self.stretto('run', 'what_if.yaml', '--set', 'policies=[fifo]'))
        self.assertTrue((self.prefix / 'share/doc/stretto/model.md').exists())
        self.assertTrue((self.prefix / 'share/stretto/configs/experiments/quickstart.yaml').exists())

    def test_configs_can_be_elsewhere(self):
        shutil.copytree(self.prefix / 'share/stretto/configs', self.folder / 'other')
        for path in (self.folder / 'other/workloads').glob('slim_*'):
            path.unlink()
        listed = self.stretto('list', 'workloads', STRETTO_CONFIGS=str(self.folder / 'other'))
        self.assertEqual(listed, 'mixed_12\nresnet_50\nvgg_16\n')

    def test_man_page_says_what_help_says(self):
        page = self.prefix / 'share/man/man1/stretto.1'
        self.assertEqual(page.read_text(), self.stretto('manual'))
        done = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-rLL=100n', page], capture_output=True, text=True,
                              check=True, env=os.environ | {'GROFF_NO_SGR': '1'})
        self.assertEqual(done.stderr, '')
        shown = re.sub('.\b', '', done.stdout).replace('\u2212', '-')
        for command, options in self.commands().items():
            start = shown.index(f'stretto {command} ')
            for option in options:
                self.assertIn(option, shown[start:], command)
        self.assertIn('--set cluster.workers.nic="25 Gbit/s"', shown)  # an example, to be copied as it is

    def test_completions_say_what_help_says(self):
        for place, shell in (('bash-completion/completions/stretto.bash', 'bash'),
                             ('zsh/vendor-completions/_stretto', 'zsh')):
            text = (self.prefix / 'share' / place).read_text()
            self.assertEqual(text, self.stretto('completion', shell))
            subprocess.run([shell, '-n', self.prefix / 'share' / place], check=True)
            for command, options in self.commands().items():
                if shell == 'bash':
                    branch = text.split(f'\n    {command})\n')[1].split('\n      ;;\n')[0]
                else:
                    branch = text.split(f'\n    {command})\n')[1].split(';;')[0]
                for option in options:
                    self.assertIn(option, branch, command)

    def answers(self, shell, line):
        words = line.split(' ')
        if shell == 'bash':
            script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stretto; '
                      'printf "%s\\n" "${COMPREPLY[@]}"')
            name = 'share/bash-completion/completions/stretto.bash'
            command = ['bash', '-c', script, 'bash', self.prefix / name, *words]
        else:  # a terminal of its own, in which the Tab key is pressed
            script = ('zmodload zsh/zpty; zpty shell zsh -f -i; '
                      'zpty -w shell "PS1= ; fpath=(${(q)1} \\$fpath); autoload -Uz compinit; compinit -u -D; '
                      'bindkey \'^I\' complete-word; zle-line-init() { print -n re\'\'ady }; zle -N zle-line-init"; '
                      'zpty -r shell text "*ready*"; zpty -n -w shell "$2"$\'\\t\'$\' # end\\n\'; '
                      'zpty -r shell text "*# end*"; print -r -- "$text"')
            command = ['zsh', '-f', '-c', script, 'zsh', self.prefix / 'share/zsh/vendor-completions', line]
        done = subprocess.run(command, cwd=self.work, capture_output=True, text=True, timeout=30, check=False,
                              env=os.environ | {'PATH': f'{self.prefix}/bin:/usr/bin:/bin', 'TERM': 'dumb'})
        self.assertEqual(done.stderr, '', line)
        return re.sub(r'\x1b\[[0-9;?]*[a-zA-Z]|\a', '', done.stdout)

    def test_bash_and_zsh_complete(self):
        for shell in ('bash', 'zsh'):
            for line, answer in COMPLETED:
                with self.subTest(shell=shell, line=line):
                    self.assertIn(answer, self.answers(shell, line))
        (self.work / 'an experiment.yaml').touch()
        for shell in ('bash', 'zsh'):
            with self.subTest(shell=shell):
                self.assertIn('experiment.yaml', self.answers(shell, 'stretto run an'))

    def test_other_shells_are_refused(self):
        done = subprocess.run([program.BINARY, 'completion', 'fish'], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ''))
        self.assertIn('there are bash and zsh', done.stderr)


if __name__ == '__main__':
    tap.main()
