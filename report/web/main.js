// SPDX-License-Identifier: Apache-2.0
// Puts the page together from the data that the file holds.

function originPart(origin, result) {
  if (result) {
    section('assumptions', 'What the answer rests on',
      el('ul', {}, result.assumptions.map((text) => el('li', {}, text))));
  }
  const word = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
  section('origin', 'How it was made', pairs([
    origin.version ? ['program', 'stretto ' + origin.version + (origin.commit ? ' (commit ' + origin.commit +
      ')' : '')] : null,
    origin.command.length ? ['command', el('code', {}, origin.command.map(word).join(' '))] : null,
    result ? ['seed', result.seed] : null]),
  origin.inputs.length ? table('Files that were read', [{head: 'file', text: true}, {head: 'SHA-256', text: true}],
    origin.inputs.map((f) => [f.path, f.sha256])) : null,
  origin.configuration ? el('details', {}, el('summary', {}, 'The experiment with every default filled in'),
    el('pre', {tabindex: 0}, origin.configuration)) : el('p', {class: 'quiet'}, 'No manifest lies beside the result.'));
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  redrawAll();
}

function start() {
  const begin = performance.now();
  const result = dataOf('result');
  const sweep = dataOf('sweep');
  const attribution = dataOf('attribution');
  const wanted = window.matchMedia('(prefers-color-scheme: dark)');
  document.documentElement.dataset.theme = wanted.matches ? 'dark' : 'light';
  wanted.addEventListener('change', () => setTheme(wanted.matches));
  const name = result ? result.name : sweep.name;
  document.title = name + ' \u2013 stretto report';
  byId('title').textContent = name;
  if (result) {
    byId('subtitle').textContent = result.setup;
    resultPart(result, (points) => {
      stepsPart(dataOf('steps'), points);
      if (attribution) attributionPart(attribution);
    });
  }
  if (sweep) sweepPart(sweep);
  originPart(dataOf('origin'), result);
  byId('theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme !== 'dark'));
  byId('print').addEventListener('click', () => window.print());
  let width = window.innerWidth;
  window.addEventListener('resize', () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    redrawAll();
  });
  let before = null;
  window.addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    setTheme(false);
  });
  window.addEventListener('afterprint', () => setTheme(before === 'dark'));
  // What the page took until everything stood on the screen, for whoever measures it.
  requestAnimationFrame(() => requestAnimationFrame(() => {
    document.documentElement.dataset.drawnMs = (performance.now() - begin).toFixed(1);
  }));
}

start();
