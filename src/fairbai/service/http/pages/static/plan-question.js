// What is asked of the arms, and when the experiment ends: the newer fields of the plan.

import { find, make } from "./dom.js";

const per = (value, scale) => (value === "" ? null : Number(value) / scale);

/** Fits the fields to the family and the labels of the arms; a tolerance for factors is in the unit of the rewards. */
export function adaptQuestion(family, factorial, labels) {
  find("tolerance-percent").disabled = factorial;
  if (factorial) find("tolerance-unit").value = "absolute";
  find("tolerance-absolute").textContent = family === "bernoulli" ? "points of the best" : "of the best";
  const select = find("control");
  const wanted = ["", ...labels.filter(Boolean)];
  const chosen = select.selectedIndex; // an arm stays chosen while its label is edited
  if (wanted.join("\n") === [...select.options].map(({ value }) => value).join("\n")) return;
  const same = wanted.length === select.options.length;
  const kept = wanted.indexOf(select.value);
  const option = (label) => make("option", { value: label }, label || "none");
  select.replaceChildren(...wanted.map(option));
  select.selectedIndex = same ? Math.max(0, chosen) : Math.max(0, kept);
}

/** The members of a plan, and of an experiment, that say what the answer must be. */
export function question(scale) {
  const given = find("tolerance").value;
  const relative = find("tolerance-unit").value === "percent";
  return {
    tolerance: given === "" ? null : relative ? `${Number(given)}%` : per(given, scale),
    goal: find("lower").checked ? "min" : "max",
    control: find("control").value || null,
  };
}

/** When the experiment ends without a decision: members of an experiment. */
export function ends() {
  const deadline = find("deadline").value && new Date(find("deadline").value);
  return { max_trials: per(find("most").value, 1), deadline: deadline ? deadline.toISOString() : null };
}

/** What is wrong with the fields of the end, as a sentence, or null. */
export function wrongEnd(arms) {
  const { max_trials: most, deadline } = ends();
  if (most !== null && !(Number.isInteger(most) && most >= arms)) {
    return `Trials at most must be a whole number from ${arms}, the number of arms.`;
  }
  return deadline !== null && Date.parse(deadline) <= Date.now() ? "The deadline must be in the future." : null;
}
