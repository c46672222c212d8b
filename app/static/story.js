// Draws the figures of the story (app/story.py) from window.triadStory; a scrubber moves all of them.
(() => {
    const data = window.triadStory;
    const SIDES = ['vicreg', 'vicreg_modified'];
    const NAMES = {vicreg: 'VICReg', vicreg_modified: 'VICReg, modified'};
    const WIDTH = 640;
    const PAD = {left: 46, right: 12, top: 12, bottom: 34};
    const CHAPTERS = ['dissipation', 'weight', 'ratio'];
    const dev = data.objectives.vicreg.dev.step;
    let step = dev[dev.length - 1];

    const tag = (name, attributes = {}, content = '') =>
        `<${name} ${Object.entries(attributes).map(([key, value]) => `${key}="${value}"`).join(' ')}>${content}</${name}>`;
    const symlog = (x) => Math.sign(x) * Math.log10(1 + Math.abs(x));
    const latest = (steps, values) => {
        let found = null;
        steps.forEach((at, index) => { if (at <= step && values[index] !== null) found = values[index]; });
        return found;
    };

    // One measure of both encoders over the steps, with the scrubber's step as a line.
    function lines({steps, series, range, ticks, form, name, height = 230, scale = (x) => x, rules = []}) {
        const [low, high] = range.map(scale);
        const x = (at) => PAD.left + (WIDTH - PAD.left - PAD.right) * at / 400;
        const y = (value) => PAD.top + (height - PAD.top - PAD.bottom) * (high - scale(value)) / (high - low);
        let body = ticks.map((value) =>
            tag('line', {x1: PAD.left, x2: WIDTH - PAD.right, y1: y(value), y2: y(value), class: 'grid'}) +
            tag('text', {x: PAD.left - 6, y: y(value) + 4, 'text-anchor': 'end'}, form(value))).join('');
        body += [0, 100, 200, 300, 400].map((at) =>
            tag('text', {x: x(at), y: height - 14, 'text-anchor': at === 400 ? 'end' : 'middle'}, at ? at : 'step 0')).join('');
        body += rules.map(({value, label}) =>
            tag('line', {x1: PAD.left, x2: WIDTH - PAD.right, y1: y(value), y2: y(value), class: 'rule'}) +
            tag('text', {x: WIDTH - PAD.right, y: y(value) - 5, 'text-anchor': 'end'}, label)).join('');
        body += tag('line', {x1: x(step), x2: x(step), y1: PAD.top, y2: height - PAD.bottom, class: 'now'});
        SIDES.forEach((side, place) => {
            const points = steps.map((at, index) => [at, series[side][index]]).filter((point) => point[1] !== null);
            const path = points.map(([at, value], index) => `${index ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join('');
            body += tag('path', {d: path, class: `line side-${place}`});
            const value = latest(steps, series[side]);
            if (value !== null) body += tag('circle', {cx: x(Math.max(step, points[0][0])), cy: y(value), r: 5, class: `dot side-${place}`});
        });
        const values = SIDES.map((side) => latest(steps, series[side])).map((value) => value === null ? 'not recorded yet' : form(value));
        const told = SIDES.map((side, place) => `${NAMES[side]} ${values[place]}`).join(', ');
        return legend(values) + tag('svg', {viewBox: `0 0 ${WIDTH} ${height}`, role: 'img',
            'aria-label': `${name} over the steps; at step ${step}: ${told}.`}, body);
    }

    const legend = (values) => tag('p', {class: 'legend'}, SIDES.map((side, place) =>
        `<span class="key side-${place}"></span>${NAMES[side]} <b>${values[place]}</b>`).join(''));

    // Each anchor is a dot, full while it is pushed; below, how much nearer neighbours are than the rest.
    function gates() {
        const probes = SIDES.map((side) => data.objectives[side].probes);
        const at = probes[0].step.findLastIndex((one) => one <= step);
        const open = probes.map((one, place) => one.lead[at].map((lead) => place === 0 || lead < data.margin));
        const gaps = Object.fromEntries(SIDES.map((side, place) => [side, probes[place].neighbours.map(
            (row, index) => row.reduce((sum, one) => sum + one, 0) / row.length - probes[place].others[index])]));
        const gap = 25;
        let body = '';
        SIDES.forEach((side, place) => {
            const y = 20 + 36 * place;
            open[place].forEach((pushed, anchor) => {
                const said = `${data.sentences[2 * anchor]} ${pushed ? 'is still pushed' : 'is left alone'}`;
                body += tag('circle', {cx: 20 + gap * anchor, cy: y, r: 8, class: `anchor side-${place}${pushed ? '' : ' settled'}`},
                    `<title>${said.replace(/[<&]/g, '')}</title>`);
            });
        });
        const pushed = open.map((row) => row.filter(Boolean).length);
        const told = `24 probe sentences at step ${step}. Full: still pushed (VICReg ${pushed[0]}, modified ${pushed[1]}).`;
        const values = SIDES.flatMap((side) => gaps[side]);
        const low = Math.floor(10 * Math.min(...values)) / 10;
        const high = Math.ceil(10 * Math.max(...values)) / 10;
        return `<p class="what">${told}</p>` + tag('svg', {viewBox: `0 0 ${WIDTH} 76`, role: 'img', 'aria-label': told}, body) +
            '<p class="what">Mean cosine of 24 pairs that mean the same, minus that of sentences of different pairs. ' +
            `By this measure the two end nearly equal (${SIDES.map((side) => gaps[side].at(-1).toFixed(2)).join(' and ')}): ` +
            'VICReg loses something finer, the order of pairs that people find more or less alike.</p>' +
            lines({steps: probes[0].step, series: gaps, range: [low, high], ticks: [low, high], form: (x) => x.toFixed(2),
                name: 'How far such pairs stand out', height: 130});
    }

    const dynamics = (key) => ({
        steps: data.objectives.vicreg.dynamics.step,
        series: Object.fromEntries(SIDES.map((side) => [side, data.objectives[side].dynamics[key]])),
    });
    const FIGURES = {
        dev: () => '<p class="what">Agreement with people on 1,500 graded pairs (STS-B dev, Spearman x 100) during training.</p>' +
            lines({steps: dev, series: Object.fromEntries(SIDES.map((side) => [side, data.objectives[side].dev.dev_spearman])),
                range: [50, 75], ticks: [50, 55, 60, 65, 70, 75], form: (x) => x.toFixed(0), name: 'Agreement with people', height: 290,
                rules: [{value: data.objectives.vicreg.dev.dev_spearman[0], label: 'untrained'}]}),
        dissipation: gates,
        weight: () => '<p class="what">Share of the most similar negative in the push, over the batch\'s anchors that are still pushed. There is no value at steps where none is.</p>' +
            lines({...dynamics('hardest_share'), range: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1],
                form: (x) => `${Math.round(100 * x)} %`, name: 'Share of the most similar negative'}),
        ratio: () => '<p class="what">Pull for each unit of push, logarithmic on both sides of 0; below 0, one of the two works backwards.</p>' +
            lines({...dynamics('ratio'), range: [-100, 100], ticks: [-100, -10, 0, 1.5, 10, 100], scale: symlog,
                form: (x) => `${Math.round(10 * x) / 10}`, name: 'Ratio of pull and push'}),
    };

    function draw() {
        document.getElementById('story-step').textContent = step;
        for (const name of ['dev', ...CHAPTERS]) document.getElementById(`figure-${name}`).innerHTML = FIGURES[name]();
    }

    function choose(chapter, focus) {
        for (const name of CHAPTERS) {
            const chip = document.getElementById(`chip-${name}`);
            chip.setAttribute('aria-selected', name === chapter);
            chip.tabIndex = name === chapter ? 0 : -1;
            document.getElementById(`chapter-${name}`).hidden = name !== chapter;
            if (name === chapter && focus) chip.focus();
        }
    }

    window.triadReady('story', () => {
        const scrubber = document.getElementById('scrubber');
        const show = (evaluated) => {
            step = evaluated;
            scrubber.value = step;
            scrubber.setAttribute('aria-valuetext', `step ${step}`);
            draw();
        };
        scrubber.max = step;
        // The thumb stands at its step on the figure's axis, and keys go from one evaluation to the next.
        scrubber.addEventListener('input', () => show(dev.reduce((near, at) =>
            Math.abs(at - scrubber.value) < Math.abs(near - scrubber.value) ? at : near)));
        scrubber.addEventListener('keydown', (event) => {
            const move = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -dev.length, End: dev.length}[event.key];
            if (!move) return;
            event.preventDefault();
            show(dev[Math.min(dev.length - 1, Math.max(0, dev.indexOf(step) + move))]);
        });
        CHAPTERS.forEach((name, place) => {
            const chip = document.getElementById(`chip-${name}`);
            chip.addEventListener('click', () => choose(name));
            chip.addEventListener('keydown', (event) => {
                const move = {ArrowRight: 1, ArrowLeft: 2}[event.key];
                if (move) choose(CHAPTERS[(place + move) % 3], true);
            });
        });
        choose('dissipation');
        show(step);
    });
})();
