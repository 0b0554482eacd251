// One experiment, running or finished.

import { get, post, reason } from "./api.js";
import { draw } from "./charts.js";
import { badge, complain, find, latest, make, row, say } from "./dom.js";
import {
  about,
  age,
  count,
  decimal,
  interval,
  known,
  left,
  mean,
  moment,
  NONE,
  percent,
  period,
  plural,
  shareOf,
  state,
  surely,
  together,
} from "./format.js";
import { frame, missing } from "./frame.js";
import { interventions, offered } from "./interventions.js";
import { follow } from "./live.js";
import { snippets } from "./snippets.js";

const id = location.pathname.split("/")[2];
const at = `/v1/experiments/${id}`;
const CHARTS = {
  effects: "effects",
  shares: "shares",
  means: "means",
  averages: "averages",
  evidence: "evidence",
  trials: "trials-chart",
};
const LABELS = ["Arm", "Trials", "Rewards", "Pending", "Mean", "Interval", "Share", "Floor"];
const LEVEL_LABELS = ["Level", "Effect", "Interval", "Share", "Floor"];
const MODES = {
  live: "Live",
  polling: "Live, updated every few seconds",
  lost: "Reconnecting…",
  over: "Finished",
};
const PAUSE = 1500; // ms between two refreshes
const MINUTE = 60_000; // ms

let shown = null; // the newest status
let coded = null; // the experiment whose code is shown

/** The sentence and the charts cost more than the status, so there is a pause after each refresh. */
const refresh = latest(async () => {
  try {
    const [summary, { figures }] = await Promise.all([get(`${at}/summary`), get(`${at}/figures`)]);
    const headline = together(summary.headline);
    say(find("sentence"), headline);
    complain(find("more"), together(summary.more));
    cost(summary.learning_cost);
    if (shown.decided || shown.stopped) say(find("announced"), headline); // screen readers need not hear every step
    find("averages-card").hidden = !figures.averages; // only where they are estimated whatever the drift
    for (const [name, figure] of Object.entries(figures)) draw(find(CHARTS[name]), figure);
  } catch (error) {
    complain(find("problem"), reason(error));
  }
  await new Promise((resume) => setTimeout(resume, PAUSE));
});

function show(status) {
  if (shown && status.version <= shown.version) return;
  shown = status;
  complain(find("problem"), null);
  document.title = `${status.name} · fairbai`;
  say(find("name"), status.name);
  find("state").replaceChildren(badge(...state(status)));
  find("standing").classList.toggle("good", status.decided && status.proved);
  find("standing").classList.toggle("warn", status.stopped && !status.decided);
  if (!status.decided && status.trials) say(find("sentence"), together(status.sentence));
  complain(find("waits"), status.waits?.sentence ?? null);
  complain(find("question"), unusual(status) ? together(status.question) : null);
  complain(find("doubts"), remarks(status));
  complain(find("ratio"), status.sample_ratio?.mismatch === false ? status.sample_ratio.sentence : null);
  tiles(status);
  if (coded !== id) snippets(find("code"), (coded = id), status.config.report_after);
  const family = status.config.family.kind;
  say(find("mean-head"), "estimand" in status ? "Average" : "Mean");
  say(find("share-head"), shareName(status.arms));
  find("arms").replaceChildren(...status.arms.map((arm) => line(arm, family, status)));
  levels(status);
  permit();
  refresh();
}

/** What the levels of the factors add; only experiments with factors have some. */
function levels({ effects = [] }) {
  for (const card of ["effects-card", "levels-card"]) find(card).hidden = effects.length === 0;
  find("levels").replaceChildren(
    ...effects.map(({ factor, level, effect, interval: ends, share, floor }) => {
      const cells = [`${factor}: ${level}`, mean(effect), known(effect) ? interval(ends) : NONE];
      return row(LEVEL_LABELS, [...cells, percent(share, 2), percent(floor, 2)], [1, 3, 4]);
    }),
  );
}

function tiles(status) {
  const { trials, pending, late, expired, progress, max_trials: most, created_at: created } = status;
  say(find("trials"), count(trials));
  say(find("started"), `${most === null ? "" : `of ${count(most)} trials, `}started ${age(created)}`);
  find("started").title = moment(created);
  find("budget").hidden = most === null;
  find("budget-spent").value = most === null ? 0 : Math.min(1, trials / most);
  say(find("confidence"), status.recommendation === null || !known(status.confidence) ? NONE : surely(status.confidence));
  find("confidence").classList.toggle("wordy", find("confidence").textContent.length > 12);
  say(find("target"), sureOf(status));
  say(find("evidence-now"), percent(progress, 0));
  say(find("threshold"), needed(status));
  time(status);
  const ahead = status.expected_trials_to_go;
  say(find("to-go"), status.stopped || ahead === 0 ? "0" : known(ahead) ? `≈ ${about(ahead, 2)}` : NONE);
  say(find("stop"), ending(status));
  say(find("pending"), count(pending));
  say(find("observed"), counted(status));
  say(find("late"), count(late));
  say(find("expired"), `${count(expired)} expired`);
}

/** How many rewards count, and why others do not count yet. */
function counted({ observed, held, waits, config }) {
  if (!held) return `${count(observed)} received`;
  const until = waits ? `wait for ticket ${waits.ticket}` : `held until they are ${period(config.report_after)} old`;
  return `${count(observed)} counted, ${count(waits ? waits.rewards : held)} ${until}`;
}

/** What trials of other arms than the best have forgone: an estimate, and what the intervals of the means allow. */
function cost(learning) {
  const { stopped, config, target_confidence: sure, observed } = shown;
  const unit = config.family.kind === "bernoulli" ? "successes" : "in the unit of the rewards";
  find("learning-cost").title = "Trials of each arm times its estimated distance from the best arm";
  if (!learning) {
    say(find("learning-cost"), NONE);
    say(find("learning-cost-range"), "estimand" in shown && observed ? "not defined where means may change" : "");
    return;
  }
  const { estimate, low, high } = learning;
  say(find("learning-cost"), `≈ ${decimal(estimate, 3)}`);
  const range = known(low) && known(high) ? `; ${decimal(low, 2)} to ${decimal(high, 2)}, ${percent(sure, 7)} sure` : "";
  say(find("learning-cost-range"), `${stopped ? "" : "so far, "}${unit}${range}`);
}

/** After an end without a decision there is no way to go. */
function needed({ progress, decided, stopped }) {
  if (known(progress)) return "of what a decision needs";
  return stopped && !decided ? "not enough for a decision" : "waiting for first rewards";
}

/** What is confident, or why nothing is. */
function sureOf(status) {
  if (!known(status.confidence)) return doubted(status) ? "in doubt" : status.proved ? "" : "not proved";
  const aim = `target ${percent(status.target_confidence, 7)}`;
  if (status.decided || status.recommendation === null) return aim;
  return `in “${status.recommendation}” ${status.stopped ? "at the end" : "if you stop now"}, ${aim}`;
}

/** The time until the deadline, if there is one and nothing else has ended the experiment. */
function time({ deadline, ended_by: ended, created_at: created }) {
  find("time").hidden = deadline === null || !(ended === null || ended === "deadline");
  if (deadline === null) return;
  const [begun, end] = [created, deadline].map(Date.parse);
  const over = ended !== null || Date.now() >= end;
  say(find("time-left"), over ? "none" : left(deadline));
  say(find("deadline"), `deadline ${moment(deadline)}`);
  find("time-spent").value = over ? 1 : Math.min(1, (Date.now() - begun) / (end - begun));
}

/** Whether the question is another than which arm has the highest mean. */
const unusual = ({ goal, tolerance, control }) => goal === "min" || tolerance !== null || control !== null;

/** Whether there is a doubt, and was by the time of the decision. */
const doubted = ({ doubts }) => doubts.some(({ after_decision: late }) => !late);

/** What is in doubt, and what would suit the rewards better; null if there is nothing. */
function remarks({ doubts, hints, sample_ratio: ratio }) {
  const when = ({ trial, after_decision: late }) => (late ? "after the decision" : `after ${plural(trial, "trial")}`);
  const found = doubts.map((doubt) => `${doubt.reason} (found ${when(doubt)}).`);
  const such = doubts[0]?.kind === "family" ? "rewards" : "trials";
  const then = doubts.length ? [`For such ${such} neither an answer nor the intervals are proved.`] : [];
  if (ratio?.mismatch) found.unshift(ratio.sentence);
  return [...found.slice(0, 3), ...then, ...hints.map((hint) => `${hint}.`)].join(" ") || null;
}

function ending(status) {
  const { decided, stopped, proved } = status;
  if (stopped && !decided) return "ended without a decision";
  if (doubted(status)) return decided ? "decision in doubt" : "until a decision, now in doubt";
  if (decided) return proved ? "proved decision" : "heuristic decision";
  return proved ? "until a proved decision" : "until a heuristic decision";
}

const shareName = (arms) => (arms.some(({ available }) => known(available)) ? "Share while available" : "Share");

function line(arm, family, status) {
  const cells = [named(arm, status), count(arm.assigned), count(arm.observed), count(arm.pending)];
  cells.push(mean(arm.average ?? arm.mean, family));
  cells.push(known(arm.mean) ? interval(arm.interval, family) : "–", percent(shareOf(arm), 2), percent(arm.floor, 2));
  return row(LABELS.map((label) => (label === "Share" ? shareName(status.arms) : label)), cells, [1, 2, 3, 4, 6, 7]);
}

/** The label of an arm with its place in the race. */
function named({ arm, candidate }, status) {
  const { recommendation: best, decided, stopped, proved, control, switched_off: off } = status;
  const answer = () => (proved ? badge("answer", "good") : badge("answer, not proved", "warn"));
  const marks = arm === control ? [badge("control")] : [];
  if (off.some(({ arm: name }) => name === arm)) marks.push(badge("switched off", "warn"));
  else if (arm === best) marks.push(decided ? answer() : stopped ? badge("best guess", "warn") : badge("ahead"));
  else if (candidate === false) marks.push(badge("excluded", "faint"));
  else if (candidate === true) marks.push(badge(decided ? "not excluded" : "in the race", decided ? "faint" : ""));
  return make("span", { className: "named" }, arm, ...marks);
}

function tell(mode) {
  say(find("live"), MODES[mode]);
  find("live").classList.toggle("on", mode === "live" || mode === "polling");
}

// --- closing

async function permit() {
  const { role } = await frame();
  offered(shown, role);
  find("close").setAttribute("aria-disabled", String(role !== "admin" || shown.stopped));
  if (role !== "admin") say(find("close-note"), `Closing needs a key with role admin; yours has role ${role}.`);
  else if (shown.stopped) say(find("close-note"), "This experiment has ended.");
}

function ask() {
  if (find("close").getAttribute("aria-disabled") === "true") return;
  const { name, trials, decided, recommendation: best } = shown;
  const leader = best === null ? "" : ` (“${best}” is best so far)`;
  const answer = decided ? `The answer is “${best}”.` : `There is no answer yet${leader}.`;
  say(find("confirm-text"), `“${name}” will end after ${plural(trials, "trial")}. ${answer} This cannot be undone.`);
  find("confirm").returnValue = "";
  find("confirm").showModal();
}

async function close() {
  if (find("confirm").returnValue !== "yes") return;
  try {
    await post(`${at}/close`);
    show(await get(at));
  } catch (error) {
    complain(find("problem"), reason(error));
  }
}

interventions(at, { status: () => shown, show });
find("close").addEventListener("click", ask);
find("confirm").addEventListener("close", close);
find("report").href = `${at}/report`;
for (const form of ["csv", "ndjson", "parquet"]) find(form).href = `${at}/events?format=${form}`;
find("audit").href = `/experiments/${id}/audit`;
frame();
setInterval(() => shown && time(shown), MINUTE);
follow(id, { show, tell, fail: (error) => complain(find("problem"), reason(error)), gone: () => missing(id) });
