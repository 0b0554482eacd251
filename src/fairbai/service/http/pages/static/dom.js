// Elements of the page. Text that comes from people or from the server is always set as text, never as HTML.

export const find = (id) => document.getElementById(id);

/** A new element. Properties are set by name; those that have a dash, `role` and `for` are attributes. */
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

/** Sets the text of an element, if it is another one: screen readers announce what is set. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows what went wrong in an element, or hides the element. */
export function complain(element, text) {
  element.hidden = !text;
  say(element, text ?? "");
}

export const badge = (text, kind = "") => make("span", { className: `badge ${kind}`.trim() }, text);

/** A row of a table: the first cell is its header. Cells are text, numbers as text, or elements. */
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

/** Pairs of a list of facts. */
export function facts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

/** Calls `work` with the newest argument, one call at a time: what comes meanwhile replaces what waits. */
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
