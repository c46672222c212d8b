// The gradient view: a batch, one anchor of it, and what two objectives do to that anchor.
//
// `mount` builds the view, `receive` gives it embeddings; then every change is computed and drawn
// here, but for losses of others, which the service takes apart (`connect`, `receiveLosses`).
// window.triadLab.state() is what a link needs, restore(state) shows it again, and the event
// `triad-lab-ready` tells that both are there, `triad-lab-change` tells of changes. The maths is
// objectives.js, the look lab.css.

import { OBJECTIVES, RANGES, lead, makeBatch, takeApart } from './objectives.js';

const SVG = 'http://www.w3.org/2000/svg';
const LETTERS = ['A', 'B'];
const SIDES = ['first', 'second'];
const FAMILIES = { mhe: 'MHE', mhs: 'MHS', barlow_twins: 'Barlow Twins', vicreg: 'VICReg' };
const STEPS = [['', 'as '], ['_dissipation', '+ dissipation'],
  ['_dissipation_weight', '+ weight'], ['_modified', '+ ratio'], ['_repaired', '+ gate and ratio']];
// Of each term: its setting, what that is, and the slider's least, most and step.
const TERMS = [
  ['dissipation', 'margin', 'margin m', 0, 1, 0.01, 'when to stop'],
  ['weight', 'temperature', 'temperature t', 0.01, 1, 0.01, 'whom to push'],
  ['ratio', 'ratio', 'ratio r', 0, 5, 0.05, 'how hard to pull'],
];
const SIZE = ['step size', 0.01, 1, 0.01];
const MOST_SIZE = 10;
const PAUSE = 200; // milliseconds without a change before the service is asked
const OPEN_MARGIN = 0.3; // the lead from which an anchor without a gate counts as "still pushed"

const state = {
  anchor: 0, size: 0.1, settings: {}, maps: false,
  sides: [{ objective: '', of: 0 }, { objective: '', of: 1 }],
};
const REPAIR = 'repair.';
let root, ask, askLosses, data, parts, results, frame = 0, wanted = null, cell = [0, 1], dragging = false;
// Answers about losses of others by what was asked, and the last state that was drawn.
let answers = new Map(), drawn = null, timer = 0;

function make(tag, attributes = {}, ...children) {
  const svg = ['svg', 'g', 'line', 'circle', 'path', 'rect', 'text', 'title'].includes(tag);
  const element = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((one) => one !== null));
  return element;
}
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const tell = (x, digits = 2) => (Number.isFinite(x) ? x.toFixed(digits).replace('-', '−') : 'not finite');
const short = (text, most = 40) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const percent = (x) => (Number.isFinite(x) ? `${Math.round(100 * x)} %` : 'unknown');
const changed = () => window.dispatchEvent(new CustomEvent('triad-lab-change'));

/** Build the view in its place; `askService` sends a batch to be encoded. */
export function mount(element, askService) {
  [root, ask] = [element, askService];
  const look = new URL('lab.css', import.meta.url).href;
  if (!document.querySelector(`link[href="${look}"]`)) {
    document.head.append(make('link', { rel: 'stylesheet', href: look }));
  }
  window.triadLab = { state: getState, restore, requests, settled: () => root?.classList.remove('stale') };
  if (data) build();
  window.dispatchEvent(new CustomEvent('triad-lab-ready'));
}

/** `askService` sends what is asked of losses of others. */
export function connect(askService) {
  askLosses = askService;
}

/** Take the pieces of losses of others; nothing where the service refused: then the last state stays. */
export function receiveLosses(answer) {
  if (answer?.losses || !data) return; // what was asked itself
  if (answer?.found) answer.found.forEach(({ key, ...pieces }) => answers.set(key, pieces));
  else if (drawn) Object.assign(state, structuredClone(drawn));
  else return reset();
  update();
}

/** Take the embeddings of a batch by both encoders. */
export function receive(answer) {
  const before = data;
  [answers, drawn] = [new Map(), null];
  data = { ...answer, batches: answer.sides.map((side) => {
    const [anchor, positive] = [side.anchor, side.positive].map((packed) =>
      unpack(packed, answer.sentences.length));
    return makeBatch(anchor, positive);
  }) };
  state.sides.forEach((side, place) => {
    if (before?.sides[place].model !== answer.sides[place].model || !known(side.objective)) {
      side.objective = ownObjective(place);
      state.settings = {};
    }
  });
  if (wanted) {
    adopt(wanted);
    wanted = null;
  }
  if (!before) state.anchor = telling();
  state.anchor = Math.min(state.anchor, data.sentences.length - 1);
  cell = [state.anchor, state.anchor ? 0 : 1];
  if (root) build();
}

/** The anchor to begin with: of those that one side moves and the other leaves alone, the farthest ahead. */
function telling() {
  if (!compute()) return 0;
  const [first, second] = results;
  const apart = first.lead.map((lead, i) => ((first.dissipation[i] > 0) === (second.dissipation[i] > 0) ? -1 : lead));
  return Math.max(apart.indexOf(Math.max(...apart)), 0);
}

function unpack(packed, count) {
  const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
  const numbers = new Float32Array(bytes.buffer);
  const size = numbers.length / count;
  return Array.from({ length: count }, (_, i) => Array.from(numbers.subarray(i * size, (i + 1) * size)));
}

// ---------------------------------------------------------------- state and links

function getState() {
  const { anchor, size, settings, maps, sides } = state;
  const batch = data && { anchors: data.sentences, positives: data.positives, seed: data.seed };
  return structuredClone({ anchor, size, settings, maps, sides, batch });
}

/** What asks the service for the components that are drawn, a path and a body for each side. */
function requests() {
  if (!data) return [];
  const { sentences, positives, seed, sides } = data;
  const given = positives ? { positives } : {};
  return state.sides.map(({ objective, of }, place) => ['/v1/components', {
    model: sides[of].model, anchors: sentences, ...given, seed,
    objective, hyperparameters: changes(place), step: state.size,
  }]);
}

function restore(given) {
  if (!given || typeof given !== 'object') return;
  const { batch } = given;
  const lines = (rows) => (Array.isArray(rows) ? rows.map(String).join('\n') : '');
  const same = data && (!batch || (lines(batch.anchors) === lines(data.sentences)
    && lines(batch.positives) === lines(data.positives) && batch.seed === data.seed));
  if (same) {
    adopt(given);
    build();
    return;
  }
  wanted = given; // once the batch is encoded
  if (batch) send(lines(batch.anchors), lines(batch.positives), batch.seed ?? 0);
}

/** Take from a link what can be used. */
function adopt(given) {
  const whole = (x, most) => Number.isInteger(x) && x >= 0 && x <= most;
  if (whole(given.anchor, data.sentences.length - 1)) state.anchor = given.anchor;
  if (given.size > 0 && given.size <= MOST_SIZE) state.size = given.size;
  state.maps = given.maps === true;
  state.settings = {};
  for (const [name, value] of Object.entries(given.settings ?? {})) {
    if (name in RANGES && allowed(name, value)) state.settings[name] = value;
  }
  (given.sides ?? []).slice(0, 2).forEach((side, place) => {
    if (known(side?.objective)) state.sides[place].objective = side.objective;
    if (whole(side?.of, 1)) state.sides[place].of = side.of;
  });
}

function send(anchors, positives, seed) {
  root?.classList.add('stale');
  ask?.({ anchors, positives, seed });
}

// ---------------------------------------------------------------- settings

function allowed(name, value) {
  const [least, most, closed] = RANGES[name];
  return Number.isFinite(value) && (closed ? value >= least : value > least) && value <= most;
}

/** The card of a loss of others; undefined for an objective of ours. */
const foreign = (name) => data.losses.find((loss) => loss.id === name);
const known = (name) => name in OBJECTIVES || Boolean(foreign(name));
const ownObjective = (place) => {
  const { objective } = data.sides[place];
  return known(objective) ? objective : 'info_nce';
};

/** An objective's settings: the encoder's own where it was trained by it, else the paper's or the service's. */
function settingsOf(place) {
  const { objective } = state.sides[place];
  const own = data.sides.find((side) => side.objective === objective)?.settings ?? {};
  const all = foreign(objective) ? foreignSettings(objective) : { ...OBJECTIVES[objective].settings, ...own };
  for (const name of Object.keys(RANGES)) {
    if (name in all && name in state.settings) all[name] = state.settings[name];
  }
  return all;
}

/** Of a loss of others, with those of its repair under their usual names. */
const foreignSettings = (name) => Object.fromEntries(Object.entries(foreign(name).hyperparameters)
  .filter(([, value]) => value !== null).map(([key, value]) => [key.replace(REPAIR, ''), value]));

/** What the sliders say of an objective, as /v1/components names it. */
function changes(place) {
  const repairs = foreign(state.sides[place].objective)?.hyperparameters ?? {};
  const own = Object.entries(settingsOf(place)).filter(([name]) => name in RANGES);
  return Object.fromEntries(own.map(([name, value]) =>
    [(repairs[REPAIR + name] ?? null) === null ? name : REPAIR + name, value]));
}

/** The value that a slider shows: the second objective's, or the first's; undefined without any. */
const shownSetting = (name) => settingsOf(1)[name] ?? settingsOf(0)[name];

function set(name, text) {
  const value = String(text).trim() === '' ? NaN : Number(text);
  let problem = '';
  if (name === 'size') {
    if (value > 0 && value <= MOST_SIZE) state.size = value;
    else problem = `Step size: ${said(text)} cannot be used; give a number above 0, up to ${MOST_SIZE}.`;
  } else if (allowed(name, value)) state.settings[name] = value;
  else {
    const [least, most, closed] = RANGES[name];
    const from = closed ? `from ${least}` : `above ${least}`;
    problem = `${name[0].toUpperCase()}${name.slice(1)}: ${said(text)} cannot be used; give a number `
      + `${from}${most === Infinity ? '' : ` to ${most}`}.`;
  }
  parts.problem.textContent = problem;
  parts.problem.hidden = !problem;
  if (!problem) update();
}
const said = (text) => (String(text).trim() ? short(String(text), 20) : 'nothing');

// ---------------------------------------------------------------- building

function control(label, low, high, step, name) {
  const range = make('input', {
    type: 'range', min: low, max: high, step, 'aria-label': label, oninput: () => set(name, range.value),
  });
  const number = make('input', {
    type: 'text', inputmode: 'decimal', 'aria-label': `${label}, as a number`, id: `lab-${name}`,
    oninput: () => set(name, number.value.replace(',', '.')),
    onblur: () => { parts.problem.hidden = true; update(); },
  });
  const show = (value) => {
    row.style.visibility = value === undefined ? 'hidden' : ''; // no objective on screen has it
    if (document.activeElement !== range) range.value = value ?? low;
    if (document.activeElement !== number) number.value = String(+(value ?? low).toPrecision(6));
  };
  const row = make('span', { class: 'control' }, make('span', { class: 'setting' }, label), range, number);
  return { show, row };
}

function build() {
  const controls = Object.fromEntries(TERMS.map(([, name, label, low, high, step]) =>
    [name, control(label, low, high, step, name)]));
  controls.size = control(...SIZE, 'size');
  const term = ([name, setting, , , , , role]) => make('span', { class: `term ${name}` },
    make('b', { class: 'chip' }, name), make('small', {}, role), controls[setting].row);
  const sign = (text) => make('span', { class: 'sign' }, text);
  parts = {
    controls,
    problem: make('p', { class: 'problem', role: 'alert', hidden: true }),
    list: make('div', {
      class: 'sentences', role: 'listbox', tabindex: 0, 'aria-label': 'Anchor of the batch', onkeydown: onListKey,
    }),
    choices: state.sides.map((_, place) => choice(place)),
    ablation: make('div', { class: 'ablation', role: 'group', 'aria-label': 'Steps of the ablation, for B' }),
    gate: gate(),
    fans: SIDES.map((side) => make('figure', { class: `fan ${side}` })),
    numbers: make('div', { class: 'numbers' }),
    verdicts: SIDES.map((side) => make('p', { class: `verdict-line ${side}` })),
    spoken: make('p', { class: 'spoken', 'aria-live': 'polite' }),
    maps: buildMaps(),
  };
  root.replaceChildren(make('section', { class: 'lab', 'aria-label': 'The gradient, taken apart' },
    make('p', { class: 'narrow' }, 'gradient = ', make('b', { class: 'chip d' }, 'dissipation'), ' × Σ ',
      make('b', { class: 'chip w' }, 'weight'), ' (negative − ', make('b', { class: 'chip r' }, 'ratio'), ' × positive)'),
    make('div', { class: 'formula' },
      make('div', { class: 'terms' },
        sign('gradient ='), term(TERMS[0]), sign('× Σ'), term(TERMS[1]), sign('( negative −'),
        term(TERMS[2]), sign('× positive )'),
        make('span', { class: 'term size' }, make('b', { class: 'chip plain' }, 'one step'),
          make('small', {}, 'against it'), controls.size.row)),
      parts.problem),
    make('div', { class: 'choices' }, ...parts.choices.map((one) => one.element)),
    parts.ablation,
    make('div', { class: 'columns' },
      make('div', { class: 'batch' }, make('h2', {}, 'The batch: choose an anchor'), parts.list, editor()),
      make('div', { class: 'picture' }, make('h2', {}, 'Its gate: how far the positive leads'),
        parts.gate.element, make('h2', {}, 'Pushes and pull, by angle to the anchor'),
        make('div', { class: 'fans' }, ...parts.fans), key()),
      make('div', { class: 'reading' }, make('h2', {}, 'What happens to it'), ...parts.verdicts, parts.numbers)),
    parts.maps.element, ...data.sides.filter((side) => side.cut).map((side) => make('p', { class: 'told' },
      `${side.cut === 1 ? '1 text was' : `${side.cut} texts were`} longer than ${side.longest} tokens and cut for ${side.model}.`)),
    parts.spoken));
  root.classList.remove('stale');
  update();
}

function choice(place) {
  const objective = make('select', {
    'aria-label': `Objective ${LETTERS[place]}`,
    onchange: () => { state.sides[place].objective = objective.value; update(); },
  }, ...[['of Triad', Object.keys(OBJECTIVES)], ['of other libraries', data.losses.map((loss) => loss.id)]]
    .filter(([, names]) => names.length).map(([label, names]) =>
      make('optgroup', { label }, ...names.map((name) => make('option', { value: name }, name)))));
  const of = make('select', {
    'aria-label': `Embeddings for objective ${LETTERS[place]}`,
    onchange: () => { state.sides[place].of = Number(of.value); update(); },
  }, ...data.sides.map((side, index) => make('option', { value: index }, side.model)));
  const source = make('small', { class: 'source', role: 'status' });
  const element = make('p', { class: `choice ${SIDES[place]}` },
    make('b', {}, LETTERS[place]), ' ', objective, ' at the embeddings of ', of, source);
  return { element, show: () => {
    objective.value = state.sides[place].objective;
    of.value = state.sides[place].of;
    source.textContent = !foreign(state.sides[place].objective) ? ''
      : answered(place) ? 'computed by the service' : 'the service computes it; the first time takes seconds';
  } };
}

function editor() {
  const box = (label, value, rows) => make('textarea', { rows, 'aria-label': label, maxlength: 64000 }, value);
  const anchors = box('Anchors, one sentence a line', data.sentences.join('\n'), 8);
  const positives = box('Positives, one a line', (data.positives ?? []).join('\n'), 4);
  const seed = make('input', { type: 'text', inputmode: 'numeric', value: data.seed, 'aria-label': 'Seed of the dropout' });
  return make('details', { class: 'editor' }, make('summary', {}, 'Change the batch'),
    make('label', {}, 'Anchors, one sentence a line, 2 to 32', anchors),
    make('label', {}, 'Positives, a paraphrase of each line (empty: the same sentence under another dropout)', positives),
    make('label', { class: 'seed' }, 'Seed of the dropout ', seed),
    make('button', { type: 'button', class: 'encode', onclick: () => send(anchors.value, positives.value, seed.value) },
      'Encode this batch'));
}

/** What is what in the picture. */
function key() {
  const item = (kind, text) => make('span', { class: kind }, make('i'), text);
  return make('p', { class: 'key' }, item('push', 'push, as thick as it is strong'), item('pull', 'pull'),
    item('attracts', 'a negative that attracts'), item('ghost', 'after the step'));
}

function onListKey(event) {
  const count = data.sentences.length;
  const to = { ArrowDown: state.anchor + 1, ArrowUp: state.anchor - 1, Home: 0, End: count - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  choose(clamp(to, 0, count - 1));
}

function choose(anchor) {
  state.anchor = anchor;
  parts.list.scrollTop = parts.list.children[anchor].offsetTop - parts.list.offsetTop - 60; // on a phone
  update();
}

function onMaps() {
  if (state.maps === parts.maps.element.open) return;
  state.maps = parts.maps.element.open;
  update();
}

/** Compute and draw before the next frame. */
function update() {
  if (!data || frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    draw();
    changed();
  });
}

/** Fill `results`; false where the service has to be asked first. */
function compute() {
  const found = state.sides.map((side, place) => (foreign(side.objective) ? answered(place)
    : takeApart(side.objective, settingsOf(place), data.batches[side.of], state.size)));
  if (!found.every(Boolean)) return false;
  results = found.map((result) => ({ kept: result.dissipation, ...result }));
  return true;
}

/** What is asked of a loss of others. */
function question(place) {
  const { objective, of } = state.sides[place];
  const asked = { objective, of, hyperparameters: changes(place), step: state.size };
  return { ...asked, key: JSON.stringify(asked) };
}

/**
 * The service's pieces of a loss of others, as takeApart gives them; undefined before they are there.
 * One that is not repaired has no factor before the sum: it lets go of an anchor by pushing less, so
 * that `kept` is each anchor's push as a part of the largest.
 */
function answered(place) {
  const { of, key } = question(place);
  const pieces = answers.get(key);
  if (!pieces) return undefined;
  const views = data.batches[of]();
  const inWeights = !('margin' in settingsOf(place));
  const pushes = pieces.weight.map((row) => row.reduce((all, x) => all + Math.abs(x), 0));
  const kept = inWeights ? pushes.map((x) => x / Math.max(...pushes)) : pieces.dissipation;
  return { ...pieces, inWeights, kept, near: pieces.own_cosines,
    lead: data.sentences.map((_, i) => lead(views, i)) };
}

function askLater() {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => {
    const losses = [0, 1].filter((place) => foreign(state.sides[place].objective)).map(question);
    const { sentences, positives, seed } = data;
    const missing = losses.filter(({ key }) => !answers.has(key));
    if (missing.length) askLosses({ sentences, positives, seed, losses: missing });
  }, PAUSE);
}

function draw() {
  for (const [, name] of TERMS) parts.controls[name].show(shownSetting(name));
  parts.controls.size.show(state.size);
  parts.choices.forEach((one) => one.show());
  drawAblation();
  const complete = compute();
  root.classList.toggle('stale', !complete);
  if (!complete) return askLater();
  const { settings, size, sides } = state;
  drawn = structuredClone({ settings, size, sides });
  drawList();
  drawGate();
  results.forEach((result, place) => parts.fans[place].replaceChildren(...fan(result, place)));
  const lines = results.map(verdict);
  lines.forEach((line, place) => parts.verdicts[place].replaceChildren(
    make('b', {}, `${LETTERS[place]} ${state.sides[place].objective} `), line));
  drawNumbers();
  drawMaps();
  if (!dragging) parts.spoken.textContent = `Anchor ${state.anchor + 1}. ${lines.map((line, place) =>
    `${state.sides[place].objective} ${line}`).join(' ')}`;
}

// ---------------------------------------------------------------- the batch

const isOpen = (result, i) => result.dissipation[i] > 0;

function drawList() {
  parts.list.replaceChildren(...data.sentences.map((sentence, i) => make('div', {
    role: 'option', id: `lab-anchor-${i}`, class: 'sentence', 'data-index': i,
    'aria-selected': String(i === state.anchor), onclick: () => choose(i),
    onpointerenter: () => highlight(i), onpointerleave: () => highlight(-1),
  }, make('span', { class: 'text' }, sentence),
  make('span', { class: 'gates' }, ...results.map((result, place) => {
    const kept = result.kept[i];
    const told = result.inWeights ? `pushes ${percent(kept)} of the most in the batch`
      : kept > 0 ? `keeps ${percent(kept)} of its gradient` : 'settled';
    return make('span', { class: `dot ${SIDES[place]}`, style: `--kept:${clamp(kept, 0, 1)}`,
      title: `${LETTERS[place]}: ${told}` }, make('span', { class: 'spoken' }, `${LETTERS[place]} ${told}`));
  })))));
  parts.list.setAttribute('aria-activedescendant', `lab-anchor-${state.anchor}`);
}

function highlight(index) {
  for (const one of root.querySelectorAll('[data-index]')) {
    one.classList.toggle('lit', Number(one.dataset.index) === index);
  }
}

function drawAblation() {
  const { objective } = state.sides[1];
  const family = (name) => Object.keys(FAMILIES).find((one) => name.startsWith(one));
  const base = foreign(objective) ? objective.replace('_repaired', '')
    : family(objective) ?? family(state.sides[0].objective) ?? 'vicreg';
  const steps = STEPS.filter(([suffix]) => known(base + suffix));
  const names = steps.map(([suffix]) => base + suffix);
  if (parts.ablation.dataset.base !== base) {
    parts.ablation.dataset.base = base;
    parts.ablation.replaceChildren(make('span', { class: 'lead-in' }, 'Repair B step by step:'),
      ...steps.map(([suffix, label]) => make('button', {
        type: 'button', class: suffix.slice(suffix.lastIndexOf('_') + 1).replace('modified', 'ratio'),
        onclick: () => { state.sides[1].objective = base + suffix; update(); },
      }, suffix ? label : `as ${FAMILIES[base] ?? base}`)),
      make('button', { type: 'button', class: 'reset', onclick: reset }, 'Back to both encoders’ own'));
  }
  [...parts.ablation.querySelectorAll('button:not(.reset)')].forEach((button, k) =>
    button.setAttribute('aria-pressed', String(names[k] === state.sides[1].objective)));
}

function reset() {
  state.settings = {};
  state.size = 0.1;
  state.sides.forEach((side, place) => {
    side.of = place;
    side.objective = ownObjective(place);
  });
  update();
}

// ---------------------------------------------------------------- the gate

const GATE = { width: 600, height: 172, left: 12, right: 588, low: -0.4, high: 1, rows: [32, 94], grip: 142 };
const across = (lead) => GATE.left
  + ((clamp(lead, GATE.low, GATE.high) - GATE.low) / (GATE.high - GATE.low)) * (GATE.right - GATE.left);

function gate() {
  const marks = make('g');
  const handle = make('g', {
    class: 'handle', role: 'slider', tabindex: 0, 'aria-label': 'Margin of the gate',
    'aria-valuemin': 0, 'aria-valuemax': 2, onkeydown: onGateKey, onpointerdown: onGateDown,
    onpointermove: (event) => { if (dragging) drag(event); },
    onpointerup: () => { dragging = false; update(); }, onpointercancel: () => { dragging = false; },
  },
  make('line', { y2: GATE.grip }), make('rect', { x: -22, y: 0, width: 44, height: GATE.height, class: 'reach' }),
  make('circle', { cy: GATE.grip, r: 10 }), make('path', { d: `M-2.5 ${GATE.grip - 4}v8M2.5 ${GATE.grip - 4}v8` }));
  const element = make('svg', { viewBox: `0 0 ${GATE.width} ${GATE.height}`, class: 'gate', role: 'group' }, marks, handle);
  return { element, marks, handle };
}

function onGateKey(event) {
  const step = { ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  set('margin', clamp(shownSetting('margin') + step, 0, 2).toFixed(2));
}

function onGateDown(event) {
  dragging = true;
  parts.gate.handle.setPointerCapture(event.pointerId);
}

function drag(event) {
  const box = parts.gate.element.getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * GATE.width;
  const lead = GATE.low + ((x - GATE.left) / (GATE.right - GATE.left)) * (GATE.high - GATE.low);
  set('margin', clamp(lead, 0, GATE.high).toFixed(2));
}

function drawGate() {
  const { marks, handle, element } = parts.gate;
  const margin = shownSetting('margin');
  handle.style.display = margin === undefined ? 'none' : '';
  handle.setAttribute('transform', `translate(${across(margin ?? 0)} 0)`);
  handle.setAttribute('aria-valuenow', margin ?? 0);
  const gated = state.sides.findIndex((_, place) => 'margin' in settingsOf(place));
  if (gated >= 0) handle.querySelector('line').setAttribute('y1', GATE.rows[gated] - 14);
  element.setAttribute('aria-label', `Leads of ${data.sentences.length} anchors: ${results.map((result, place) =>
    `${state.sides[place].objective} has ${result.dissipation.filter((x) => x > 0).length} open, this one's positive leads by ${tell(result.lead[state.anchor])}`).join('; ')}.`);
  marks.replaceChildren(...results.flatMap((result, place) => {
    const y = GATE.rows[place];
    const own = settingsOf(place);
    const gated = 'margin' in own;
    const to = gated ? across(own.margin) : GATE.right;
    const told = gated ? `open below m = ${tell(own.margin)}: ${result.dissipation.filter((x) => !x).length} of ${data.sentences.length} settled`
      : 'distance_margin' in own ? `gate on distances, m = ${own.distance_margin}`
        : result.inWeights ? 'no gate: what it lets go of is in its weights'
          : result.dissipation.every((x) => x === 1) ? 'no gate: every anchor is pushed, always' : 'fades as the lead grows';
    const dots = result.lead.map((lead, i) => make('circle', {
      cx: across(lead), cy: y, r: i === state.anchor ? 8 : 4.5, class: `lead ${SIDES[place]}${i === state.anchor ? ' chosen' : ''}`,
      style: `fill-opacity:${clamp(result.kept[i], 0, 1)}`, 'data-index': i, onclick: () => choose(i),
    }, make('title', {}, `${data.sentences[i]}: leads by ${tell(lead)}`)));
    return [
      make('rect', { x: GATE.left, y: y - 11, width: GATE.right - GATE.left, height: 22, rx: 4, class: 'rail' }),
      make('rect', { x: GATE.left, y: y - 11, width: Math.max(to - GATE.left, 0), height: 22, rx: 4, class: gated || result.dissipation.every((x) => x === 1) ? 'acts' : 'fades' }),
      make('text', { x: GATE.left, y: y - 17, class: 'told' }, `${LETTERS[place]} ${state.sides[place].objective}: ${told}`),
      ...dots.filter((_, i) => i !== state.anchor), dots[state.anchor],
      make('text', { x: across(result.lead[state.anchor]), y: y + 25, class: 'value', 'text-anchor': 'middle' }, tell(result.lead[state.anchor])),
    ];
  }), ...[-0.4, 0, 0.5, 1].map((x) => make('text', {
    x: across(x), y: GATE.height - 4, class: 'tick', 'text-anchor': x < 0 ? 'start' : x === 1 ? 'end' : 'middle',
  }, x < 0 ? 'a negative is nearer' : x === 0 ? '0' : x === 1 ? 'lead 1' : '0.5')));
}

// ---------------------------------------------------------------- the anchor's picture

const FAN = { x: 106, y: 168, radius: 140, width: 264, height: 226 };
const angle = (cosine) => Math.acos(clamp(cosine, -1, 1));
/** Of an angle from the anchor, which points up; positives to the left, negatives to the right. */
const at = (theta, radius = FAN.radius) => [FAN.x + radius * Math.sin(theta), FAN.y - radius * Math.cos(theta)];
const move = (theta, size, way) => { // an arrowhead on the circle
  const [x, y] = at(theta);
  return make('path', { d: `M${-size} ${-size}L${size} 0L${-size} ${size}Z`, class: 'head',
    transform: `translate(${x} ${y}) rotate(${(theta * 180) / Math.PI + (way < 0 ? 180 : 0)})` });
};

function fan(result, place) {
  const i = state.anchor;
  const kept = result.dissipation[i];
  const top = Math.max(...result.pull.map(Math.abs), ...result.weight.flat().map(Math.abs)) || 1;
  const width = (x) => 0.8 + 9 * clamp((Math.abs(x) * kept) / top, 0, 1) ** 0.7;
  const spoke = (theta, value, kind, index, title) => {
    const [x, y] = at(theta);
    const acts = kept * Math.abs(value) > top * 1e-3;
    return make('g', { class: `${kind}${acts ? '' : ' idle'}${value < 0 ? ' attracts' : ''}`, 'data-index': index, onclick: () => choose(index) },
      make('line', { x1: FAN.x, y1: FAN.y, x2: x, y2: y, 'stroke-width': acts ? width(value) : 0.8 }),
      acts ? move(theta, 3 + width(value) * 0.6, value < 0 ? -1 : 1) : make('circle', { cx: x, cy: y, r: 3 }),
      make('title', {}, title));
  };
  const { positive, hardest_negative: near } = result.step;
  const others = result.near[i].map((cosine, j) => [cosine, j]).filter(([, j]) => j !== i).sort(([a], [b]) => a - b);
  const [from, to] = [at(0), at(Math.PI * 0.61)];
  const [px, py] = at(-angle(positive.before[i]), FAN.radius + 12);
  const ghost = (theta, kind) => { const [x, y] = at(theta, FAN.radius + 9); return make('circle', { cx: x, cy: y, r: 3.5, class: `ghost ${kind}` }); };
  const moves = kept > 0;
  const told = `${state.sides[place].objective}: ${moves ? `${others.length} negatives are pushed, the nearest with ${percent(share(result, i))} of the push` : 'nothing moves, the anchor is settled'}; the positive stands at ${Math.round((angle(positive.before[i]) * 180) / Math.PI)} degrees.`;
  const start = at(-Math.PI * 0.26);
  return [
    make('figcaption', {}, make('b', {}, LETTERS[place]), ` ${state.sides[place].objective}`),
    make('svg', { viewBox: `0 0 ${FAN.width} ${FAN.height}`, role: 'img', 'aria-label': told },
      make('path', { class: 'circle', d: `M${start} A${FAN.radius} ${FAN.radius} 0 0 1 ${to}` }),
      make('line', { class: 'anchor', x1: FAN.x, y1: FAN.y, x2: from[0], y2: from[1] }),
      make('circle', { class: 'anchor-dot', cx: from[0], cy: from[1], r: 5 }),
      make('text', { x: from[0], y: from[1] - 10, 'text-anchor': 'middle' }, 'anchor'),
      ...others.map(([cosine, j]) => spoke(angle(cosine), result.weight[i][j], 'push', j,
        `${data.sentences[j]}: cosine ${tell(cosine)}, weight ${tell(result.weight[i][j], 4)}`)),
      spoke(-angle(positive.before[i]), result.pull[i], 'pull', i,
        `positive: cosine ${tell(positive.before[i])}, pull ${tell(result.pull[i], 4)}`),
      make('text', { x: px - 2, y: py - 2, 'text-anchor': 'end' }, 'positive'),
      ...(moves ? [ghost(angle(near.after[i]), 'push'), ghost(-angle(positive.after[i]), 'pull')] : []),
      make('text', { x: FAN.width - 2, y: FAN.height - 4, 'text-anchor': 'end' }, moves ? '' : 'settled: nothing moves')),
  ];
}

// ---------------------------------------------------------------- words and numbers

/** The nearest negative's share in the anchor's push. */
function share(result, i) {
  const sizes = result.weight[i].map(Math.abs);
  return sizes[result.step.hardest_negative.index[i]] / sizes.reduce((a, b) => a + b, 0);
}

function verdict(result, place) {
  const i = state.anchor;
  const own = settingsOf(place);
  const kept = result.dissipation[i];
  const settled = result.dissipation.filter((x) => x === 0).length;
  const count = `${settled} of ${data.sentences.length} are settled.`;
  const lead = result.lead[i];
  const ahead = lead >= 0 ? `its positive leads by ${tell(lead)}` : `a negative is nearer by ${tell(-lead)}`;
  if (kept === 0) return `leaves this anchor alone: ${ahead}. Weight and ratio change nothing for it. ${count}`;
  const { positive, hardest_negative: near } = result.step;
  const nearest = short(data.sentences[near.index[i]], 34);
  const step = ` One step: cosine with “${nearest}” ${tell(near.before[i])} → ${tell(near.after[i])},`
    + ` with its positive ${tell(positive.before[i])} → ${tell(positive.after[i])}.`;
  if ('margin' in own || 'distance_margin' in own) return `moves this anchor: ${ahead}, which is not enough. ${count}${step}`;
  if (result.inWeights) {
    return `pushes this anchor with ${percent(result.kept[i])} of the most in the batch: ${ahead}.${step}`;
  }
  if (result.dissipation.every((x) => x === 1)) {
    return `${lead >= OPEN_MARGIN ? `still pushes this anchor though ${ahead}` : `pushes this anchor: ${ahead}`}. `
      + `It has no gate: ${count}${step}`;
  }
  return `keeps ${kept < 0.01 ? 'less than 1 %' : percent(kept)} of this anchor’s gradient: ${ahead}.${step}`;
}

const symlog = (x) => Math.sign(x) * Math.log1p(Math.min(Math.abs(x), 100) / 0.1);
const RATIO_ENDS = [symlog(-10), symlog(100)];

function drawNumbers() {
  const i = state.anchor;
  const onRatio = (x) => clamp((symlog(x) - RATIO_ENDS[0]) / (RATIO_ENDS[1] - RATIO_ENDS[0]), 0, 1);
  const rows = [
    ['dissipation', 'dissipation', 'part of the gradient kept', (r) => (r.inWeights ? NaN : r.dissipation[i]),
      (x) => (Number.isFinite(x) ? tell(x, x > 0 && x < 0.1 ? 4 : 2) : 'in the weights'), (x) => x],
    ['weight', 'weight', 'nearest negative’s share', (r) => share(r, i), percent, (x) => x],
    ['ratio', 'ratio', 'pull per push', (r) => r.ratio[i], tell, onRatio],
  ];
  const bar = (value, place, where, format, kind) => make('div', { class: `bar ${SIDES[place]}` },
    make('span', { class: 'letter' }, LETTERS[place]),
    make('span', { class: 'track' }, ...(kind === 'ratio'
      ? [make('i', { class: 'one', style: `left:${100 * onRatio(1)}%` }), Number.isFinite(value) ? make('i', { class: 'point', style: `left:${100 * where(value)}%` }) : null]
      : [make('i', { class: 'fill', style: `width:${100 * clamp(where(value) || 0, 0, 1)}%` })])),
    make('span', { class: 'value' }, format(value)));
  const dumbbell = (result, place, key) => {
    const { before, after } = result.step[key];
    const [x, y] = [before[i], after[i]].map((c) => 100 * clamp((c + 0.2) / 1.2, 0, 1));
    return make('div', { class: `bar ${SIDES[place]}` }, make('span', { class: 'letter' }, LETTERS[place]),
      make('span', { class: 'track' }, make('i', { class: 'span', style: `left:${Math.min(x, y)}%;width:${Math.abs(x - y)}%` }),
        make('i', { class: 'ring', style: `left:${x}%` }), Number.isFinite(y) ? make('i', { class: 'point', style: `left:${y}%` }) : null),
      make('span', { class: 'value' }, `${tell(before[i])} → ${tell(after[i])}`));
  };
  parts.numbers.replaceChildren(
    ...rows.map(([term, name, told, value, format, where]) => make('div', { class: `number ${term}` },
      make('p', {}, make('b', { class: 'chip' }, name), ` ${told}${term === 'ratio' ? ' (line: 1)' : ''}`),
      ...results.map((result, place) => bar(value(result), place, where, format, term)))),
    ...[['positive', 'cosine with the positive, after one step'], ['hardest_negative', 'cosine with the nearest negative']].map(
      ([key, told]) => make('div', { class: 'number' }, make('p', {}, told),
        ...results.map((result, place) => dumbbell(result, place, key)))));
}

// ---------------------------------------------------------------- all anchors

const MAP = 320;
const shares = (row) => { const total = row.reduce((all, x) => all + Math.abs(x), 0); return row.map((x) => x / total); };
/** One scale for both maps: the square root of the share, so that small ones are seen. */
const depth = (share) => (Number.isFinite(share) ? Math.sqrt(Math.abs(share)) : 0);
const kind = (share) => (share < 0 ? 'attracts' : 'pushes');

/** The cells of both maps, which are made once for a batch; drawMaps colours them. */
function buildMaps() {
  const count = data.sentences.length;
  const size = MAP / count;
  const place = (event) => event.target.dataset.cell?.split(',').map(Number);
  const maps = SIDES.map((side) => {
    const rows = data.sentences.map((_, i) => make('g', {}, ...data.sentences.map((__, j) => make('rect', {
      x: j * size, y: i * size, width: size - 1, height: size - 1, 'data-cell': `${i},${j}`,
    }))));
    const anchor = make('rect', { class: 'anchor-row', x: 0.5, width: MAP - 1, height: size - 1 });
    const here = make('rect', { class: 'cell', width: size - 1, height: size - 1 });
    const caption = make('figcaption');
    const map = make('svg', {
      viewBox: `0 0 ${MAP} ${MAP}`, tabindex: 0, role: 'application', onkeydown: onMapKey,
      onpointerover: (event) => { const at = place(event); if (at) readout(at); },
      onclick: (event) => { const at = place(event); if (at) choose(at[0]); },
    }, ...rows, anchor, here);
    return { figure: make('figure', { class: side }, caption, map), caption, map, rows, anchor, here };
  });
  const legend = [-1, -0.25, -0.04, 0, 0.04, 0.25, 1].map((x) =>
    make('i', { class: kind(x), style: `--depth:${depth(x)}` }));
  const said = make('p', { class: 'readout', 'aria-live': 'polite' });
  const element = make('details', { class: 'maps', open: state.maps, ontoggle: onMaps },
    make('summary', {}, `All ${count} × ${count} weights`),
    make('p', { class: 'told' }, 'Each row is an anchor: the shares of its push. Faded rows are settled. Arrow keys move the cell, Enter chooses its anchor.'),
    make('div', { class: 'pair' }, ...maps.map((one) => one.figure)),
    make('p', { class: 'legend' }, make('span', {}, 'attracts 100 %'), ...legend, make('span', {}, 'pushes 100 %')),
    said);
  return { element, maps, said, size };
}

function drawMaps() {
  if (!state.maps) return;
  const { maps, size } = parts.maps;
  maps.forEach(({ caption, map, rows, anchor, here }, place) => {
    const result = results[place];
    const { objective } = state.sides[place];
    caption.textContent = `${LETTERS[place]} ${objective}`;
    map.setAttribute('aria-label', `Weights of ${objective}, ${rows.length} by ${rows.length}; arrow keys move the cell`);
    rows.forEach((row, i) => {
      row.setAttribute('opacity', isOpen(result, i) ? 1 : 0.25);
      shares(result.weight[i]).forEach((share, j) => {
        row.children[j].setAttribute('class', kind(share));
        row.children[j].setAttribute('fill-opacity', i === j ? 0 : depth(share).toFixed(3));
      });
    });
    anchor.setAttribute('y', state.anchor * size);
    here.setAttribute('x', cell[1] * size);
    here.setAttribute('y', cell[0] * size);
  });
  readout(cell);
}

const onMapKey = (event) => {
  const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
  if (event.key === 'Enter') choose(cell[0]);
  if (!step) return;
  event.preventDefault();
  cell = cell.map((x, k) => clamp(x + step[k], 0, data.sentences.length - 1));
  drawMaps();
};

function readout([i, j]) {
  const told = i === j ? 'an anchor does not push itself'
    : results.map((result, place) => `${LETTERS[place]} ${percent(shares(result.weight[i])[j])}${isOpen(result, i) ? '' : ' (settled)'}`).join(', ');
  parts.maps.said.textContent = `“${short(data.sentences[i])}” on “${short(data.sentences[j])}”: ${told}.`;
}
