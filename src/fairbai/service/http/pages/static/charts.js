// Charts: the figures come from the service, their colours from the style sheet.

import { say } from "./dom.js";

const PALETTE = {
  "#000000": "--chart-ink",
  "#999999": "--chart-grey",
  "#E69F00": "--chart-orange",
  "#56B4E9": "--chart-sky",
  "#009E73": "--chart-green",
  "#0072B2": "--chart-blue",
  "#D55E00": "--chart-vermillion",
  "#CC79A7": "--chart-purple",
};
const CONFIG = { responsive: true, displayModeBar: false, doubleClick: false };
const drawn = new Map(); // elements and their figures, to redraw when the colour scheme changes

let loading = null;

/** Loads plotly.js once. It is large, so pages show everything else first. */
function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: "/static/plotly.min.js" });
    script.onload = () => {
      delete document.createElement;
      resolve(window.Plotly);
    };
    script.onerror = () => reject(new Error("plotly.js did not load"));
    document.head.append(script);
    withoutStyles();
  });
  return loading;
}

/** While loading, plotly.js adds a style element for its maps. We have no maps, and the content security policy refuses
    such styles, so it gets an inert element instead. */
function withoutStyles() {
  const create = document.createElement.bind(document);
  document.createElement = (tag, ...rest) => create(tag === "style" ? "template" : tag, ...rest);
}

/** Draws a figure into an element, or updates it. */
export async function draw(element, figure) {
  if (isEmpty(figure)) return erase(element, "No data yet.");
  drawn.set(element, figure);
  const { react } = await plotly();
  if (drawn.get(element) !== figure) return; // a newer one has arrived
  if (!element.classList.contains("drawn")) element.replaceChildren();
  element.classList.add("drawn");
  await react(element, ...themed(figure), CONFIG);
}

/** Removes the chart from an element, and says why. */
export function erase(element, text) {
  if (drawn.delete(element)) window.Plotly?.purge(element);
  element.classList.remove("drawn");
  say(element, text);
}

function themed({ data, layout }) {
  const styles = getComputedStyle(document.documentElement);
  const variable = (name) => styles.getPropertyValue(name).trim();
  const [ink, line] = [variable("--ink"), variable("--line")];
  const axis = { automargin: true, fixedrange: true, exponentformat: "none", separatethousands: true };
  Object.assign(axis, { gridcolor: variable("--chart-grid"), zerolinecolor: line, linecolor: line });
  const base = {
    autosize: true,
    margin: { l: 8, r: 12, t: 8, b: 8 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: variable("--muted") },
    hoverlabel: { bgcolor: variable("--surface"), bordercolor: variable("--control"), font: { color: ink } },
    legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom" },
    dragmode: false, // so that a swipe scrolls the page
  };
  const coloured = recolour(layout, variable);
  const axes = Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name));
  for (const name of new Set(["xaxis", "yaxis", ...axes])) {
    const { title = {}, ...rest } = coloured[name] ?? {};
    coloured[name] = { ...axis, showgrid: rest.type !== "category", ...rest, title: { font: { size: 13 }, ...title } };
  }
  return [recolour(data, variable), { ...base, ...coloured }];
}

/** Without any point plotly.js would invent axis ranges. */
const isEmpty = ({ data }) => data.every(({ y }) => !y?.some((value) => value !== null));

/** A copy with the colours of the palette replaced by those of the style sheet. */
function recolour(value, variable) {
  if (Array.isArray(value)) return value.map((item) => recolour(item, variable));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, recolour(item, variable)]));
  }
  return typeof value === "string" && value in PALETTE ? variable(PALETTE[value]) : value;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [element, figure] of drawn) draw(element, figure);
});
