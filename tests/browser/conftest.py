# SPDX-License-Identifier: Apache-2.0
"""Reports of the built program, and a Chromium that opens them and tells of every error and request."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from playwright.sync_api import sync_playwright

SOURCE = pathlib.Path(__file__).parents[2].resolve()
BINARY = pathlib.Path(os.environ.get('STRETTO_BINARY', SOURCE / 'build/check/app/stretto')).resolve()
# Names that would do something if any of them became HTML, script or an attribute.
HOSTILE = ['</script><script>window.hacked=1</script>', '<img src=x onerror="window.hacked=1">',
           '"><svg onload=window.hacked=1>', "'-window.hacked=1-'", '{{constructor}}', 'a\u2028b\u2029c',
           '<!--<script>']
FEW_STEPS = ('--set', 'runs.iterations=3', '--set', 'runs.replications=3')


def stretto(folder, *arguments):
    done = subprocess.run([BINARY, *arguments], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope='session')
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp('reports')
    for name in ('configs', 'tests'):
        (path / name).symlink_to(SOURCE / name)
    return path


@pytest.fixture(scope='session')
def quickstart(folder):
    stretto(folder, 'report', 'configs/experiments/quickstart.yaml', '--attribute', 'tac', '-o', 'quickstart.html')
    return folder / 'quickstart.html'


@pytest.fixture(scope='session')
def sweep(folder):
    stretto(folder, 'sweep', 'configs/experiments/sweep_network.yaml', '--store', 'sweep.sqlite')
    stretto(folder, 'report', 'sweep.sqlite', '-o', 'sweep.html')
    return folder / 'sweep.html'


@pytest.fixture(scope='session')
def ten_models(folder):
    stretto(folder, 'run', 'configs/experiments/ten_models.yaml', '--out', 'ten', *FEW_STEPS)
    stretto(folder, 'report', 'ten', '-o', 'ten.html')
    return folder / 'ten.html'


@pytest.fixture(scope='session')
def ten_models_sweep(folder):
    stretto(folder, 'sweep', 'configs/experiments/ten_models.yaml', '--store', 'ten.sqlite', *FEW_STEPS)
    stretto(folder, 'report', 'ten.sqlite', '-o', 'ten_sweep.html')
    return folder / 'ten_sweep.html'


@pytest.fixture(scope='session')
def hostile(folder):
    """A workload all of whose ops and variables have hostile names, in an experiment with one."""
    workload = json.loads((SOURCE / 'tests/fixtures/toy_chain.workload.json').read_text())
    renamed = {}
    for kind in ('ops', 'parameters'):
        for i, item in enumerate(workload[kind]):
            renamed[item['name']] = f'{HOSTILE[i % len(HOSTILE)]} {kind} {i}'

    def rename(value):
        if isinstance(value, dict):
            return {key: rename(v) for key, v in value.items()}
        if isinstance(value, list):
            return [rename(v) for v in value]
        return renamed.get(value, value) if isinstance(value, str) else value

    (folder / 'hostile.workload.json').write_text(json.dumps(rename(workload)))
    (folder / 'hostile.yaml').write_text(
        f'stretto: 1\nname: {json.dumps(HOSTILE[0])}\nworkload: {{file: hostile.workload.json}}\n'
        'cluster: {workers: {count: 2, nic: 10 Gbit/s}, servers: {count: 2}}\npolicies: [tac]\n'
        'runs: {iterations: 3, warm_up: 1, replications: 2}\n')
    stretto(folder, 'report', 'hostile.yaml', '-o', 'hostile.html')
    return folder / 'hostile.html'


def data_of(page_file, name):
    """The JSON that a report holds under a name."""
    text = page_file.read_text(encoding='utf-8')
    return json.loads(re.search(rf'id="data-{name}">(.*?)</script>', text, re.DOTALL).group(1))


def steps_of(page_file):
    count = len(data_of(page_file, 'steps')['steps'])
    return [data_of(page_file, f'step-{number}') for number in range(count)]


@pytest.fixture(scope='session')
def browser():
    chromium = shutil.which('chromium')
    if not chromium:
        pytest.skip('chromium is not installed and cannot be')
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=['--no-sandbox'])
        yield browser
        browser.close()


class Opened:
    """A page that must stay without errors and requests: check() says so."""

    def __init__(self, browser, file, **options):
        self.context = browser.new_context(viewport={'width': 1280, 'height': 900}, **options)
        self.page = self.context.new_page()
        self.problems = []
        self.page.on('console', lambda message: self.problems.append(f'{message.type}: {message.text}'))
        self.page.on('pageerror', lambda error: self.problems.append(str(error)))
        self.page.on('request', lambda request: self.requested(request.url))
        self.file = file
        self.page.goto(file.as_uri())
        self.page.wait_for_function('document.documentElement.dataset.drawnMs', timeout=120_000)

    def requested(self, url):
        if url != self.file.as_uri() and not url.startswith('data:'):
            self.problems.append('request: ' + url)

    def check(self):
        assert self.problems == []
        assert self.page.evaluate('window.hacked') is None


@pytest.fixture
def open_page(browser):
    opened = []

    def start(file, **options):
        opened.append(Opened(browser, file, **options))
        return opened[-1].page

    yield start
    for one in opened:
        one.check()
        one.context.close()
