// The plan: on every change of the form the service estimates the experiment.

import { post, reason } from "./api.js";
import { draw, erase } from "./charts.js";
import { complain, find, latest, row, say } from "./dom.js";
import { aboutTrials, days, mean, NONE, percent } from "./format.js";
import { frame } from "./frame.js";
import { mistake } from "./plan-check.js";
import { begin, request, wrongCount } from "./plan-form.js";
import { snippets } from "./snippets.js";

const LABELS = ["Arm", "Mean", "Floor", "Ceiling", "Share"];
const SCOPE = { proved: ", if traffic does not change", drift_proof: ", however traffic changes" };
const NEEDS = "needs yes-or-no rewards and a floor for every arm";
const SPEAK_AFTER = 1000; // ms without a change, after which screen readers announce the result

let newest = null; // the form as it is now, or null where it has a mistake
let experiment = null; // the body that creates the experiment, once the service has planned the newest form
let attempt = ""; // idempotency key of the creation, so that it happens once
let speaking = null;

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
  const [used, other] = plan.drifts ? ["drift_proof", "proved"] : ["proved", "drift_proof"];
  const length = plan.days ? `, ${days(plan.days[used])}` : "";
  complain(find("problem"), null);
  say(find("answer"), `About ${aboutTrials(trials[used])}${length}`);
  say(
    find("meaning"),
    `on average until the decision; a single experiment can be shorter or longer. ` +
      `The chance of a wrong answer is proved to be at most ${percent(form.delta, 2)}${SCOPE[used]}.`,
  );
  say(find("price-of"), aboutTrials(price.trials));
  say(find("price-ratio"), `${percent(price.ratio - 1, 0)} more than without floors`);
  say(find("without-floors"), aboutTrials(trials.without_floors));
  say(find("without-floors-days"), plan.days ? days(plan.days.without_floors) : "");
  say(find("other-stop"), plan.drifts ? "If traffic does not change" : "If traffic changes over time");
  say(find("other"), trials[other] === null ? NONE : aboutTrials(trials[other]));
  say(find("other-days"), trials[other] === null ? NEEDS : plan.days ? days(plan.days[other]) : "");
  say(find("heuristic"), aboutTrials(trials.heuristic));
  say(find("strip"), `About ${aboutTrials(trials[used])}${length}; floors cost ${aboutTrials(price.trials)}`);
  draw(find("price"), plan.figures.price);
  draw(find("allocation"), plan.figures.allocation);
  find("shares").replaceChildren(...plan.allocation.map((arm) => line(arm, form.family.kind)));
  if (form === newest) offer(plan.experiment); // else the response to a newer form is on its way
  clearTimeout(speaking);
  speaking = setTimeout(() => say(find("spoken"), find("strip").textContent), SPEAK_AFTER);
}

/** Without a plan there are no results: those of an older form would mislead. */
function clear(message) {
  complain(find("problem"), message);
  for (const name of ["answer", "price-of", "without-floors", "heuristic", "other"]) say(find(name), NONE);
  for (const name of ["meaning", "price-ratio", "without-floors-days", "other-days", "spoken"]) say(find(name), "");
  for (const name of ["price", "allocation"]) erase(find(name), "No plan to show.");
  find("shares").replaceChildren();
  say(find("strip"), message);
  clearTimeout(speaking);
}

function offer(body) {
  experiment = body;
  attempt = Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-");
  permit();
}

function line(arm, family) {
  const shares = [arm.floor, arm.ceiling, arm.share].map((share) => percent(share));
  return row(LABELS, [arm.arm, mean(arm.mean, family), ...shares], [1, 2, 3, 4]);
}

async function permit() {
  const { role } = await frame();
  find("start").setAttribute("aria-disabled", String(role !== "admin" || !experiment));
  if (role !== "admin") say(find("start-note"), `Starting an experiment needs a key with role admin; yours has role ${role}.`);
}

async function start() {
  if (find("start").getAttribute("aria-disabled") === "true") return;
  find("start").setAttribute("aria-disabled", "true"); // until the plan changes: one click, one experiment
  const name = find("name").value.trim() || "New experiment";
  try {
    const { id } = await post("/v1/experiments", { ...experiment, name }, { "Idempotency-Key": attempt });
    say(find("started-title"), `“${name}” has started`);
    find("watch").href = `/experiments/${id}`;
    snippets(find("code"), id);
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
  const wrong = wrongCount() ?? mistake(form);
  newest = wrong ? null : form;
  if (wrong) clear(wrong);
  else ask(newest);
}

find("start").addEventListener("click", start);
begin(change);
change();
