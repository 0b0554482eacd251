// Code to paste: for an experiment that has started, and to create one.

import { make } from "./dom.js";
import { period } from "./format.js";

const IMPORT = (origin) => `from fairbai.client import Client

client = Client(${JSON.stringify(origin)}, key="fb_...")  # a writer key
`;

const told = {
  Python: (origin, id) => `${IMPORT(origin)}

def visit(visitor: str) -> None:
    for ticket in client.ask("${id}", serve_winner=True, unit=visitor):  # none: show your default
        reward = show(ticket.arm)  # your code: the reward of the trial
        if ticket.reason == "assigned":  # a visitor is one trial
            client.tell("${id}", {ticket.ticket: reward})
`,
  curl: (origin, id) => `export KEY=fb_...  # a writer key
curl ${origin}/v1/experiments/${id}/ask \\
  -H "Authorization: Bearer $KEY" -d '{"unit": "visitor-7", "serve_winner": true}'
# {"tickets": [{"ticket": "0-Qm8c0V2yLtA", "arm": "..."}], ..., "reason": "assigned"}
curl ${origin}/v1/experiments/${id}/tell \\
  -H "Authorization: Bearer $KEY" -d '{"rewards": [{"ticket": "0-Qm8c0V2yLtA", "reward": 1.0}]}'
`,
  JavaScript: (origin, id) => `${CALL(origin, id)}
async function visit(visitor) {
  const { tickets, reason } = await call("/ask", { unit: visitor, serve_winner: true });
  for (const { ticket, arm } of tickets) { // none: show your default
    const reward = await show(arm); // your code: the reward of the trial
    if (reason === "assigned") await call("/tell", { rewards: [{ ticket, reward }] }); // a visitor is one trial
  }
}
`,
};

/** With a window: what a visitor earns within it. */
const earned = {
  Python: (origin, id) => `${IMPORT(origin)}

def visit(visitor: str) -> None:
    for ticket in client.ask("${id}", serve_winner=True, unit=visitor):  # none: show your default
        show(ticket.arm)  # your code


def bought(visitor: str, value: float, order: str) -> None:
    client.reward("${id}", visitor, value, event_id=order)
`,
  curl: (origin, id) => `export KEY=fb_...  # a writer key
curl ${origin}/v1/experiments/${id}/ask \\
  -H "Authorization: Bearer $KEY" -d '{"unit": "visitor-7", "serve_winner": true}'
# {"tickets": [{"ticket": "0-Qm8c0V2yLtA", "arm": "..."}], ..., "reason": "assigned"}
curl ${origin}/v1/experiments/${id}/rewards \\
  -H "Authorization: Bearer $KEY" -d '{"unit": "visitor-7", "value": 1.0, "event_id": "order-4711"}'
`,
  JavaScript: (origin, id) => `${CALL(origin, id)}
async function visit(visitor) {
  const { tickets } = await call("/ask", { unit: visitor, serve_winner: true });
  for (const { arm } of tickets) await show(arm); // your code; none: show your default
}

async function bought(visitor, value, order) {
  await call("/rewards", { unit: visitor, value, event_id: order });
}
`,
};

const CALL = (origin, id) => `// on your server, not in the browser: the key is a secret
const at = "${origin}/v1/experiments/${id}";
const headers = { Authorization: "Bearer " + process.env.KEY };

async function call(path, body) {
  const response = await fetch(at + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error((await response.json()).detail);
  return response.json();
}
`;

const UNIT = "The unit is the visitor, by any id that stays the same: who comes back sees the same variant, and is one trial.";

/** Fills an element with the code for an experiment in three languages; `window` is its `report_after`, if it has one. */
export function snippets(element, id, window) {
  const open = window ?? null;
  const note = open === null ? "" : ` What a visitor earns counts when the window of ${period(open)} is over.`;
  fill(element, open === null ? told : earned, (code) => code(location.origin, id));
  element.prepend(make("p", { className: "note" }, UNIT + note));
}

const CREATIONS = {
  Python: (origin, { name, arms, delta, ...options }) => `from fairbai.client import Client

client = Client(${JSON.stringify(origin)}, key="fb_...")  # an admin key
experiment = client.create(
    ${literal(name)},
    ${literal(arms ?? null)},
    delta=${delta},
${Object.entries(options)
  .map(([option, value]) => `    ${option}=${literal(value)},\n`)
  .join("")})
`,
  curl: (origin, body) => `export KEY=fb_...  # an admin key
curl ${origin}/v1/experiments \\
  -H "Authorization: Bearer $KEY" -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'
`,
};

/** Fills an element with the code that creates an experiment: its body, without what is null. */
export function creation(element, body) {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  fill(element, CREATIONS, (code) => code(location.origin, given));
}

/** A JSON value as Python writes it. */
function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}: ${literal(part)}`).join(", ")}}`;
}

function fill(element, languages, made) {
  const parts = Object.entries(languages).map(([language, code]) => {
    const text = made(code);
    return make(
      "details",
      { name: element.id, open: language === "Python" },
      make("summary", {}, language),
      make("div", { className: "code" }, make("pre", { tabIndex: 0 }, make("code", {}, text)), copier(language, text)),
    );
  });
  element.replaceChildren(...parts);
}

function copier(language, text) {
  const button = make("button", { type: "button", "aria-label": `Copy the code for ${language}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text, button)) ? "Copied" : "Selected";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return button;
}

/** The clipboard needs https or localhost; elsewhere the code is selected instead. */
async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(button.parentElement.querySelector("code"));
    return false;
  }
}
