// What is wrong with a plan, in the words and units of its form.

import { decimal, percent } from "./format.js";

const ROUNDING = 1e-9;
const sum = (values) => values.reduce((total, value) => total + value, 0);
const share = (value) => percent(value, 2);
const [ZERO, HALF, ALL] = [0, 0.5, 1].map(share);

const RANGES = {
  bernoulli: { low: 0, high: 1, words: `greater than ${ZERO} and less than ${ALL}` },
  gaussian: { low: -Infinity, high: Infinity },
  bounded: {},
  poisson: { low: 0, high: Infinity, words: "greater than 0" },
  exponential: { low: 0, high: Infinity, words: "greater than 0" },
};

/** The first mistake in the body of a plan as a sentence, or null. An empty field is null in the body. */
export function mistake(body) {
  const separate = [labels, rewards, question, delta, floors, ceilings, traffic];
  const parts = body.factors ? [question, delta, traffic] : separate; // plan-factors.js checks the rest
  return parts.reduce((found, part) => found ?? part(body), null);
}

function labels({ arms }) {
  if (arms.includes("")) return "Every arm needs a label.";
  const twice = arms.find((label, index) => arms.indexOf(label) !== index);
  return twice === undefined ? null : `Two arms have the label “${twice}”.`;
}

function rewards(body) {
  const { kind, low, high, variance, guess } = body.family;
  if (["gaussian", "bounded"].includes(kind) && !((variance ?? guess) > 0)) {
    return "The standard deviation must be greater than 0.";
  }
  if (kind === "bounded") {
    if (low === null || high === null) return "Enter the least and the largest possible reward.";
    if (!(low < high)) return "The least possible reward must be less than the largest.";
    RANGES.bounded = { low, high, words: `greater than ${decimal(low)} and less than ${decimal(high)}` };
  }
  return (body.means ? means(body) : difference(body)) ?? room(body);
}

/** Rewards within limits cannot vary by more than those at the two ends. */
function room({ arms, means: given, baseline, difference: by, goal, family }) {
  if (family.kind !== "bounded") return null;
  const { low, high, variance } = family;
  const all = given ?? [...arms.slice(1).map(() => baseline), goal === "max" ? baseline + by : baseline - by];
  const most = Math.sqrt(Math.min(...all.map((mean) => (mean - low) * (high - mean))));
  if (variance < most ** 2) return null;
  return `With these limits and means the standard deviation is less than ${decimal(most, 3)}.`;
}

function means({ arms, means: given, family, goal, tolerance }) {
  const wrong = arms.map((label, index) => mean(`the mean of “${label}”`, given[index], family.kind));
  const first = wrong.find((message) => message !== null);
  if (first || tolerance !== null) return first ?? null;
  const [best, word] = goal === "max" ? [Math.max(...given), "highest"] : [Math.min(...given), "lowest"];
  const [one, other] = arms.filter((_, index) => given[index] === best);
  if (other === undefined) return null;
  return `“${one}” and “${other}” share the ${word} mean; one arm must be best, unless you give a tolerance.`;
}

/** A control needs a tolerance, and a tolerance must leave something to find out. */
function question({ tolerance, control, family }) {
  if (tolerance === null) {
    return control === null ? null : "A control needs a tolerance: how much better must an arm be for it to matter?";
  }
  if (typeof tolerance === "number") {
    if (!(tolerance > 0)) return "The tolerance must be greater than 0.";
    return family.kind === "bernoulli" && tolerance >= 1 ? "The tolerance must be less than 100 points." : null;
  }
  const part = Number(tolerance.slice(0, -1));
  return part > 0 && part < 100 ? null : `The tolerance must be greater than ${ZERO} and less than ${ALL}.`;
}

function difference({ baseline, difference: by, family, goal }) {
  const wrong = mean("the mean of the other arms", baseline, family.kind);
  if (wrong) return wrong;
  if (by === null) return "Enter by how much the best arm is better.";
  if (by <= 0) return "The best arm must be better by more than 0.";
  return mean("the mean of the best arm", goal === "max" ? baseline + by : baseline - by, family.kind);
}

function mean(name, value, kind) {
  if (value === null) return `Enter ${name}.`;
  const { low, high, words } = RANGES[kind];
  if (value > low && value < high) return null;
  const shown = kind === "bernoulli" ? share(value) : decimal(value);
  return `${name[0].toUpperCase()}${name.slice(1)} must be ${words}, not ${shown}.`;
}

function delta({ delta: value }) {
  if (value === null) return "Enter the chance of a wrong answer.";
  if (value > 0 && value < 0.5) return null;
  return `The chance of a wrong answer must be greater than ${ZERO} and less than ${HALF}, not ${share(value)}.`;
}

function floors({ arms, floors: { floor } }) {
  const wrong = limits("floor", arms, floor);
  if (wrong) return wrong;
  const total = Array.isArray(floor) ? sum(floor) : arms.length * floor;
  if (total <= 1 + ROUNDING) return null;
  if (Array.isArray(floor)) return `The floors add up to ${share(total)}; at most ${ALL} is possible.`;
  const most = share(1 / arms.length);
  return `${arms.length} floors of ${share(floor)} add up to ${share(total)}; at most ${most} each is possible.`;
}

function ceilings({ arms, floors: { floor, ceiling } }) {
  if (ceiling === undefined) return null;
  const wrong = limits("ceiling", arms, ceiling);
  if (wrong) return wrong;
  const total = Array.isArray(ceiling) ? sum(ceiling) : arms.length * ceiling;
  if (total >= 1 - ROUNDING) return Array.isArray(ceiling) ? crossed(arms, floor, ceiling) : null;
  if (Array.isArray(ceiling)) return `The ceilings add up to ${share(total)}; at least ${ALL} is needed.`;
  const least = share(1 / arms.length);
  return `${arms.length} ceilings of ${share(ceiling)} add up to ${share(total)}; at least ${least} each is needed.`;
}

function crossed(arms, floor, ceiling) {
  const index = arms.findIndex((_, arm) => floor[arm] > ceiling[arm]);
  if (index < 0) return null;
  return `The floor of “${arms[index]}” (${share(floor[index])}) is above its ceiling (${share(ceiling[index])}).`;
}

/** One limit for all arms, or one per arm. */
function limits(name, arms, given) {
  const all = Array.isArray(given) ? given : [given];
  const index = all.findIndex((value) => value === null || value < 0 || value > 1);
  if (index < 0) return null;
  const of = Array.isArray(given) ? ` of “${arms[index]}”` : "";
  if (all[index] === null) return `Enter the ${name}${of}.`;
  return `The ${name}${of} must be between ${ZERO} and ${ALL}, not ${share(all[index])}.`;
}

const traffic = ({ daily }) => (daily === null || daily > 0 ? null : "Trials per day must be greater than 0.");
