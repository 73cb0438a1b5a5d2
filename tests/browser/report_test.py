# SPDX-License-Identifier: Apache-2.0
"""Reports in a real browser: no errors, no requests, pointing, zooming, searching, filtering, keys, print, size."""
import re

import pytest

from conftest import HOSTILE, data_of, steps_of, stretto

CANVAS = '#timeline canvas'


def picture(page, number=0):
    return page.locator(CANVAS).nth(number).evaluate('canvas => canvas.toDataURL()')


def settled(page):
    page.evaluate('() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')


def test_the_answer_comes_first(open_page, quickstart):
    page = open_page(quickstart)
    result = data_of(quickstart, 'result')
    assert page.title().startswith('quickstart')
    assert page.locator('h1').inner_text() == 'quickstart'
    first_point = [r for r in result['results'] if r['vary'] == result['results'][0]['vary']]
    best = min(first_point, key=lambda r: r['step_time_s']['mean'])
    answer = page.locator('#point-text').inner_text()
    assert answer.startswith(best['policy'] + ' is the fastest: ')
    assert f"{best['gap'] * 100:.1f}" in answer
    sections = page.locator('main section').evaluate_all('list => list.map((s) => s.id)')
    assert sections == ['answer', 'one-point', 'gains', 'helps', 'timeline', 'path', 'use', 'causes', 'servers',
                        'waits', 'assumptions', 'origin']
    over_all = page.locator('#answer-text').inner_text()
    assert 'at both points' in over_all
    page.locator('#point').select_option(index=1)
    assert page.locator('#point-text').inner_text() != answer
    assert page.locator('#answer-text').inner_text() == over_all


def test_one_point_is_the_answer_itself(open_page, folder):
    stretto(folder, 'report', 'configs/experiments/quickstart.yaml', '-o', 'one.html', '--bars', '0', '--set',
            'vary={}', '--set', 'policies=[tac]', '--set', 'runs={iterations: 3, warm_up: 1, replications: 2}')
    page = open_page(folder / 'one.html')
    assert ' is the fastest: ' in page.locator('#answer-text').inner_text()
    assert page.locator('#one-point, #point, #over-points').count() == 0


def columns_of(file, kind):
    """{model: {policy: {step time, gain over random}}} of a report of a result or of a sweep over models."""
    found = {}
    if kind == 'ten_models':
        for r in data_of(file, 'result')['results']:
            found.setdefault(r['vary']['workload.model'], {})[r['policy']] = {
                'step': r['step_time_s']['mean'], 'random': r['gain_over_random']}
        return found
    sweep = data_of(file, 'sweep')
    step, gain = (sweep['figures'].index(name) for name in ('step_time_s', 'gain_over_random'))
    for i, value in enumerate(sweep['values'][0]):
        found[sweep['texts'][0][value]] = {
            p['name']: {'step': p['figures'][step][i], 'random': p['figures'][gain][i]} for p in sweep['policies']}
    return found


@pytest.mark.parametrize('kind', ['ten_models', 'ten_models_sweep'])
def test_ten_models_at_a_glance(open_page, kind, request):
    file = request.getfixturevalue(kind)
    page = open_page(file)
    models = columns_of(file, kind)
    assert len(models) == 10
    # In words: who wins how often, and where the gain is least and greatest.
    wins = {p: sum(m[p]['step'] <= 1.001 * min(q['step'] for q in m.values()) for m in models.values())
            for p in ('random', 'fifo', 'tic', 'tac')}
    most = max(wins.values())
    best = [p for p in wins if wins[p] == most]
    lead = next(p for p in best if p not in ('random', 'fifo'))
    answer = page.locator('#answer-text').inner_text().replace('\u00a0', ' ')
    names = best[0] + ' is' if len(best) == 1 else f'{", ".join(best[:-1])} and {best[-1]} are'
    assert answer.startswith(names + ' the fastest')
    assert ('all 10 points' if most == 10 else f'{most} of 10 points') in answer
    order = sorted(models, key=lambda name: models[name][lead]['random'])
    for name in (order[0], order[-1]):
        gain = models[name][lead]['random'] * 100
        assert re.search(rf'{re.escape(f"{gain:+.1f} %")}[^(;]*\({name}\)', answer), (answer, name, gain)
    # As a chart: models by gain, each policy with its interval to scale.
    titles = page.locator('#over-points title').evaluate_all('list => list.map((t) => t.textContent)')
    assert [t for t in titles if t in models] == order[::-1]
    marks = {}
    for circle in page.locator('#over-points circle').all():
        marks.setdefault(circle.text_content().split(':')[0], []).append(float(circle.get_attribute('cx')))
    assert len(marks) == 30 and all(f'{p}, {name}' in marks for p in ('fifo', 'tic', 'tac') for name in models)
    x = {name: marks[f'{lead}, {name}'][0] for name in models}
    for name in order[1:-1]:
        share = (models[name][lead]['random'] - models[order[0]][lead]['random']) / (
            models[order[-1]][lead]['random'] - models[order[0]][lead]['random'])
        assert abs((x[name] - x[order[0]]) / (x[order[-1]] - x[order[0]]) - share) < 0.01
    # As a table: the fastest of each.
    rows = page.locator('#answer table').first.locator('tbody tr')
    assert rows.count() == 10
    for row in rows.all():
        cells = row.locator('th, td').all_inner_texts()
        assert models[cells[1]][cells[2]]['step'] == min(q['step'] for q in models[cells[1]].values())


def test_categories_of_a_sweep_keep_their_names(open_page, ten_models_sweep):
    page = open_page(ten_models_sweep)
    drawn = page.locator('#lines text').all_text_contents()
    for name in columns_of(ten_models_sweep, 'sweep'):
        assert name in drawn
    # A group of one point shows its interval.
    page.locator('#figure').select_option(label='gain over random')
    told = page.locator('#lines circle').all_text_contents()
    assert any('95 %: ' in text for text in told)


def test_pointing_at_a_bar(open_page, quickstart):
    page = open_page(quickstart)
    canvas = page.locator(CANVAS).first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    tip = page.locator('#tip')
    # The first rows are the device, pulls and pushes of worker 0, below the axis and the head.
    for row, words in ((9, ['op', 'compute']), (29, ['pull', 'bytes', 'mean rate', 'moving its own bytes']),
                       (49, ['push', 'bytes'])):
        for x in range(180, 1200, 7):
            page.mouse.move(box['x'] + x, box['y'] + 24 + 20 + row)
            if tip.is_visible():
                break
        text = tip.inner_text()
        for word in ['worker 0', 'begins', 'ends', 'lasts', *words]:
            assert word in text
    page.mouse.move(5, 5)
    assert not tip.is_visible()


def test_zoom_pan_and_fit(open_page, quickstart):
    page = open_page(quickstart)
    whole = picture(page)
    below = picture(page, 1)
    page.locator(CANVAS).first.focus()
    page.keyboard.press('+')
    settled(page)
    zoomed = picture(page)
    assert zoomed != whole
    assert picture(page, 1) != below, 'both timelines have one axis'
    page.keyboard.press('ArrowRight')
    settled(page)
    assert picture(page) != zoomed
    page.keyboard.press('Home')
    settled(page)
    assert (picture(page), picture(page, 1)) == (whole, below)
    page.get_by_label('Zoom in').click()
    settled(page)
    assert picture(page) != whole
    box = page.locator(CANVAS).first.bounding_box()
    before = picture(page)
    page.mouse.move(box['x'] + 600, box['y'] + 60)
    page.mouse.down()
    page.mouse.move(box['x'] + 450, box['y'] + 60, steps=4)
    page.mouse.up()
    settled(page)
    assert picture(page) != before


def test_bars_by_keyboard_are_read_out(open_page, quickstart):
    page = open_page(quickstart)
    page.locator(CANVAS).first.focus()
    page.keyboard.press(']')
    settled(page)
    first = page.locator('#spoken').inner_text()
    assert first.startswith('op ') and 'worker 0' in first
    page.keyboard.press(']')
    settled(page)
    assert page.locator('#spoken').inner_text() != first
    assert page.locator('#tip').is_visible()


def test_search(open_page, quickstart):
    page = open_page(quickstart)
    steps = {s['policy']: s for s in steps_of(quickstart)}
    shown = page.locator(CANVAS).evaluate_all('list => list.map((c) => c.getAttribute("aria-label"))')
    wanted = 0
    for label in shown:
        step = steps[label.split(': ')[1].split('.')[0]]
        wanted += sum('node35' in step['names'][i] for i in step['bars']['name'])
    page.locator('#search').fill('NODE35')
    assert page.locator('#timeline [role=status]').inner_text() == f'{wanted} found'
    page.locator('#search').press('Enter')
    assert page.locator('#timeline [role=status]').inner_text() == f'1 of {wanted} found'
    assert 'node35' in page.locator('#tip').inner_text()
    page.locator('#timeline summary').click()
    page.wait_for_selector('#timeline tbody tr')


def test_rows_policies_and_the_critical_path(open_page, quickstart):
    page = open_page(quickstart)
    height = page.locator(CANVAS).first.bounding_box()['height']
    page.locator('#row-filter').fill('worker 1')
    settled(page)
    assert page.locator(CANVAS).first.bounding_box()['height'] < height
    page.locator('#row-filter').fill('')
    settled(page)
    marked = picture(page)
    page.locator('#show-path').uncheck()
    settled(page)
    assert picture(page) != marked
    label = page.locator(CANVAS).nth(1).get_attribute('aria-label')
    page.locator('#policy-2').select_option('3')
    settled(page)
    assert page.locator(CANVAS).nth(1).get_attribute('aria-label') != label
    assert page.locator('#path table').first.locator('tbody tr').count() >= 2
    assert page.locator('#use canvas').count() == 2


def test_filters_and_plots_of_a_sweep(open_page, sweep):
    page = open_page(sweep)
    data = data_of(sweep, 'sweep')
    assert page.locator('#lines path').count() == len(data['policies'])
    cells = page.locator('#heat rect').count()
    assert cells > 2
    page.locator('fieldset', has_text='policies').get_by_label('random').uncheck()
    assert page.locator('#lines path').count() == len(data['policies']) - 1
    workers = data['paths'].index('cluster.workers.count')
    ones = data['values'][workers].count(data['texts'][workers].index('1'))
    page.locator('fieldset', has_text='cluster.workers.count').get_by_label('1', exact=True).uncheck()
    total = len(data['index'])
    assert page.locator('#passing').inner_text() == f'{total - ones} of {total} points pass the filters'
    assert page.locator('#points tbody tr').count() == total - ones
    before = page.locator('#lines').inner_html()
    page.locator('#figure').select_option(label='gain over random')
    assert page.locator('#lines').inner_html() != before
    page.locator('#heat-x').select_option(label='cluster.servers.count')
    page.locator('#heat-y').select_option(label='cluster.servers.count')
    assert page.locator('#heat').count() == 0
    assert 'two different axes' in page.locator('#heat-map').inner_text()


def test_hostile_names_stay_text(open_page, hostile):
    page = open_page(hostile)
    assert page.locator('h1').inner_text() == HOSTILE[0]
    assert page.locator('script').count() == 4 + len(steps_of(hostile))
    assert page.locator('img').count() == 0
    for text in HOSTILE[:3]:
        page.locator('#search').fill(text)
        page.locator('#search').press('Enter')
        assert text in page.locator('#tip').inner_text()
    page.locator('#timeline summary').click()
    page.wait_for_selector('#timeline tbody tr')
    page.locator('#path summary').first.click()
    page.wait_for_selector('#path details tbody tr')
    assert 'window.hacked=1' in page.locator('#path details').first.inner_text()


@pytest.mark.parametrize('kind', ['quickstart', 'sweep', 'ten_models', 'ten_models_sweep'])
def test_everything_has_a_name(open_page, kind, request):
    page = open_page(request.getfixturevalue(kind))
    page.keyboard.press('Tab')
    assert page.evaluate('document.activeElement.className') == 'skip'
    nameless = page.evaluate('''() => [...document.querySelectorAll('button, select, input, canvas, svg')].filter((e) =>
      !e.getAttribute('aria-label') && !e.labels?.length && !e.textContent.trim()).map((e) => e.outerHTML)''')
    assert nameless == []
    for head in page.locator('table').all():
        assert head.locator('caption').inner_text()
        assert head.locator('th[scope=col]').count() > 0
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_dark_light_and_print(open_page, quickstart):
    page = open_page(quickstart, color_scheme='dark')
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    drawn = picture(page)
    page.locator('#theme').click()
    assert page.evaluate(background) != dark
    settled(page)
    assert picture(page) != drawn
    page.emulate_media(media='print')
    assert not page.locator('nav').is_visible()
    assert page.locator('#answer-text').is_visible()
    assert page.pdf()[:5] == b'%PDF-'


@pytest.mark.parametrize('kind', ['quickstart', 'ten_models_sweep'])
def test_a_narrow_screen_does_not_scroll_sideways(open_page, kind, request):
    page = open_page(request.getfixturevalue(kind))
    page.set_viewport_size({'width': 390, 'height': 800})
    settled(page)
    assert page.evaluate('document.documentElement.scrollWidth') <= 390


def test_a_hundred_thousand_bars(open_page, folder):
    stretto(folder, 'report', 'configs/experiments/quickstart.yaml', '-o', 'large.html', '--bars', '130000', '--set',
            'cluster.workers.count=1000', '--set', 'cluster.servers.count=8', '--set', 'vary={}', '--set',
            'policies=[tac]', '--set', 'runs={iterations: 2, warm_up: 1, replications: 1}')
    steps = steps_of(folder / 'large.html')
    least = min(len(s['bars']['kind']) for s in steps)
    assert least >= 100_000
    page = open_page(folder / 'large.html')
    drawn = float(page.evaluate('document.documentElement.dataset.drawnMs'))
    frame = page.evaluate('''() => new Promise((done) => {
      const canvas = document.querySelector('#timeline canvas');
      const begin = performance.now();
      canvas.dispatchEvent(new KeyboardEvent('keydown', {key: '+'}));
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)));
    })''')
    print(f'{least} bars: the page stood after {drawn:.0f} ms, a frame of zooming took {frame:.0f} ms')
    # The aim is a second; a machine that is busy or slow gets ten times that.
    assert drawn < 10_000
    assert frame < 5_000
