// What the page keeps in the address, which panel is shown, what is stale, and small helps.
// Gradio's handlers call window.triad; nothing here asks another machine.
(() => {
    const FIELDS = window.triadFields;  // names of the values that a link holds, encoders first
    const PANELS = window.triadPanels;
    // Values that only one panel shows: a link holds those of the panel that it opens.
    const OF = {a: 'pair', b: 'pair', matrix: 'matrix', query: 'search', corpus: 'search', results: 'search', pairs: 'pairs'};
    const MOST = 2000;  // characters of a link
    const byId = (id) => document.getElementById(id);
    const field = (id) => document.querySelector(`#${id} textarea, #${id} input`);
    const state = {values: {}, defaults: null, tab: PANELS[0]};
    const panels = Object.fromEntries(PANELS.map((name) => [name, {edits: 0, started: -1}]));

    // Call a function once an element is on the page.
    window.triadReady = (id, act) => {
        if (byId(id)) return act();
        const watch = new MutationObserver(() => {
            if (byId(id)) { watch.disconnect(); act(); }
        });
        watch.observe(document.documentElement, {childList: true, subtree: true});
    };

    const inHash = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const say = (text) => { const place = byId('said'); if (place) place.textContent = text; };
    const draftKey = () => `triad${location.hash}`;
    const drafted = () => {
        try { return JSON.parse(sessionStorage.getItem(draftKey()) ?? '{}'); } catch { return {}; }
    };
    function keepDraft() {
        try { sessionStorage.setItem(draftKey(), JSON.stringify(state.values)); } catch { /* no room: the link stays */ }
    }

    function link() {
        const parts = new URLSearchParams();
        if (state.tab !== PANELS[0]) parts.set('tab', state.tab);
        for (const name of FIELDS) {
            const value = state.values[name];
            if (name in OF && OF[name] !== state.tab) continue;
            if (value !== undefined && value !== null && value !== state.defaults?.[name]) parts.set(name, value);
        }
        const lab = window.triadLab?.state();
        if (state.tab === 'gradient' && lab) parts.set('lab', JSON.stringify(lab));
        return `#${parts}`;
    }

    // Show the gradient view as a link has it, once the view is there; what no view wrote is ignored.
    function restoreLab(text) {
        let given;
        try { given = JSON.parse(text); } catch { return; }
        const restore = () => window.triadLab.restore(given);
        if (window.triadLab) restore();
        else window.addEventListener('triad-lab-ready', restore, {once: true});
    }

    // Put what is shown into the address; too long a text stays out of it.
    function note(replace = false) {
        if (!state.defaults) return true;
        const address = link();
        if (address.length > MOST) {
            say('What is shown is too long for a link; reloading keeps it.');
            keepDraft();
            return false;
        }
        say('');
        if (address !== (location.hash || '#')) {
            history[replace ? 'replaceState' : 'pushState'](null, '', address);
        }
        keepDraft();
        return true;
    }

    function paint(name) {
        const panel = panels[name];
        byId(`view-${name}`)?.classList.toggle('stale', panel.started >= 0 && panel.edits !== panel.started);
    }
    // A view whose last request failed is asked for again when it is chosen, or the service is back.
    const fresh = (name) => panels[name].started === panels[name].edits && !byId(`view-${name}`)?.querySelector('.notice .alert');
    function edited(name) {
        panels[name].edits += 1;
        paint(name);
    }
    function run(name) {
        if (!state.values.first || !state.values.second) return;
        if (name === 'pairs' && !(state.values.pairs ?? '').trim()) return;
        byId(`run-${name}`)?.click();
    }
    const refresh = () => { if (!fresh(state.tab)) run(state.tab); };

    function show(name, {focus = false, quiet = false} = {}) {
        if (!PANELS.includes(name)) name = PANELS[0];
        state.tab = name;
        for (const one of PANELS) {
            const tab = byId(`tab-${one}`);
            tab.setAttribute('aria-selected', one === name);
            tab.tabIndex = one === name ? 0 : -1;
            byId(`view-${one}`)?.classList.toggle('shown', one === name);
        }
        if (focus) byId(`tab-${name}`).focus();
        window.dispatchEvent(new Event('resize'));
        if (!quiet) {
            byId(`tab-${name}`).scrollIntoView({block: 'nearest', inline: 'nearest'});
            note();
        }
        refresh();
    }

    const triad = window.triad = {
        // What a page that opens begins with: the link, what was typed before a reload, the rest as it is.
        opening: (...values) => {
            const current = Object.fromEntries(FIELDS.slice(2).map((name, place) => [name, values[place]]));
            state.defaults ??= {...current};
            const wanted = {...state.defaults, ...inHash(), ...drafted()};
            return FIELDS.slice(2).map((name) => convert(name, wanted[name]));
        },
        // Both encoders that a link names, empty where it names none.
        wanted: () => { const held = {...inHash(), ...drafted()}; return [held.first ?? '', held.second ?? '']; },
        back: (...values) => {
            const wanted = {...Object.fromEntries(FIELDS.map((name, place) => [name, values[place]])), ...state.defaults, ...inHash()};
            return FIELDS.map((name) => convert(name, wanted[name]));
        },
        changed: (...values) => {
            FIELDS.forEach((name, place) => {
                const before = state.values[name];
                state.values[name] = values[place];
                if (before === undefined || before === values[place]) return;
                for (const panel of PANELS) if (place < 2) edited(panel);
            });
            if (state.defaults && state.values.first && state.defaults.first === undefined) {
                state.defaults.first = state.values.first;
                state.defaults.second = state.values.second;
                const held = inHash();
                if (held.first) state.defaults.first = '';
                if (held.second) state.defaults.second = '';
            }
            keepDraft();
            window.clearTimeout(state.timer);
            state.timer = window.setTimeout(refreshEncoders, 60);
        },
        looked: () => window.setTimeout(refresh, 80),
        started: (name) => { panels[name].started = panels[name].edits; note(); },
        done: (name) => {
            paint(name);
            equip(byId(`view-${name}`));
            if (name === 'gradient') window.triadLab?.settled();
        },
    };
    const convert = (name, value) => (name === 'results' ? Number(value) || 8 : value);
    let encoders = '';
    function refreshEncoders() {
        const now = `${state.values.first} ${state.values.second}`;
        if (now !== encoders && state.values.first && state.values.second) {
            if (encoders) note();
            encoders = now;
            refresh();
        }
    }

    // Sorting by a heading: numbers by value, texts by alphabet; again turns it round.
    function sort(button) {
        const heading = button.closest('th');
        const column = heading.cellIndex;
        const down = heading.getAttribute('aria-sort') !== 'descending';
        const body = heading.closest('table').tBodies[0];
        const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const rows = [...body.rows].sort((one, other) => {
            const [a, b] = [value(one), value(other)];
            const order = a !== '' && b !== '' && !isNaN(a) && !isNaN(b) ? a - b : a.localeCompare(b);
            return down ? -order : order;
        });
        heading.parentElement.querySelectorAll('[aria-sort]').forEach((one) => one.removeAttribute('aria-sort'));
        heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        body.append(...rows);
    }

    // A map of cells can be read cell by cell, by mouse, touch and arrow keys; all maps show the same one.
    function equip(panel) {
        for (const group of panel?.querySelectorAll('.maps:has(> script):not([data-ready])') ?? []) {
            group.dataset.ready = 'yes';
            const data = JSON.parse(group.querySelector('script').textContent);
            const count = data.sentences.length;
            let at = [0, Math.min(1, count - 1)];
            const point = (row, column) => {
                at = [row, column];
                group.querySelectorAll('.here').forEach((cell) => cell.classList.remove('here'));
                group.querySelectorAll(`[data-cell="${row},${column}"]`).forEach((cell) => cell.classList.add('here'));
                group.querySelector('.readout').textContent = `${data.sentences[row]} | ${data.sentences[column]}: ` +
                    data.names.map((name, place) => `${name} ${data.values[place][row][column]}`).join('; ');
            };
            for (const map of group.querySelectorAll('svg')) {
                map.addEventListener('pointermove', (event) => {
                    const cell = event.target.dataset?.cell;
                    if (cell) point(...cell.split(',').map(Number));
                });
                map.addEventListener('keydown', (event) => {
                    const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
                    if (!move) return;
                    event.preventDefault();
                    point(...at.map((place, axis) => Math.max(0, Math.min(count - 1, place + move[axis]))));
                });
            }
        }
    }

    function fill(id, text) {
        const box = field(id);
        box.value = text;
        box.dispatchEvent(new Event('input', {bubbles: true}));
    }

    // The requests of what is on screen, each a path and, but for GET, a body.
    function requests() {
        const {first, second, a, b, matrix, query, corpus, results} = state.values;
        const lines = (text) => (text ?? '').split('\n').map((line) => line.trim()).filter(Boolean);
        const models = [...new Set([first, second])];
        const rows = [...byId('pairs-table')?.tBodies[0].rows ?? []];
        const similarity = (given) => [['/v1/similarity', {models, ...given}]];
        return {
            pair: () => similarity({pairs: [[a, b]]}),
            pairs: () => (rows.length ? similarity({pairs: rows.map((row) => [1, 2].map((cell) => row.cells[cell].textContent))}) : []),
            matrix: () => similarity({sources: lines(matrix), targets: lines(matrix)}),
            search: () => models.map((model) => ['/v1/search', {model, query, documents: lines(corpus), top_k: results}]),
            gradient: () => window.triadLab?.requests() ?? [],
            training: () => [...models.map((model) => [`/v1/models/${encodeURIComponent(model)}/training`]), ['/v1/results']],
        }[state.tab]();
    }
    // For a shell or for Python; a key is named, never copied.
    const WRITERS = {
        curl: (server, asked, locked) => asked.map(([path, body]) => [`curl '${server}${path}'`,
            locked && '-H "Authorization: Bearer $TRIAD_API_KEY"',
            body && `-H 'Content-Type: application/json' -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
        ].filter(Boolean).join(' ')).join('\n'),
        Python: (server, asked, locked) => `import json
import os
import urllib.request

requests = [
${asked.map(([path, body]) => `    ("${path}", ${body ? `r"""${JSON.stringify(body)}"""` : 'None'}),`).join('\n')}
]
headers = {"Content-Type": "application/json"}
${locked ? 'headers["Authorization"] = "Bearer " + os.environ["TRIAD_API_KEY"]\n' : ''}for path, body in requests:
    request = urllib.request.Request("${server}" + path, body and body.encode(), headers)
    print(json.load(urllib.request.urlopen(request)))
`,
    };
    async function copy(kind) {
        if (kind === 'link') {
            if (!note()) return;
            return copied(location.href, 'The link is copied.');
        }
        const asked = requests();
        if (!asked.length) return say('There is nothing to copy yet. Compare something first.');
        const server = window.triadApi || location.origin + location.pathname.replace(/\/demo\/?$/, '');
        return copied(WRITERS[kind](server, asked, Boolean(field('key')?.value)), `What is on screen is copied as ${kind}.`);
    }
    async function copied(text, said) {
        try {
            await navigator.clipboard.writeText(text);
            say(said);
        } catch {
            say('The browser lets nothing be copied here.');
        }
    }

    document.addEventListener('input', (event) => {
        const panel = event.target.closest?.('.view');
        if (panel && event.target.closest('.given')) edited(panel.id.replace('view-', ''));
    });
    document.addEventListener('click', (event) => {
        const target = event.target.closest?.('button');
        if (!target) return;
        if (target.dataset.tab) show(target.dataset.tab);
        else if (target.dataset.copy) copy(target.dataset.copy);
        else if ('sort' in target.dataset) sort(target);
        else if (target.dataset.a !== undefined) {
            fill('a', target.dataset.a);
            fill('b', target.dataset.b);
            window.setTimeout(() => run('pair'), 50);
        }
    });
    document.addEventListener('keydown', (event) => {
        if (event.target.dataset?.tab) {
            const place = PANELS.indexOf(event.target.dataset.tab);
            const to = {ArrowRight: place + 1, ArrowLeft: place + PANELS.length - 1, Home: 0, End: PANELS.length - 1}[event.key];
            if (to !== undefined) { event.preventDefault(); show(PANELS[to % PANELS.length], {focus: true}); }
        }
        if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && event.target.closest?.('#a, #b, #query')) {
            event.preventDefault();
            event.stopPropagation();
            const view = event.target.closest('.view').id.replace('view-', '');
            window.setTimeout(() => run(view), 20);
        }
    }, true);
    const link_ = (event) => {
        const name = event.target.closest?.('[data-link]')?.dataset.link;
        document.querySelectorAll('.linked').forEach((one) => one.classList.remove('linked'));
        if (name) document.querySelectorAll(`[data-link="${name}"]`).forEach((one) => one.classList.add('linked'));
    };
    document.addEventListener('pointerover', link_);
    document.addEventListener('focusin', link_);
    window.addEventListener('popstate', () => {
        byId('go-back')?.click();
        const held = inHash();
        if (held.lab) restoreLab(held.lab);
        window.setTimeout(() => show(held.tab ?? PANELS[0], {quiet: true}), 120);
    });
    window.addEventListener('triad-lab-change', () => {
        if (state.tab === 'gradient') note(true);
    });
    const last = PANELS[PANELS.length - 1];
    triadReady(`view-${last}`, () => triadReady(`tab-${last}`, () => {
        const held = inHash();
        if (held.lab) restoreLab(held.lab);
        show(held.tab ?? PANELS[0], {quiet: true});
    }));
})();
