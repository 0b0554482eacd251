// The form of the plan: its fields and the request they make.

import { tie } from "./dial.js";
import { find, make } from "./dom.js";
import { adaptFactors, beginFactors, combinationCount, factorsBody, factorsMistake } from "./plan-factors.js";
import { adaptQuestion, question } from "./plan-question.js";

/** Ranges and initial values of the sliders per family; shares are shown in percent. */
const FAMILIES = {
  bernoulli: { unit: "%", scale: 100, low: 0.5, high: 50, step: 0.5, baseline: 10, difference: 5, most: 20 },
  bounded: { unit: "", scale: 1, low: 0.5, high: 50, step: 0.5, baseline: 10, difference: 2, most: 10, deviation: 20 },
  gaussian: { unit: "", scale: 1, low: -50, high: 50, step: 0.5, baseline: 10, difference: 1, most: 10, deviation: 3 },
  poisson: { unit: "", scale: 1, low: 0.1, high: 20, step: 0.1, baseline: 3, difference: 0.5, most: 5 },
  exponential: { unit: "", scale: 1, low: 0.5, high: 50, step: 0.5, baseline: 10, difference: 3, most: 20 },
};
/** For which rewards the answer is proved. */
const PROVED = {
  bernoulli: "The proof needs nothing else of them.",
  bounded: "Proved for all rewards within the limits, however they are distributed; others are refused. The lower the cap, the fewer trials.",
  gaussian: "Proved if rewards vary no more than normal ones of this standard deviation. Revenue does not: choose a number within limits.",
  poisson: "Proved for Poisson counts, whose variance is their mean. Otherwise choose a number within limits.",
  exponential: "Proved for exponential durations, whose standard deviation is their mean. Otherwise choose a number within limits.",
};
const UNKNOWN = "Approximate for skewed rewards such as revenue, and proved if rewards are normal: choose a number within limits for a proof.";
const LEARNED = "The experiment then learns it, which takes more trials. The proof needs normal rewards.";
const FOR_THE_PLAN = "For the plan only: the answer is proved whatever it is.";
// the initial mean of each arm: its distance from the baseline, in units of the difference that matters
const STEPS = [0, 1, -0.4, 0.4, -0.2, 0.2, -0.6, 0, -0.4, 0.4, -0.2, 0.2];
const LETTERS = "ABCDEFGHIJKL";
const MAX_ARMS = LETTERS.length;
const FACTORIAL = ["bernoulli", "gaussian"]; // families of combinations of factors

const dials = {};
for (const name of ["deviation", "arms", "baseline", "difference", "delta", "floor", "ceiling"]) {
  const grows = ["deviation", "baseline", "difference"].includes(name);
  dials[name] = tie(find(name), find(`${name}-slider`), { logarithmic: name === "delta", grows });
}
const arms = []; // the elements and dials of each row

const family = () => FAMILIES[find("family").value];
const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`).value;
/** A number in other units; an empty field stays null. */
const per = (value, scale) => (value === null ? null : value / scale);
const limited = () => find("limited").checked;

/** Whether the form describes combinations of factors. */
export const factorial = () => chosen("compare") === "factors";

/** Calls `changed` after every change of the form. */
export function begin(changed) {
  beginFactors(changed);
  find("family").addEventListener("input", adaptToFamily);
  find("form").addEventListener("input", () => {
    if (factorial() && !FACTORIAL.includes(find("family").value)) {
      find("family").value = "gaussian";
      adaptToFamily();
    }
    adapt();
    changed();
  });
  find("form").addEventListener("submit", (event) => event.preventDefault());
  find("rows").addEventListener("click", (event) => {
    const row = event.target.closest("button")?.closest(".arm");
    if (row) remove(row, changed);
  });
  adaptToFamily();
  adapt();
}

function adaptToFamily() {
  const { unit, low, high, step, baseline, difference, most, deviation } = family();
  if (deviation) dials.deviation.value = deviation;
  dials.baseline.range(low, high, step);
  dials.difference.range(step / 5, most, step / 5);
  dials.baseline.value = baseline;
  dials.difference.value = difference;
  find("baseline-unit").textContent = unit;
  find("difference-unit").textContent = unit && "points";
  for (const arm of arms) {
    arm.mean.range(low, high, step);
    arm.unit.textContent = unit;
  }
  arms.forEach((arm, index) => (arm.mean.value = guess(index)));
  adaptFactors(true);
}

function guess(index) {
  const { baseline, difference } = family();
  return Number((baseline + difference * STEPS[index]).toPrecision(3));
}

/** Shows the fields that apply and one row per arm. */
function adapt() {
  adaptFactors(false);
  for (const part of document.querySelectorAll("[data-for]")) part.hidden = (part.dataset.for === "factors") !== factorial();
  for (const option of find("family").options) option.disabled = factorial() && !FACTORIAL.includes(option.value);
  resize(dials.arms.value);
  const [means, each] = [chosen("expect") === "means", chosen("floors") === "each"];
  const highest = Math.floor(1000 / arms.length) / 10;
  adaptRewards(find("family").value);
  adaptQuestion(find("family").value, factorial(), arms.map((arm) => arm.label.value.trim()));
  for (const name of ["baseline", "difference"]) find(name).parentElement.hidden = means;
  find("floor").parentElement.hidden = each;
  dials.floor.range(0, highest, 0.1);
  dials.ceiling.range(Math.ceil(1000 / arms.length) / 10, 100, 0.1);
  find("ceiling-dial").hidden = each || !limited();
  for (const arm of arms) {
    arm.parts.mean.hidden = !means;
    arm.parts.floor.hidden = !each;
    arm.parts.ceiling.hidden = !each || !limited();
    arm.row.querySelector("button").disabled = arms.length === 2;
  }
}

/** Shows the fields of the family, and for which rewards the answer is proved. */
function adaptRewards(kind) {
  const unknown = kind === "gaussian" && !factorial();
  find("limits").hidden = kind !== "bounded";
  find("deviation-dial").hidden = !["gaussian", "bounded"].includes(kind);
  find("unknown-choice").hidden = !unknown;
  find("unknown-hint").textContent = kind === "bounded" ? FOR_THE_PLAN : unknown ? LEARNED : "";
  find("family-hint").textContent = unknown && find("unknown").checked ? UNKNOWN : PROVED[kind];
}

/** Adds or removes rows; a half-typed number changes nothing. */
function resize(wanted) {
  if (!Number.isInteger(wanted) || ((wanted < 2 || wanted > MAX_ARMS) && arms.length > 0)) return;
  while (arms.length < wanted) add();
  while (arms.length > wanted) arms.pop().row.remove();
  arms.forEach(({ row }, index) => {
    for (const named of row.querySelectorAll("[data-name]")) {
      named.ariaLabel = named.dataset.name.replace("#", `arm ${index + 1}`);
    }
  });
}

function add() {
  const { unit, low, high, step } = family();
  const free = [...LETTERS].find((letter) => !arms.some((arm) => arm.label.value === letter));
  const label = make("input", { type: "text", value: free, maxLength: 200, autocomplete: "off" });
  label.dataset.name = "Label of #";
  const drop = make("button", { type: "button", "data-name": "Remove #" }, "×");
  const mean = part("Mean", unit, [low, high, step], guess(arms.length));
  const floor = part("Floor", "%", [0, 100, 0.5], dials.floor.value);
  const ceiling = part("Ceiling", "%", [0, 100, 0.5], dials.ceiling.value);
  const row = make("div", { className: "arm" }, label, drop, mean.element, floor.element, ceiling.element);
  find("rows").append(row);
  arms.push({
    row,
    label,
    unit: mean.unit,
    mean: mean.dial,
    floor: floor.dial,
    ceiling: ceiling.dial,
    parts: { mean: mean.element, floor: floor.element, ceiling: ceiling.element },
  });
}

/** A dial of an arm; its accessible names contain the number of the arm, which may change. */
function part(name, unit, [min, max, step], value) {
  const slider = make("input", { type: "range", min, max, step, "data-name": `${name} of #, slider` });
  const field = make("input", { type: "number", step: "any", value, "data-name": `${name} of #` });
  const shown = make("span", { className: "unit" }, unit);
  const element = make("div", { className: "dial" }, make("span", { className: "unit" }, name), slider, field, shown);
  return { element, unit: shown, dial: tie(field, slider, { grows: name === "Mean" }) };
}

function remove(row, changed) {
  arms.splice(
    arms.findIndex((arm) => arm.row === row),
    1,
  );
  row.remove();
  dials.arms.value = arms.length;
  adapt(); // renumbers the others
  find("arms").focus();
  changed();
}

/** The number of arms of the form. */
export const armCount = () => (factorial() ? combinationCount() : arms.length);

/** What is wrong with the number of arms, or with factors, or null. */
export function wrongArms(form) {
  if (factorial()) return factorsMistake(form);
  if (dials.arms.value === arms.length) return null;
  return `The number of arms must be a whole number from 2 to ${MAX_ARMS}.`;
}

/** The body of `POST /v1/plan`. */
export function request() {
  const { scale } = family();
  const common = {
    ...question(scale),
    delta: per(dials.delta.value, 100),
    daily: find("daily").value === "" ? null : Number(find("daily").value),
  };
  if (factorial()) return { ...common, ...factorsBody(), control: null };
  const expected =
    chosen("expect") === "means"
      ? { means: arms.map((arm) => per(arm.mean.value, scale)) }
      : { baseline: per(dials.baseline.value, scale), difference: per(dials.difference.value, scale) };
  return {
    arms: arms.map((arm) => arm.label.value.trim()),
    ...expected,
    ...common,
    family: rewards(),
    floors: floors(),
    drifts: find("drifts").checked ? null : false, // null: where it is possible
  };
}

function rewards() {
  const kind = find("family").value;
  const variance = dials.deviation.value ** 2;
  const [low, high] = [find("low"), find("high")].map((field) => (field.value === "" ? null : Number(field.value)));
  if (kind === "bounded") return { kind, low, high, variance };
  if (kind !== "gaussian") return { kind };
  return find("unknown").checked ? { kind, variance: null, guess: variance } : { kind, variance };
}

function floors() {
  const each = chosen("floors") === "each";
  const share = (name) => (each ? arms.map((arm) => per(arm[name].value, 100)) : per(dials[name].value, 100));
  if (!limited()) return { kind: "constant", floor: share("floor") };
  return { kind: "bounded", floor: share("floor"), ceiling: share("ceiling") };
}
