// The audit: what was promised, what was kept on the whole path, and whether the log replays.

import { get, Problem, reason, signIn } from "./api.js";
import { badge, complain, facts, find, row, say } from "./dom.js";
import { count, decimal, known, moment, NONE, percent, state } from "./format.js";
import { frame } from "./frame.js";

const id = location.pathname.split("/")[2];
const at = `/v1/experiments/${id}`;
const LABELS = ["Arm", "Floor", "Ceiling", "Trials", "Share", "Furthest behind", "Furthest above", "Promise"];
const NUMBERS = [1, 2, 3, 4, 5, 6]; // columns
const WORDS = { true: ["kept", "good"], false: ["broken", "bad"], null: ["judged at the end", ""] };
const VERDICTS = {
  true: "Every promise was kept, on the whole path.",
  false: "A promise was broken: the table says which.",
  null: "The promises of this experiment are judged at its end.",
};

function show(audit) {
  document.title = `Audit of ${audit.name} · fairbai`;
  say(find("name"), `Audit of ${audit.name}`);
  find("state").replaceChildren(badge(...state(audit)));
  say(find("verdict"), `${audit.promise.sentence} ${VERDICTS[audit.kept]}`);
  find("verdict").classList.toggle("good", audit.kept === true);
  find("verdict").classList.toggle("bad", audit.kept === false);
  say(find("allowed"), allowed(audit));
  find("arms").replaceChildren(...audit.arms.map(line), ...audit.groups.map(group));
  facts(find("settings"), settings(audit));
}

function allowed(audit) {
  if (!known(audit.allowed)) return "The rule promises the floors for the end of the experiment.";
  const behind = decimal(audit.allowed, 3);
  return `A trial is one arm's, so shares move in steps: the rule may at times be ${behind} trials behind a floor.`;
}

function line({ arm, floor, ceiling, assigned, share, behind, above, kept }) {
  const limits = [percent(floor, 2), ceiling < 1 ? percent(ceiling, 2) : NONE];
  const seen = [count(assigned), percent(share, 2), decimal(behind, 3), decimal(above, 3)];
  return row(LABELS, [arm, ...limits, ...seen, badge(...WORDS[kept])], NUMBERS);
}

function group({ arms, floor, share, behind, kept }) {
  const cells = [arms.join(" and "), percent(floor, 2), NONE, NONE, percent(share, 2), decimal(behind, 3), NONE];
  return row(LABELS, [...cells, badge(...WORDS[kept])], NUMBERS);
}

function settings(audit) {
  const { delta, ...rest } = audit.config;
  const why = audit.promise.proved ? "proved" : "by a heuristic";
  const first = [
    ["Begun", moment(audit.created_at)],
    ["Trials", count(audit.trials)],
    ["Answer", audit.recommendation ?? "none yet"],
    ["Chance of a wrong answer", `at most ${percent(delta, 3)}, ${why}`],
  ];
  const others = Object.entries(rest).map(([name, value]) => [name, described(value)]);
  return [...first, ...others, ["Version", `fairbai ${audit.library}`]];
}

/** A setting as text: the kind of a rule, and what is set about it. */
function described(value) {
  if (value === null || typeof value !== "object") return String(value);
  const { kind, ...rest } = value;
  const set = Object.entries(rest).map(([name, part]) => `${name} ${JSON.stringify(part)}`);
  return [kind, ...set].filter(Boolean).join(", ");
}

// --- the replay

async function replay() {
  find("replay").disabled = true;
  find("progress").hidden = false;
  tell("Replaying …", "");
  try {
    for await (const { done, checked, of, differences, seconds } of lines(`${at}/audit/replay`)) {
      find("progress").value = of ? checked / of : 1;
      if (done) conclude(checked, differences, seconds);
    }
  } catch (error) {
    tell(reason(error), "bad");
  }
  find("replay").disabled = false;
}

function conclude(checked, differences, seconds) {
  const time = `${count(checked)} events in ${decimal(seconds, 2)} seconds`;
  if (differences.length === 0) tell(`The log gives exactly what is stored: ${time}.`, "good");
  else tell(`The log does not give what is stored (${time}): ${differences.join("; ")}`, "bad");
}

function tell(text, kind) {
  complain(find("replayed"), text);
  find("replayed").className = `message ${kind}`.trim();
}

/** The lines of JSON that an address streams. */
async function* lines(path) {
  const response = await fetch(path, { cache: "no-store" });
  if (response.status === 401) await signIn();
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => null));
  let rest = "";
  for await (const text of chunks(response.body.pipeThrough(new TextDecoderStream()))) {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    yield* parts.filter(Boolean).map((part) => JSON.parse(part));
  }
}

async function* chunks(stream) {
  const reader = stream.getReader(); // not every browser can iterate over a stream
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

find("back").href = `/experiments/${id}`;
find("replay").addEventListener("click", replay);
frame();
get(`${at}/audit`).then(show, (error) => complain(find("problem"), reason(error)));
