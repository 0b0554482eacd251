// Elements of the page. Text from users or the server is always set as text, never as HTML.

export const find = (id) => document.getElementById(id);

/** A new element. Names with a dash, `role`, `for` and `scope` become attributes; all others, properties. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name.includes("-") || name === "role" || name === "for" || name === "scope") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Sets the text of an element if it differs, because screen readers announce every change. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows an error in an element, or hides the element if there is none. */
export function complain(element, text) {
  element.hidden = !text;
  say(element, text ?? "");
}

export const badge = (text, kind = "") => make("span", { className: `badge ${kind}`.trim() }, text);

/** A table row; its first cell is its header. Cells are text or elements. */
export function row(labels, cells, numbers = []) {
  const made = cells.map((cell, index) =>
    make(
      index === 0 ? "th" : "td",
      {
        scope: index === 0 ? "row" : null,
        role: index === 0 ? "rowheader" : "cell",
        className: numbers.includes(index) ? "number" : "",
        "data-label": labels[index],
      },
      cell,
    ),
  );
  return make("tr", { role: "row" }, ...made);
}

/** Fills a definition list with pairs of names and values. */
export function facts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

/** Calls `work` with the newest argument, one call at a time; a newer argument replaces one that waits. */
export function latest(work) {
  let busy = false;
  let waiting = null;
  return async function next(argument) {
    waiting = { argument };
    if (busy) return;
    busy = true;
    while (waiting) {
      const { argument: newest } = waiting;
      waiting = null;
      await work(newest);
    }
    busy = false;
  };
}
