// The fields of a multivariate test: factors, their levels, what each level adds, and its floor.

import { find, make } from "./dom.js";
import { percent } from "./format.js";

const MAX_COMBINATIONS = 100;
const BETWEEN = " / ";
const ROUNDING = 1e-9; // of sums that must be from 0 to 1
/** Per family: the unit of effects, how many of it are 1, and the initial values. */
const REWARDS = {
  bernoulli: { unit: "points", base: "%", scale: 100, baseline: 30, effects: [[0, 10, 4], [0, 8]] },
  gaussian: { unit: "", base: "", scale: 1, baseline: 10, effects: [[0, 2, 1], [0, 1.5]] },
};
const FIRST = [
  ["headline", ["old", "new", "bold"], 20],
  ["button", ["buy", "try"], 30],
];
const factors = []; // { element, name, levels: [{ label, effect, floor, parts }] }

const kind = () => (find("family").value === "gaussian" ? "gaussian" : "bernoulli");
const value = (field) => (field.value === "" ? null : Number(field.value));
const text = (field) => field.value.trim();

/** Calls `changed` after a level or a factor was added or removed. */
export function beginFactors(changed) {
  FIRST.forEach(([name, levels, floor]) => addFactor(name, levels, floor));
  find("add-factor").addEventListener("click", () => {
    const factor = addFactor(free("factor", factors.map(({ name }) => name.value)), ["a", "b"], 0);
    changed();
    factor.name.focus();
  });
  find("factors").addEventListener("click", ({ target }) => {
    if (target.change) {
      target.change();
      changed();
    }
  });
}

/** Fits units and initial values to the family; fields that the user has filled keep their numbers. */
export function adaptFactors(reset) {
  const { unit, base, baseline, effects } = REWARDS[kind()];
  find("base-unit").textContent = base && `(${base})`;
  for (const shown of document.querySelectorAll(".factor .adds")) shown.textContent = unit ? `Adds (${unit})` : "Adds";
  if (!reset) return;
  find("base").value = baseline;
  factors.forEach(({ levels }, at) => levels.forEach(({ effect }, place) => (effect.value = effects[at]?.[place] ?? 0)));
}

function free(word, taken) {
  for (let number = taken.length + 1; ; number++) if (!taken.includes(`${word} ${number}`)) return `${word} ${number}`;
}

function addFactor(name, levels, floor) {
  const field = make("input", { type: "text", value: name, maxLength: 100, autocomplete: "off", className: "head" });
  const element = make("div", { className: "factor" });
  const factor = { element, name: field, levels: [] };
  const add = make("button", { type: "button", className: "add" }, "Add a level");
  add.change = () => addLevel(factor, free("level", factor.levels.map(({ label }) => label.value)), 0).label.focus();
  const heads = ["Level", "Adds", "Floor (%)"].map((word) => make("span", { className: "unit" }, word));
  heads[1].className = "unit adds";
  element.append(field, drop(() => removeFactor(factor)), ...heads, make("span"), add);
  factors.push(factor);
  levels.forEach((level) => addLevel(factor, level, floor));
  find("factors").append(element);
  relabel();
  return factor;
}

function addLevel(factor, name, floor) {
  const label = make("input", { type: "text", value: name, maxLength: 100, autocomplete: "off" });
  const effect = make("input", { type: "number", step: "any", value: 0 });
  const share = make("input", { type: "number", step: "any", min: 0, max: 100, value: floor });
  const level = { label, effect, floor: share };
  level.parts = [label, effect, share, drop(() => removeLevel(factor, level))];
  factor.element.lastElementChild.before(...level.parts);
  factor.levels.push(level);
  relabel();
  return level;
}

function drop(change) {
  const button = make("button", { type: "button", className: "drop" }, "×");
  button.change = change;
  return button;
}

function removeFactor(factor) {
  factors.splice(factors.indexOf(factor), 1);
  factor.element.remove();
  relabel();
  find("add-factor").focus();
}

function removeLevel(factor, level) {
  factor.levels.splice(factor.levels.indexOf(level), 1);
  level.parts.forEach((part) => part.remove());
  relabel();
  factor.levels.at(-1).label.focus();
}

/** Names of fields for screen readers, by their place; the last factor and the last two levels stay. */
function relabel() {
  factors.forEach(({ element, name, levels }, at) => {
    name.ariaLabel = `Name of factor ${at + 1}`;
    const whole = element.children[1];
    whole.ariaLabel = `Remove factor ${at + 1}`;
    whole.disabled = factors.length === 1;
    element.lastElementChild.ariaLabel = `Add a level to factor ${at + 1}`;
    levels.forEach(({ parts }, place) => {
      const of = `level ${place + 1} of factor ${at + 1}`;
      ["Label of", "What is added by", "Floor of", "Remove"].forEach((word, part) => (parts[part].ariaLabel = `${word} ${of}`));
      parts[3].disabled = levels.length === 2;
    });
  });
}

/** The combinations, as labels of arms. */
function combinations(body) {
  const join = (found, levels) => found.flatMap((label) => levels.map((level) => [...label, level]));
  return Object.values(body.factors).reduce(join, [[]]);
}

export const combinationCount = () => factors.reduce((product, { levels }) => product * levels.length, 1);

/** The members of `POST /v1/plan` that only a multivariate test has, and its family and floors. */
export function factorsBody() {
  const { scale } = REWARDS[kind()];
  const by = (of) => Object.fromEntries(factors.map(({ name, levels }) => [text(name), of(levels)]));
  const per = (field, unit) => (levels) =>
    Object.fromEntries(levels.map((level) => [text(level.label), value(level[field]) === null ? null : value(level[field]) / unit]));
  const deviation = kind() === "bernoulli" ? 0.5 : value(find("deviation"));
  const floors = by(per("floor", 100));
  const none = Object.values(floors).every((shares) => Object.values(shares).every((share) => share === 0));
  return {
    factors: by((levels) => levels.map(({ label }) => text(label))),
    effects: by(per("effect", scale)),
    baseline: value(find("base")) === null ? null : value(find("base")) / scale,
    family: { kind: "gaussian", variance: deviation ** 2 },
    floors: none ? 0 : floors,
  };
}

/** The first mistake in the factors as a sentence, or null. */
export function factorsMistake(body) {
  return names() ?? sizes() ?? numbers() ?? sums(body) ?? floors(body) ?? ties(body);
}

function twice(labels) {
  return labels.find((label, place) => labels.indexOf(label) !== place);
}

function names() {
  const given = factors.map(({ name }) => text(name));
  if (given.includes("")) return "Every factor needs a name.";
  if (twice(given)) return `Two factors have the name “${twice(given)}”.`;
  for (const [at, { levels }] of factors.entries()) {
    const labels = levels.map(({ label }) => text(label));
    if (labels.includes("")) return `Every level of “${given[at]}” needs a label.`;
    if (twice(labels)) return `Two levels of “${given[at]}” have the label “${twice(labels)}”.`;
  }
  return null;
}

function sizes() {
  const count = combinationCount();
  if (count <= MAX_COMBINATIONS) return null;
  const product = factors.map(({ levels }) => levels.length).join(" × ");
  return `${product} levels are ${count} combinations; at most ${MAX_COMBINATIONS} can be planned here.`;
}

function numbers() {
  for (const { name, levels } of factors) {
    for (const { label, effect, floor } of levels) {
      const of = `“${text(label)}” of “${text(name)}”`;
      if (value(effect) === null) return `Enter what ${of} adds.`;
      if (value(floor) === null) return `Enter the floor of ${of}; 0 for none.`;
      if (value(floor) < 0 || value(floor) > 100) return `The floor of ${of} must be between 0 and 100 %.`;
    }
  }
  if (value(find("base")) === null) return "Enter the baseline.";
  return kind() === "gaussian" && !(value(find("deviation")) > 0) ? "The standard deviation must be greater than 0." : null;
}

/** A share of successes cannot be below 0 or above 1. */
function sums(body) {
  if (kind() !== "bernoulli") return null;
  const names = Object.keys(body.factors);
  for (const levels of combinations(body)) {
    const mean = levels.reduce((sum, level, at) => sum + body.effects[names[at]][level], body.baseline);
    if (mean < -ROUNDING || mean > 1 + ROUNDING) {
      return `The mean of “${levels.join(BETWEEN)}” would be ${percent(mean, 2)}; it must be from ${percent(0)} to ${percent(1)}.`;
    }
  }
  return null;
}

function floors({ floors: given }) {
  for (const [name, shares] of Object.entries(given === 0 ? {} : given)) {
    const total = Object.values(shares).reduce((sum, share) => sum + share, 0);
    if (total > 1 + ROUNDING) return `The floors of “${name}” add up to ${percent(total, 2)}; at most ${percent(1)} is possible.`;
  }
  return null;
}

function ties({ effects, goal, tolerance }) {
  if (tolerance !== null) return null;
  for (const [name, levels] of Object.entries(effects)) {
    const best = Math[goal](...Object.values(levels));
    const [one, other] = Object.keys(levels).filter((level) => levels[level] === best);
    if (other !== undefined) {
      return `“${one}” and “${other}” of “${name}” are equally good; one level must be best, unless you give a tolerance.`;
    }
  }
  return null;
}
