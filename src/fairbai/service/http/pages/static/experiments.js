// The list of experiments, which follows its filters and refreshes every few seconds.

import { get, reason } from "./api.js";
import { badge, complain, find, latest, make, row, say } from "./dom.js";
import { age, count, moment, NONE, percent, plural, state } from "./format.js";
import { frame } from "./frame.js";

const LABELS = ["Name", "State", "Arms", "Trials", "Best arm", "Progress", "Floors", "Started"];
const PAGE = 100;
const AGAIN = 5000; // ms

let limit = PAGE;

const load = latest(async () => {
  try {
    const { experiments, next } = await get(`/v1/experiments?${query()}`);
    complain(find("problem"), null);
    show(experiments, next);
  } catch (error) {
    complain(find("problem"), reason(error));
  }
});

function query() {
  const [sort, descending] = find("sort").value.split(" ");
  const asked = new URLSearchParams({ sort, descending, limit });
  for (const name of ["state", "search"]) if (find(name).value.trim()) asked.set(name, find(name).value.trim());
  return asked;
}

function show(experiments, next) {
  const filtered = find("state").value || find("search").value.trim();
  const none = experiments.length === 0;
  find("welcome").hidden = !none || Boolean(filtered);
  find("list").hidden = none && !filtered;
  find("more").hidden = next === null || limit >= 1000;
  const shown = `${next ? "First " : ""}${plural(experiments.length, "experiment")}`;
  say(find("caption"), none ? "No experiments match." : shown);
  const focused = document.activeElement?.closest?.("#rows a")?.href;
  find("rows").replaceChildren(...experiments.map(line));
  if (focused) [...document.querySelectorAll("#rows a")].find((link) => link.href === focused)?.focus();
}

function line(experiment) {
  const { id, name, arms, trials, progress, floors_kept: kept, created_at: created } = experiment;
  const link = make("a", { href: `/experiments/${id}` }, name);
  const started = make("time", { dateTime: created, title: moment(created) }, age(created));
  const cells = [link, badge(...state(experiment)), count(arms), count(trials), best(experiment)];
  return row(LABELS, [...cells, meter(name, progress), floors(kept), started], [2, 3]);
}

/** The answer once there is one, and who leads before; an experiment that was closed without one has none. */
function best({ decided, closed, recommendation }) {
  if (recommendation === null) return NONE;
  if (decided) return make("strong", { className: "words" }, recommendation);
  return make("span", { className: "words hint" }, `${recommendation} (${closed ? "was ahead" : "so far"})`);
}

/** Some rules guarantee floors only at the end, so there is nothing to say before. */
function floors(kept) {
  if (kept === null) return badge("checked at the end");
  return kept ? badge("met", "good") : badge("violated", "bad");
}

function meter(name, progress) {
  const bar = make("progress", { max: 1, value: progress ?? 0, "aria-label": `Progress of ${name}` });
  return make("div", { className: "meter" }, bar, make("span", {}, progress === null ? NONE : percent(progress, 0)));
}

/** The filters are part of the address, so a list can be shared. */
function remember() {
  const kept = query();
  kept.delete("limit");
  history.replaceState(null, "", `?${kept}`);
}

function recall() {
  const asked = new URLSearchParams(location.search);
  for (const name of ["state", "search"]) if (asked.has(name)) find(name).value = asked.get(name);
  const sort = `${asked.get("sort")} ${asked.get("descending")}`;
  if ([...find("sort").options].some((option) => option.value === sort)) find("sort").value = sort;
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
  limit = PAGE;
  remember();
  load();
});
find("more").addEventListener("click", () => {
  limit = Math.min(1000, limit + PAGE);
  load();
});
setInterval(() => document.visibilityState === "visible" && load(), AGAIN);
