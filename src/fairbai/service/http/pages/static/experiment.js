// One experiment, running or finished.

import { get, post, reason } from "./api.js";
import { draw } from "./charts.js";
import { badge, complain, find, latest, row, say } from "./dom.js";
import { about, age, count, decimal, interval, known, mean, moment, percent, plural, state } from "./format.js";
import { frame, missing } from "./frame.js";
import { follow } from "./live.js";
import { snippets } from "./snippets.js";

const id = location.pathname.split("/")[2];
const at = `/v1/experiments/${id}`;
const CHARTS = { shares: "shares", means: "means", averages: "averages", evidence: "evidence", trials: "trials-chart" };
const LABELS = ["Arm", "Trials", "Rewards", "Pending", "Mean", "Interval", "Share", "Floor"];
const MODES = {
  live: "Live",
  polling: "Live, updated every few seconds",
  lost: "Reconnecting…",
  over: "Finished",
};
const PAUSE = 1500; // ms between two refreshes

let shown = null; // the newest status

/** The sentence and the charts cost more than the status, so there is a pause after each refresh. */
const refresh = latest(async () => {
  try {
    const [{ sentence }, { figures }] = await Promise.all([get(`${at}/summary`), get(`${at}/figures`)]);
    say(find("sentence"), sentence);
    if (shown.decided || shown.closed) say(find("announced"), sentence); // screen readers need not hear every step
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
  find("sentence").classList.toggle("good", status.decided && !doubted(status));
  complain(find("doubts"), remarks(status));
  tiles(status);
  const family = status.config.family.kind;
  say(find("mean-head"), "estimand" in status ? "Average" : "Mean");
  find("arms").replaceChildren(...status.arms.map((arm) => line(arm, family)));
  permit();
  refresh();
}

function tiles(status) {
  const { trials, observed, pending, held, late, expired, glr, threshold, created_at: created } = status;
  say(find("trials"), count(trials));
  say(find("started"), `started ${age(created)}`);
  find("started").title = moment(created);
  say(find("evidence-now"), decimal(glr, 3));
  say(find("threshold"), known(threshold) ? needed(status) : "waiting for first rewards");
  say(find("to-go"), status.stopped ? "0" : about(status.expected_trials_to_go));
  say(find("stop"), ending(status));
  say(find("pending"), count(pending));
  say(find("observed"), held ? `${count(observed)} counted, ${count(held)} held` : `${count(observed)} received`);
  say(find("late"), count(late));
  say(find("expired"), `${count(expired)} expired`);
}

/** Rewards that come after a close may still raise the evidence above the threshold: too late. */
function needed({ threshold, decided, stopped }) {
  return `of ${decimal(threshold, 3)} needed${stopped && !decided ? " before it was closed" : ""}`;
}

/** Whether the rewards contradict the declared family, and did so by the time of the decision. */
const doubted = ({ doubts }) => doubts.some(({ after_decision: late }) => !late);

/** What speaks against the declared family, and what would suit the rewards better; null if there is nothing. */
function remarks({ doubts, hints }) {
  const when = ({ trial, after_decision: late }) => (late ? "after the decision" : `after ${plural(trial, "trial")}`);
  const found = doubts.map((doubt) => `${doubt.reason} (found ${when(doubt)}).`);
  const then = doubts.length ? ["For such rewards neither an answer nor the intervals are proved."] : [];
  return [...found.slice(0, 3), ...then, ...hints.map((hint) => `${hint}.`)].join(" ") || null;
}

function ending(status) {
  const { decided, stopped, proved } = status;
  if (stopped && !decided) return "closed without a decision";
  if (doubted(status)) return decided ? "decision in doubt" : "until a decision, now in doubt";
  if (decided) return proved ? "proved decision" : "heuristic decision";
  return proved ? "until a proved decision" : "until a heuristic decision";
}

function line(arm, family) {
  const cells = [arm.arm, count(arm.assigned), count(arm.observed), count(arm.pending)];
  cells.push(mean(arm.average ?? arm.mean, family));
  cells.push(known(arm.mean) ? interval(arm.interval, family) : "–", percent(arm.share, 2), percent(arm.floor, 2));
  return row(LABELS, cells, [1, 2, 3, 4, 6, 7]);
}

function tell(mode) {
  say(find("live"), MODES[mode]);
  find("live").classList.toggle("on", mode === "live" || mode === "polling");
}

// --- closing

async function permit() {
  const { role } = await frame();
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

find("close").addEventListener("click", ask);
find("confirm").addEventListener("close", close);
find("report").href = `${at}/report`;
for (const form of ["csv", "ndjson", "parquet"]) find(form).href = `${at}/events?format=${form}`;
find("audit").href = `/experiments/${id}/audit`;
snippets(find("code"), id);
frame();
follow(id, { show, tell, fail: (error) => complain(find("problem"), reason(error)), gone: () => missing(id) });
