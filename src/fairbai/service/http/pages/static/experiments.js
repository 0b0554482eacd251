// The list of experiments, which follows its filters and refreshes every few seconds.

import { get, Problem, reason } from "./api.js";
import { badge, complain, find, latest, make, row, say } from "./dom.js";
import { age, count, known, moment, NONE, percent, plural, state, surely } from "./format.js";
import { frame } from "./frame.js";

const LABELS = ["Name", "State", "Best arm", "Evidence", "Trials", "Floors"];
const NOTE =
  "Evidence is in percent of what a decision needs. How sure an arm is holds under the conditions in the audit of its experiment.";
const PAGE = 50;
const AGAIN = 5000; // ms
const LONGER = 20; // a list that takes long to find is asked for less often
const OLD = { running: "outcome=open", decided: "outcome=decided", stopped: "outcome=undecided" }; // in older addresses

let before = []; // the last experiment of every page before this one
let following = null; // of this page, if there is a next one
let waiting = null;

const load = latest(async () => {
  clearTimeout(waiting);
  const begun = performance.now();
  try {
    const { experiments, next } = await get(`/v1/experiments?${query()}`);
    complain(find("problem"), null);
    show(experiments, next);
  } catch (error) {
    const gone = error instanceof Problem && error.status === 404 && before.length > 0;
    if (gone) return turn([]); // the experiment that this page comes after
    complain(find("problem"), reason(error));
  }
  waiting = setTimeout(again, Math.max(AGAIN, LONGER * (performance.now() - begun)));
});

function again() {
  if (document.visibilityState === "visible") load();
  else waiting = setTimeout(again, AGAIN);
}

/** What is filtered and sorted, which is also what the address remembers. */
function filters() {
  const [sort, descending] = find("sort").value.split(" ");
  const asked = new URLSearchParams(find("state").value);
  asked.set("sort", sort);
  asked.set("descending", descending);
  if (find("search").value.trim()) asked.set("search", find("search").value.trim());
  return asked;
}

function query() {
  const asked = filters();
  asked.set("limit", PAGE);
  if (before.length) asked.set("after", before.at(-1));
  return asked;
}

function show(experiments, next) {
  const filtered = find("state").value || find("search").value.trim();
  const none = experiments.length === 0;
  const first = before.length * PAGE;
  find("welcome").hidden = !none || Boolean(filtered) || first > 0;
  find("list").hidden = !find("welcome").hidden;
  following = next;
  find("turning").hidden = next === null && first === 0;
  find("before").disabled = first === 0;
  find("after").disabled = next === null;
  say(find("where"), none ? "" : `${count(first + 1)} to ${count(first + experiments.length)}`);
  const shown = next === null && first === 0 ? plural(experiments.length, "experiment") : `Page ${before.length + 1}`;
  say(find("caption"), none ? "No experiments match." : `${shown}. ${NOTE}`);
  const focused = document.activeElement?.closest?.("#rows a")?.href;
  find("rows").replaceChildren(...experiments.map(line));
  if (focused) [...document.querySelectorAll("#rows a")].find((link) => link.href === focused)?.focus();
}

function line(experiment) {
  const { id, name, arms, trials, floors_kept: kept, created_at: created } = experiment;
  const link = make("a", { href: `/experiments/${id}` }, name);
  const started = make("time", { dateTime: created, title: moment(created) }, age(created));
  const about = make("span", { className: "hint" }, `${plural(arms, "arm")}, started `, started);
  const named = make("div", { className: "above" }, link, about);
  const standing = badge(...state({ ...experiment, proved: known(experiment.confidence) }));
  const cells = [named, standing, best(experiment), evidence(experiment), count(trials)];
  return row(LABELS, [...cells, floors(kept)], [4]);
}

/** The answer and how sure it is; before, who leads; and the best guess of an experiment that ended without one. */
function best(experiment) {
  const { decided, recommendation } = experiment;
  const ended = experiment.stopped || experiment.closed;
  if (recommendation === null) return make("span", { className: "hint" }, ended ? "no best guess" : "too early");
  const mark = decided ? answer(experiment) : ended ? badge("best guess", "warn") : badge("ahead");
  const arm = make(decided ? "strong" : "span", { className: "words" }, recommendation);
  const sure = make("span", { className: "hint" }, how(experiment, ended));
  return make("div", { className: "above" }, make("span", { className: "named" }, arm, mark), sure);
}

const answer = ({ confidence: sure }) => (known(sure) ? badge("winner", "good") : badge("answer", "warn"));

function how({ decided, confidence: sure }, ended) {
  if (!known(sure)) return decided ? "not proved" : surely(sure);
  const words = surely(sure);
  if (decided) return words;
  return ended ? `no decision, ${words}` : `${words} so far`;
}

/** Some rules guarantee floors only at the end, so there is nothing to say before. */
function floors(kept) {
  if (kept === null) return badge("checked at the end");
  return kept ? badge("met", "good") : badge("violated", "bad");
}

/** The evidence in percent of what a decision needs; after an end without one there is no way to go. */
function evidence({ name, progress, decided, stopped, closed }) {
  if (!known(progress)) {
    const ended = (stopped || closed) && !decided;
    return make("span", { className: "hint" }, ended ? "not enough" : NONE);
  }
  const bar = make("progress", { max: 1, value: progress, "aria-label": `Evidence in ${name}` });
  const part = make("span", {}, percent(progress, 0));
  return make("div", { className: "meter", title: `${percent(progress, 0)} of what a decision needs` }, bar, part);
}

function turn(pages) {
  before = pages;
  load();
}

function recall() {
  const asked = new URLSearchParams(location.search);
  if (asked.has("search")) find("search").value = asked.get("search");
  const { outcome, state: given } = Object.fromEntries(asked);
  choose("state", outcome ? `outcome=${outcome}` : (OLD[given] ?? `state=${given}`));
  choose("sort", `${asked.get("sort")} ${asked.get("descending")}`);
}

/** Chooses an option of a select, if there is such an option. */
function choose(id, value) {
  if ([...find(id).options].some((option) => option.value === value)) find(id).value = value;
}

async function greet() {
  const { demo } = await frame();
  if (!demo) return;
  Object.assign(find("demo"), { href: `/experiments/${demo}`, hidden: false });
  find("demo-hint").hidden = true;
}

recall();
greet();
load();
find("tools").addEventListener("submit", (event) => event.preventDefault());
find("tools").addEventListener("input", () => {
  history.replaceState(null, "", `?${filters()}`);
  turn([]);
});
find("before").addEventListener("click", () => turn(before.slice(0, -1)));
find("after").addEventListener("click", () => following && turn([...before, following]));
