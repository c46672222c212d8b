// The objectives of pipeline/objectives, computed in the browser: the pieces of the gradient at each
// anchor of a batch, and a step against it. Tests compare both with pipeline.objectives.
//
// gradient_i = factor * dissipation_i * (sum_{j != i} weight_ij negative_j - pull_i toward positive_i)
//
// Matrices are arrays of rows. `s` are an objective's settings, `v` a batch's views: { h, p } with N
// rows of D numbers, and the cosines c_ij = h_i.p_j, own_ij = h_i.h_j, other_ij = p_i.p_j.

const MIN_SQUARED = 1e-6; // distances and sines are kept off zero
const MIN_NORM = 1e-12; // shorter embeddings have no direction

const each = (n, value) => Array.from({ length: n }, (_, i) => value(i));
const square = (n, value) => each(n, (i) => each(n, (j) => (i === j ? 0 : value(i, j))));
const sum = (row) => row.reduce((total, x) => total + x, 0);
const dot = (a, b) => {
  let total = 0;
  for (let k = 0; k < a.length; k++) total += a[k] * b[k];
  return total;
};
const plus = (a, factor, b) => a.map((x, k) => x + factor * b[k]);
const unit = (row) => {
  const norm = Math.sqrt(dot(row, row));
  return norm > MIN_NORM ? row.map((x) => x / norm) : row;
};
const normalized = (rows) => rows.map(unit);
const products = (a, b) => a.map((x) => b.map((y) => dot(x, y)));
const perFeature = (rows, value) => each(rows[0].length, (k) => value(rows.map((row) => row[k])));
const mean = (row) => sum(row) / row.length;
const centred = (rows) => {
  const middle = perFeature(rows, mean);
  return rows.map((row) => plus(row, -1, middle));
};
const batchNormalized = (rows) => {
  const zero = centred(rows);
  const scale = perFeature(zero, (x) => 1 / Math.sqrt(dot(x, x) / x.length + 1e-5));
  return zero.map((row) => row.map((x, k) => x * scale[k]));
};

const makeViews = (h, p) => ({
  n: h.length, h, p, c: products(h, p), own: products(h, h), other: products(p, p),
});

/** Index of the largest of a row but for its own place, the first of equals. */
const hardest = (row, i) =>
  row.reduce((best, x, j) => (j !== i && (best < 0 || x > row[best]) ? j : best), -1);
const distance = (cosine) => Math.sqrt(Math.max(2 - 2 * cosine, MIN_SQUARED));
const sine = (cosine) => Math.sqrt(Math.max(1 - cosine * cosine, MIN_SQUARED));
const aligned = (v) => each(v.n, (i) => v.c[i][i]);
const logSumExp = (logits) => {
  const top = Math.max(...logits);
  return top + Math.log(sum(logits.map((x) => Math.exp(x - top))));
};
const without = (row, i) => row.filter((_, j) => j !== i);

// Dissipation: (v, s) -> (N,).
const constant = (v) => each(v.n, () => 1);
/** How far an anchor's positive leads its nearest negative, as cosines. */
export const lead = (v, i, gate = 'cross_view') =>
  gate === 'within_view' ? 1 - v.own[i][hardest(v.own[i], i)] : v.c[i][i] - v.c[i][hardest(v.c[i], i)];
const gate = (v, s) => each(v.n, (i) => (lead(v, i, s.gate) < s.margin ? 1 : 0));
const distanceGate = (v, s) => each(v.n, (i) =>
  distance(v.c[i][hardest(v.c[i], i)]) - distance(v.c[i][i]) < s.distance_margin ? 1 : 0);
const softmaxMass = (positive) => (v, s) => positive(v, s).map((x, i) =>
  1 / (1 + Math.exp((x - s.temperature * logSumExp(without(v.c[i], i).map((c) => c / s.temperature)))
    / s.temperature)));

// Weight: (v, s) -> (N, N), zero on the diagonal.
const overNegatives = (m, t) => {
  const total = m.map((row, i) => logSumExp(without(row, i).map((x) => x / t)));
  return square(m.length, (i, j) => Math.exp(m[i][j] / t - total[i]));
};
const overPairs = (m, t) => {
  const total = logSumExp(m.flatMap((row, i) => without(row, i).map((x) => x / t)));
  return square(m.length, (i, j) => Math.exp(m[i][j] / t - total));
};
const scaled = (m, factor) => m.map((row) => row.map((x) => x * factor));
const nearest = (m, value) => {
  const index = m.map(hardest);
  return square(m.length, (i, j) => (j === index[i] ? value(m[i][j]) : 0));
};
const softmaxWeight = (of) => (v, s) => overPairs(v[of], s.temperature);
const contrast = (v, s) => scaled(overNegatives(v.c, s.temperature), 1 / s.temperature);
const energy = (v, s) => scaled(
  overPairs(v.own, 1 / s.mhe_exponent), 2 * s.mhe_exponent * s.uniformity_coefficient);
const tempered = (v, s) => scaled(overPairs(v.own, s.temperature), 2 / s.temperature);
const neighbours = (v, s) => (s.mhs_negatives === 'other_view' ? v.c : v.own);
const separated = (v, s) => nearest(neighbours(v, s), (c) => 1 / distance(c));
const separation = (v, s) => scaled(separated(v, s), s.uniformity_coefficient / v.n);
const linear = (of, coefficient) => (v, s) =>
  square(v.n, (i, j) => (2 * s[coefficient] * of(v)[i][j]) / v.n ** 2);
const covariance = linear((v) => v.own, 'covariance_coefficient');
const redundancy = linear((v) => v.other, 'redundancy_coefficient');
const centredCovariance = (v, s) => covariance({ n: v.n, own: v.centred.own }, s);

// Pull: (v, s, weight) -> (N,).
const alignment = (v) => each(v.n, () => 2 / v.n);
const fixedRatio = (v, s, weight) => weight.map((row) => s.ratio * sum(row));
const one = (v, s, weight) => weight.map(sum);
const balance = (v, s, weight) => (s.mhe_weight_pull === 'balanced' ? one : alignment)(v, s, weight);
const widened = (v, s) =>
  aligned(v).map((c) => c * Math.cos(s.angular_margin) - sine(c) * Math.sin(s.angular_margin));
const angular = (v, s, weight) => aligned(v).map((c, i) => sum(weight[i])
  * (Math.cos(s.angular_margin) + (c * Math.sin(s.angular_margin)) / sine(c)));

const own = (v) => v.h;
const other = (v) => v.p;
const decorrelate = (v, s) => each(v.h[0].length, (k) =>
  1 - (1 - s.redundancy_coefficient) * mean(v.h.map((row, i) => row[k] * v.p[i][k])));
const GATE = { margin: 0.3, gate: 'cross_view' };
const SOFTMAX = { temperature: 0.05 };
const entry = (dissipation, weight, pull, settings, more = {}) =>
  ({ dissipation, weight, pull, settings, negatives: own, mean: false, ...more });
const CONTRASTIVE = { negatives: other, mean: true };
const TOWARD = { toward: decorrelate };
const OTHER_VIEW = { negatives: (v, s) => (s.mhs_negatives === 'other_view' ? v.p : v.h) };
const ENERGY = { uniformity_coefficient: 10, mhe_exponent: 2 };
const SEPARATION = { uniformity_coefficient: 1, mhs_negatives: 'own_view' };
const COVARIANCE = { covariance_coefficient: 30 };
const REDUNDANCY = { redundancy_coefficient: 30 };

/** Every objective: its pieces, and its settings with the paper's values. */
export const OBJECTIVES = {
  info_nce: entry(softmaxMass(aligned), contrast, one, { ...SOFTMAX }, CONTRASTIVE),
  arccon: entry(softmaxMass(widened), contrast, angular,
    { ...SOFTMAX, angular_margin: Math.PI / 18 }, CONTRASTIVE),
  mpt: entry(gate, (v) => nearest(v.c, () => 1), one, { margin: 0.23 }, CONTRASTIVE),
  met: entry(distanceGate, (v) => nearest(v.c, (c) => 1 / distance(c)),
    (v) => aligned(v).map((c) => 1 / distance(c)), { distance_margin: 0.45 }, CONTRASTIVE),
  mhe: entry(constant, energy, alignment, { ...ENERGY }),
  mhe_dissipation: entry(gate, energy, alignment, { ...GATE, ...ENERGY }),
  mhe_dissipation_weight: entry(gate, tempered, balance,
    { ...GATE, ...SOFTMAX, mhe_weight_pull: 'alignment' }),
  mhe_modified: entry(gate, tempered, fixedRatio, { ...GATE, ...SOFTMAX, ratio: 1.75 }),
  mhs: entry(constant, separation, alignment, { ...SEPARATION }, OTHER_VIEW),
  mhs_dissipation: entry(gate, separation, alignment, { ...GATE, ...SEPARATION }, OTHER_VIEW),
  mhs_modified: entry(gate, separated, fixedRatio,
    { ...GATE, ratio: 1.75, mhs_negatives: 'own_view' }, { ...OTHER_VIEW, mean: true }),
  barlow_twins: entry(constant, redundancy, alignment, { ...REDUNDANCY }, TOWARD),
  barlow_twins_batch_norm: entry(constant, redundancy, alignment, { ...REDUNDANCY },
    { ...TOWARD, normalize: batchNormalized }),
  barlow_twins_dissipation: entry(gate, redundancy, alignment, { ...GATE, ...REDUNDANCY }, TOWARD),
  barlow_twins_dissipation_weight: entry(gate, softmaxWeight('other'), alignment,
    { ...GATE, ...SOFTMAX }),
  barlow_twins_modified: entry(gate, softmaxWeight('other'), fixedRatio,
    { ...GATE, ...SOFTMAX, ratio: 1.5 }),
  vicreg: entry(constant, covariance, alignment, { ...COVARIANCE }),
  vicreg_centred: entry(constant, centredCovariance, alignment, { ...COVARIANCE },
    { negatives: (v) => v.centred.h, normalize: (rows) => rows }),
  vicreg_dissipation: entry(gate, covariance, alignment, { ...GATE, ...COVARIANCE }),
  vicreg_dissipation_weight: entry(gate, softmaxWeight('own'), alignment, { ...GATE, ...SOFTMAX }),
  vicreg_modified: entry(gate, softmaxWeight('own'), fixedRatio, { ...GATE, ...SOFTMAX, ratio: 1.5 }),
  paradigm: entry(gate, (v, s) => overNegatives(v.c, s.temperature), fixedRatio,
    { ...GATE, ...SOFTMAX, ratio: 1, mean_over: 'all' }, CONTRASTIVE),
};

/** What a setting may be: [least, most, whether the least itself is allowed]. */
export const RANGES = {
  margin: [0, 2, true],
  temperature: [0, Infinity, false],
  ratio: [0, Infinity, true],
};

/** A batch's embeddings, ready for every objective: views by how they are normalized. */
export function makeBatch(anchor, positive) {
  const kept = new Map();
  return (normalize = normalized) => {
    if (!kept.has(normalize)) {
      const v = makeViews(normalize(anchor), normalize(positive));
      const h = centred(v.h);
      v.centred = { h, own: products(h, h) };
      v.unit = makeViews(normalized(v.h), normalized(v.p));
      kept.set(normalize, v);
    }
    return kept.get(normalize);
  };
}

/**
 * The pieces at every anchor of a batch, and what a step against the gradient does: the mean length
 * of the steps that are not zero is `size`, since gradients differ by orders.
 */
export function takeApart(name, settings, batch, size) {
  const objective = OBJECTIVES[name];
  const s = { ...objective.settings, ...settings };
  const v = batch(objective.normalize);
  const dissipation = objective.dissipation(v, s);
  const weight = objective.weight(v, s);
  const coefficient = objective.pull(v, s, weight);
  const toward = objective.toward?.(v, s);
  const pull = toward
    ? coefficient.map((x, i) => {
      const squares = v.p[i].map((p) => p * p);
      return (x * dot(squares, toward)) / Math.max(sum(squares), MIN_NORM);
    })
    : coefficient;
  const negatives = objective.negatives(v, s);
  const open = sum(dissipation);
  const factor = objective.mean ? 1 / (s.mean_over === 'open' ? Math.max(open, 1) : v.n) : 1;

  const gradient = v.h.map((h, i) => {
    const row = v.p[i].map((p, k) => -coefficient[i] * (toward ? toward[k] * p : p));
    weight[i].forEach((w, j) => {
      if (w) for (let k = 0; k < row.length; k++) row[k] += w * negatives[j][k]; // in place: it is hot
    });
    const radius = v.unit.h[i];
    const whole = row.map((x) => factor * dissipation[i] * x);
    return plus(whole, -dot(whole, radius), radius); // the paper drops the radial part
  });
  const moving = gradient.map((row) => Math.sqrt(dot(row, row))).filter((x) => x > 0);
  const rate = size / (moving.length ? mean(moving) : 1);
  const [others, near] = negatives === v.h ? [v.unit.h, v.unit.own]
    : negatives === v.p ? [v.unit.p, v.unit.c]
      : [normalized(negatives), products(v.unit.h, normalized(negatives))];
  const index = near.map(hardest);
  const moved = v.unit.h.map((h, i) => unit(plus(h, -rate, gradient[i])));
  return {
    dissipation, weight, pull,
    ratio: pull.map((x, i) => x / sum(weight[i])),
    cosines: v.unit.c, near, lead: each(v.n, (i) => lead(v.unit, i, s.gate)),
    step: {
      positive: { before: aligned(v.unit), after: moved.map((m, i) => dot(m, v.unit.p[i])) },
      hardest_negative: {
        index,
        before: near.map((row, i) => row[index[i]]),
        after: moved.map((m, i) => dot(m, others[index[i]])),
      },
    },
  };
}
