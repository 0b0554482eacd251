// Code to paste: for an experiment that has started, and to create one.

import { make } from "./dom.js";

const python = (origin, id) => `from fairbai.client import Client

client = Client(${JSON.stringify(origin)}, key="fb_...")  # a writer key


def visit() -> None:
    (ticket,) = client.ask("${id}", serve_winner=True)
    reward = show(ticket.arm)  # your code: the reward of the trial
    client.tell("${id}", {ticket.ticket: reward})
`;

const curl = (origin, id) => `export KEY=fb_...  # a writer key
curl ${origin}/v1/experiments/${id}/ask \\
  -H "Authorization: Bearer $KEY" -d '{"n": 1, "serve_winner": true}'
# {"tickets": [{"ticket": "0-Qm8c0V2yLtA", "arm": "..."}], ...}
curl ${origin}/v1/experiments/${id}/tell \\
  -H "Authorization: Bearer $KEY" -d '{"rewards": [{"ticket": "0-Qm8c0V2yLtA", "reward": 1.0}]}'
`;

const javascript = (origin, id) => `// on your server, not in the browser: the key is a secret
const at = "${origin}/v1/experiments/${id}";
const headers = { Authorization: "Bearer " + process.env.KEY };

async function call(path, body) {
  const response = await fetch(at + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error((await response.json()).detail);
  return response.json();
}

async function visit() {
  const { tickets: [{ ticket, arm }] } = await call("/ask", { n: 1, serve_winner: true });
  const reward = await show(arm); // your code: the reward of the trial
  await call("/tell", { rewards: [{ ticket, reward }] });
}
`;

const LANGUAGES = { Python: python, curl, JavaScript: javascript };

/** Fills an element with the code for an experiment in three languages. */
export function snippets(element, id) {
  fill(element, LANGUAGES, (code) => code(location.origin, id));
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
