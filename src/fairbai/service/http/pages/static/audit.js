// The audit: what was promised, what was delivered at every point in time, and whether the log replays.

import { get, Problem, reason, signIn } from "./api.js";
import { badge, complain, facts, find, make, row, say } from "./dom.js";
import { age, count, decimal, known, moment, NONE, percent, period, plural, shareOf, state, surely, together } from "./format.js";
import { frame, missing } from "./frame.js";

const id = location.pathname.split("/")[2];
const at = `/v1/experiments/${id}`;
const NAMES = {
  family: "Rewards",
  floors: "Shares",
  sampling: "Sampling rule",
  stopping: "Stopping rule",
  settle: "Continue until floors are met",
  seed: "Seed",
  lease: "Ticket lease",
  report_after: "Rewards count at the age of",
  silence: "Silence counts as",
  cycle: "Decides at the end of every",
  min_duration: "Decides not before",
  tolerance: "Tolerance",
  goal: "Goal",
  control: "Control",
  max_trials: "Trials at most",
  deadline: "Deadline",
  flag: "Flag",
  values: "Values of the arms",
  bulk: "Assigned when all flags are evaluated",
  sample_ratio: "Sample-ratio check, level",
};
const GOALS = { max: "higher is better", min: "lower is better" };
const ENDS = { closed: "closed by hand", deadline: "stopped at the deadline", max_trials: "all trials were used" };
const KINDS = { true: "good", false: "bad", null: "" };
const COLUMNS = {
  Arm: ({ arm, arms }) => arm ?? arms.join(" and "),
  Trials: ({ assigned }) => count(assigned),
  Share: (arm) => percent(shareOf(arm), 2),
  Floor: ({ floor }) => percent(floor, 2),
  "Largest deficit (trials)": ({ behind }) => decimal(behind, 3),
  "Allowed deficit (trials)": ({ behind_allowed: allowed }) => decimal(allowed, 3),
  "Missing now (trials)": ({ missing }) => decimal(missing, 3),
};
const CEILINGS = {
  Ceiling: ({ ceiling }) => (ceiling < 1 ? percent(ceiling, 2) : NONE),
  "Largest excess (trials)": ({ above }) => decimal(above, 3),
  "Allowed excess (trials)": ({ above_allowed: allowed }) => decimal(allowed, 3),
};

function show(audit) {
  document.title = `Audit of ${audit.name} · fairbai`;
  say(find("name"), `Audit of ${audit.name}`);
  const decided = audit.decided_after !== null;
  const [stopped, closed] = [decided || audit.state === "stopped", audit.state === "closed"];
  find("state").replaceChildren(badge(...state({ ...audit, decided, stopped, closed, proved: audit.promise.proved })));
  tell(find("verdict"), audit.verdict, KINDS[audit.kept]);
  find("verdict").classList.add("sentence");
  list(find("promised"), audit.promise.sentences);
  list(find("found"), audit.findings);
  table(audit);
  facts(find("settings"), settings(audit));
  if (audit.replay) conclude(audit.replay, ` (${age(audit.replay.at)})`);
}

const list = (element, sentences) => element.replaceChildren(...sentences.map((sentence) => make("li", {}, together(sentence))));

function table({ arms, groups }) {
  const limited = [...arms, ...groups].some(({ ceiling }) => ceiling < 1);
  const columns = Object.entries(limited ? { ...COLUMNS, ...CEILINGS } : COLUMNS);
  const labels = columns.map(([label]) => label);
  const numbers = labels.map((_, index) => index).slice(1);
  const head = (label, index) =>
    make("th", { role: "columnheader", scope: "col", className: index ? "number" : "" }, label);
  find("head").replaceChildren(...labels.map(head));
  const cells = (arm) => columns.map(([, value]) => value(arm));
  find("arms").replaceChildren(...[...arms, ...groups].map((arm) => row(labels, cells(arm), numbers)));
}

function settings(audit) {
  const { delta, ...rest } = audit.settings;
  const undecided = audit.decided_after === null;
  const ended = undecided && ["closed", "stopped"].includes(audit.state);
  const over = ended ? `no, ${ENDS[audit.ended_by]}` : "not yet";
  const doubted = audit.doubts.some(({ after_decision: late }) => !late);
  const why = audit.promise.proved ? "proved under the conditions of what was promised" : doubted ? "the aim; in doubt" : "a heuristic aim, not proved";
  const aim = `at most ${percent(delta, 3)} (${why})`;
  const first = [
    ["Started", moment(audit.created_at)],
    ["Trials", `${count(audit.trials)} (${count(audit.observed)} with a reward)`],
    ["Decided", undecided ? over : `after ${plural(audit.decided_after, "trial")}`],
    ["Question", audit.question],
    [undecided ? (ended ? "Best guess" : "Best so far") : "Answer", audit.recommendation ?? "none"],
    ["Confidence", surely(audit.confidence)],
    [undecided ? "Still in the race" : "Not excluded", several(audit.candidates)],
    ["Error probability", ended ? `no decision (the aim was ${percent(delta, 3)})` : aim],
  ];
  const others = Object.entries(rest).map(([name, value]) => [NAMES[name] ?? name, setting(name, value)]);
  return [...first, ...others, ["Version", `fairbai ${audit.library}`]];
}

/** Some labels, and how many more. */
function several(labels) {
  if (labels === null) return "unknown";
  const more = labels.length > 5 ? ` and ${labels.length - 5} more` : "";
  return labels.slice(0, 5).join(", ") + more;
}

function setting(name, value) {
  if (name === "goal") return GOALS[value];
  if (name === "deadline") return moment(value);
  if (["lease", "report_after"].includes(name) && value !== null) return period(value);
  if (name === "values") return Object.entries(value).map(([arm, one]) => `${arm}: ${JSON.stringify(one)}`).join("; ");
  return name === "max_trials" ? count(value) : described(value);
}

/** A setting as text: the kind of rule and its parameters. */
function described(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === null || typeof value !== "object") return String(value ?? "none");
  const { kind, ...rest } = value;
  const given = Object.entries(rest).filter(([, part]) => kind !== "bounded" || part !== null); // a guess for plans
  const set = given.map(([name, part]) => `${name.replaceAll("_", " ")} ${parameter(name, part)}`);
  return [kind?.replaceAll("_", " "), ...set].filter(Boolean).join(", ");
}

function parameter(name, value) {
  if (value === null) return name === "variance" ? "unknown" : "none";
  return ["floor", "ceiling"].includes(name) && known(value) ? percent(value, 2) : JSON.stringify(value);
}

// --- the replay

async function replay() {
  find("replay").disabled = true;
  find("progress").hidden = false;
  tell(find("replayed"), "Replaying…", "");
  try {
    for await (const line of lines(`${at}/audit/replay`)) {
      if (line.failed) throw new Problem(500, { detail: "The replay failed; the log of the service says why." });
      find("progress").value = line.of ? line.checked / line.of : 1;
      if (line.done) conclude(line);
    }
  } catch (error) {
    tell(find("replayed"), reason(error), "bad");
  }
  find("replay").disabled = false;
  find("progress").hidden = true;
}

function conclude({ checked, differences, earlier, seconds }, when = "") {
  const what = `${plural(checked, "event")} in ${decimal(seconds, 2)} seconds${when}`;
  const note = earlier ? " An earlier version created the experiment: only counts, sums and tickets were compared." : "";
  if (differences.length === 0) tell(find("replayed"), `The replay matches the stored state: ${what}.${note}`, "good");
  else tell(find("replayed"), `The replay differs from the stored state (${what}): ${differences.join("; ")}`, "bad");
}

function tell(element, text, kind) {
  complain(element, text);
  element.className = `message ${kind}`.trim();
}

/** The JSON lines of a streamed response. */
async function* lines(path) {
  const response = await fetch(path, { cache: "no-store" });
  if (response.status === 401) await signIn();
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => null));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const parts = (rest + part.value).split("\n");
    rest = parts.pop();
    yield* parts.filter(Boolean).map((text) => JSON.parse(text));
  }
}

find("back").href = `/experiments/${id}`;
find("replay").addEventListener("click", replay);
frame();
get(`${at}/audit`).then(show, (error) => {
  if (error instanceof Problem && error.status === 404) return missing(id);
  find("verdict").hidden = true;
  complain(find("problem"), reason(error));
});
