// The plan: every change of the form asks the service what the experiment takes.

import { post, reason } from "./api.js";
import { draw } from "./charts.js";
import { complain, find, latest, row, say } from "./dom.js";
import { about, days, mean, percent } from "./format.js";
import { frame } from "./frame.js";
import { begin, request } from "./plan-form.js";
import { snippets } from "./snippets.js";

const LABELS = ["Arm", "Mean", "Floor", "Ceiling", "Share"];
const SPEAK_AFTER = 1000; // ms without a change, after which a screen reader says the result

let newest = null; // the form as it is now
let experiment = null; // the body that would create what the form says, once the service has planned this very form
let attempt = ""; // names the creation of what is shown, so that it happens once
let speaking = null;

const ask = latest(async (form) => {
  find("results").setAttribute("aria-busy", "true");
  try {
    show(await post("/v1/plan", form), form);
    complain(find("problem"), null);
  } catch (error) {
    complain(find("problem"), reason(error));
  }
  find("results").setAttribute("aria-busy", "false");
});

function show(plan, form) {
  const { trials, price } = plan;
  const length = plan.days ? `, ${days(plan.days.proved)}` : "";
  say(find("answer"), `About ${about(trials.proved)} trials${length}`);
  say(
    find("meaning"),
    `until the best arm is known, with a chance of at most ${percent(form.delta, 2)} that it is another one. ` +
      `This is proved for the stop that is used, and an average: one experiment can be shorter or longer.`,
  );
  say(find("price-of"), `${about(price.trials)} trials`);
  say(find("price-ratio"), `${percent(price.ratio - 1, 0)} more than without`);
  say(find("without-floors"), `${about(trials.without_floors)} trials`);
  say(find("without-floors-days"), plan.days ? days(plan.days.without_floors) : "");
  say(find("heuristic"), `${about(trials.heuristic)} trials`);
  say(find("strip"), `About ${about(trials.proved)} trials${length}; floors cost ${about(price.trials)}`);
  draw(find("price"), plan.figures.price);
  draw(find("allocation"), plan.figures.allocation);
  find("shares").replaceChildren(...plan.allocation.map((arm) => line(arm, form.family.kind)));
  if (form === newest) offer(plan.experiment); // else the answer to a newer form is under way
  clearTimeout(speaking);
  speaking = setTimeout(() => say(find("spoken"), find("strip").textContent), SPEAK_AFTER);
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
  if (role !== "admin") say(find("start-note"), `Beginning an experiment needs a key of role admin; yours is ${role}.`);
}

async function start() {
  if (find("start").getAttribute("aria-disabled") === "true") return;
  find("start").setAttribute("aria-disabled", "true"); // until the plan changes: one click, one experiment
  const name = find("name").value.trim() || "New experiment";
  try {
    const { id } = await post("/v1/experiments", { ...experiment, name }, { "Idempotency-Key": attempt });
    say(find("started-title"), `“${name}” has begun`);
    find("watch").href = `/experiments/${id}`;
    snippets(find("code"), id);
    find("started").hidden = false;
    find("started").focus();
  } catch (error) {
    complain(find("problem"), reason(error));
    permit();
  }
}

/** Nothing can be started until the service has answered to what the form says now. */
function change() {
  experiment = null;
  find("start").setAttribute("aria-disabled", "true");
  newest = request();
  ask(newest);
}

find("start").addEventListener("click", start);
begin(change);
change();
