// The plan: on every change of the form the service estimates the experiment.

import { post, Problem, reason } from "./api.js";
import { draw, erase } from "./charts.js";
import { complain, find, latest, row, say } from "./dom.js";
import { about, aboutTrials, count, days, decimal, mean, NONE, percent } from "./format.js";
import { frame } from "./frame.js";
import { mistake } from "./plan-check.js";
import { armCount, begin, request, wrongArms } from "./plan-form.js";
import { adaptMore, more, wrongMore } from "./plan-more.js";
import { ends, wrongEnd } from "./plan-question.js";
import { creation, snippets } from "./snippets.js";

const LABELS = ["Arm", "Mean", "Floor", "Ceiling", "Share"];
const KINDS = { mixture: "Mixture", linear_mixture: "LinearMixture", design_based: "DesignBased", heuristic: "Heuristic" };
const SCOPE = { proved: ", if traffic does not change", drift_proof: ", however traffic changes" };
const LEVELS = ["Level", "Floor", "Share"];
const NEEDS = "needs yes-or-no rewards and a floor for every arm";
const NO_FACTORS = "not possible with factors";
const DAY = 86_400_000; // ms
const SPEAK_AFTER = 1000; // ms without a change, after which screen readers announce the result

let newest = null; // the form as it is now, or null where it has a mistake
let experiment = null; // the body that creates the experiment, once the service has planned the newest form
let attempt = ""; // idempotency key of the creation, so that it happens once
let speaking = null;
const rewards = new WeakMap(); // what a reward is, by form: a body has a Gaussian family also for yes or no with factors

const ask = latest(async (form) => {
  find("results").setAttribute("aria-busy", "true");
  try {
    const plan = await post("/v1/plan", form);
    if (newest) show(plan, form); // also while a newer form waits, so that results follow a slider
  } catch (error) {
    if (newest) clear(reason(error));
  }
  find("results").setAttribute("aria-busy", "false");
});

function show(plan, form) {
  const { trials, price } = plan;
  const used = plan.stop; // every figure but those of the other stops is of this one
  const other = used === "proved" ? "drift_proof" : "proved";
  const named = (stop) => KINDS[plan.stops[stop]?.kind ?? "design_based"];
  const length = plan.days ? `, ${days(plan.days[used])}` : "";
  complain(find("problem"), null);
  say(find("answer"), `About ${aboutTrials(trials[used])}${length}`);
  say(
    find("meaning"),
    `on average until the decision; half of all experiments end within ${about(plan.quantiles.p50)} trials, nine in ten ` +
      `within ${about(plan.quantiles.p90)}. The stopping rule is ${named(used)}. ` +
      `The chance of a wrong answer is proved to be at most ${percent(form.delta, 2)}${plan.drifts ? ", however traffic changes," : ""} ` +
      `if ${plan.proved_if}.`,
  );
  complain(find("short"), tooShort(trials[used], form.daily));
  say(find("price-of"), aboutTrials(price.trials));
  say(find("price-ratio"), `${percent(price.ratio - 1, 0)} more than without floors`);
  say(find("without-floors"), aboutTrials(trials.without_floors));
  say(find("without-floors-days"), plan.days ? days(plan.days.without_floors) : "");
  say(find("other-stop"), `With ${named(other)}${SCOPE[other]}`);
  say(find("other"), trials[other] === null ? NONE : aboutTrials(trials[other]));
  say(find("other-days"), trials[other] === null ? (form.factors ? NO_FACTORS : NEEDS) : plan.days ? days(plan.days[other]) : "");
  say(find("heuristic"), aboutTrials(trials.heuristic));
  const { until_decision: forgone, floors } = plan.regret;
  const kind = rewards.get(form);
  const unit = kind === "bernoulli" ? "successes" : "reward";
  say(find("regret"), `≈ ${decimal(forgone, 2)}`);
  say(find("regret-floors"), `${unit} forgone until the decision; ${decimal(floors, 2)} by the floors alone`);
  say(find("strip"), `About ${aboutTrials(trials[used])}${length}; floors cost ${aboutTrials(price.trials)}`);
  draw(find("price"), plan.figures.price);
  draw(find("allocation"), plan.figures.allocation);
  find("shares").replaceChildren(...plan.allocation.map((arm) => line(arm, kind)));
  find("levels").replaceChildren(...(plan.levels ?? []).map(level));
  if (form === newest) offer(plan.experiment, form); // else the response to a newer form is on its way
  clearTimeout(speaking);
  speaking = setTimeout(() => say(find("spoken"), find("strip").textContent), SPEAK_AFTER);
}

/** A warning if the experiment will probably end before it decides, or null. */
function tooShort(expected, daily) {
  const { max_trials: most, deadline } = ends();
  const until = deadline !== null && daily ? ((Date.parse(deadline) - Date.now()) / DAY) * daily : Infinity;
  const allowed = Math.min(most ?? Infinity, until);
  if (!(allowed < expected)) return null;
  const [budget, time] = [`You allow ${count(most)} trials`, `Until the deadline there are about ${about(until)} trials`];
  const limit = allowed === most ? budget : time;
  return `${limit}, and it needs about ${about(expected)}: it will probably end with a best guess and no decision.`;
}

/** Without a plan there are no results: those of an older form would mislead. */
function clear(message) {
  complain(find("problem"), message);
  complain(find("short"), null);
  for (const name of ["answer", "price-of", "without-floors", "heuristic", "other", "regret"]) say(find(name), NONE);
  for (const name of ["meaning", "price-ratio", "without-floors-days", "other-days", "regret-floors", "spoken"]) say(find(name), "");
  for (const name of ["price", "allocation"]) erase(find(name), "No plan to show.");
  find("shares").replaceChildren();
  find("levels").replaceChildren();
  find("from-code").hidden = true;
  say(find("strip"), message);
  clearTimeout(speaking);
}

function offer(body, form) {
  experiment = body;
  const { factors, family, floors } = form;
  const { arms: _, ...rest } = body;
  find("from-code").hidden = false;
  adaptMore(isDrawn(body));
  const all = { ...(factors ? { ...rest, factors, family, floors } : body), ...more(), ...ends(), name: named() };
  creation(find("creation"), all);
  attempt = Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-");
  permit();
}

function line(arm, family) {
  const shares = [arm.floor, arm.ceiling, arm.share].map((share) => percent(share));
  return row(LABELS, [arm.arm, mean(arm.mean, family), ...shares], [1, 2, 3, 4]);
}

function level({ factor, level: label, floor, share }) {
  return row(LEVELS, [`${factor}: ${label}`, percent(floor), percent(share)], [1, 2]);
}

/** Whether every ticket counts, in the order of assignment. */
const isDrawn = (body) => body?.stopping?.kind === "design_based";

const named = () => find("name").value.trim() || "New experiment";

async function permit() {
  const { role } = await frame();
  find("start").setAttribute("aria-disabled", String(role !== "admin" || !experiment));
  if (role !== "admin") say(find("start-note"), `Starting an experiment needs a key with role admin; yours has role ${role}.`);
}

async function start() {
  if (find("start").getAttribute("aria-disabled") === "true") return;
  find("start").setAttribute("aria-disabled", "true"); // until the plan changes: one click, one experiment
  const name = named();
  try {
    const body = { ...experiment, ...more(), ...ends(), name };
    const wrong = wrongMore(isDrawn(experiment));
    if (wrong) throw new Problem(422, { detail: wrong });
    const { id } = await post("/v1/experiments", body, { "Idempotency-Key": attempt });
    say(find("started-title"), `“${name}” has started`);
    find("watch").href = `/experiments/${id}`;
    snippets(find("code"), id, body.report_after);
    find("started").hidden = false;
    find("started").focus();
  } catch (error) {
    complain(find("problem"), reason(error));
    permit();
  }
}

/** Nothing can be started until the service has planned the form as it is now. */
function change() {
  experiment = null;
  find("start").setAttribute("aria-disabled", "true");
  const form = request();
  const wrong = wrongArms(form) ?? mistake(form) ?? wrongEnd(armCount()) ?? wrongMore(find("drifts").checked);
  newest = wrong ? null : form;
  rewards.set(form, find("family").value);
  if (wrong) clear(wrong);
  else ask(newest);
}

find("start").addEventListener("click", start);
begin(change);
change();
