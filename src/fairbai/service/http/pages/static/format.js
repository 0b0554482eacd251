// Numbers, shares and times as people read them.

const NARROW = "\u202f"; // a narrow space that does not break
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const date = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

const UNITS = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

export const NONE = "–";

export const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : NONE);

/** An estimate, rounded to some digits. */
export function about(value, digits = 3) {
  if (!known(value)) return NONE;
  return new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(Math.ceil(value));
}

/** A count with its noun. */
export const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** An estimated number of trials with its noun. */
export const aboutTrials = (value) => `${about(value)} ${about(value) === "1" ? "trial" : "trials"}`;

/** A sentence in which no line breaks between a number and its percent sign. */
export const together = (text) => text.replace(/(\d) %/g, `$1${NARROW}%`);

export function percent(share, digits = 1) {
  if (!known(share)) return NONE;
  const text = new Intl.NumberFormat("en", { maximumFractionDigits: digits }).format(100 * share);
  return `${text === "-0" ? "0" : text}${NARROW}%`; // -0: what rounding has left below 0
}

/** A confidence, rounded down, and never more than 99.9 %. */
export function confidence(value) {
  if (!known(value)) return NONE;
  const tenths = Math.min(999, Math.floor(1000 * value + 1e-9));
  return percent((tenths < 990 ? Math.floor(tenths / 10) * 10 : tenths) / 1000);
}

export function decimal(value, digits = 4) {
  if (!known(value)) return NONE;
  return new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);
}

const SURE_AT_ALL = 0.01; // a confidence below it is not worth a number

/** How sure an answer is, in words: the same in the list and on the page of an experiment. */
export function surely(value) {
  if (!known(value)) return "not known how sure";
  return value < SURE_AT_ALL ? "no more than a guess" : `${confidence(value)} sure`;
}

/** A mean; of yes-or-no rewards it is a share. */
export const mean = (value, family) => (family === "bernoulli" ? percent(value, 2) : decimal(value));

export function interval([low, high], family) {
  const ends = [known(low) ? mean(low, family) : "−∞", known(high) ? mean(high, family) : "∞"];
  return `${ends[0]} to ${ends[1]}`;
}

export function days(value) {
  if (!known(value)) return NONE;
  if (value < 1) return "less than a day";
  const shown = new Intl.NumberFormat("en", { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
  return shown === "1" ? "1 day" : `${shown} days`;
}

const unitOf = (seconds) => UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];

/** How long ago something was. */
export function age(iso) {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const [unit, size] = unitOf(seconds);
  return relative.format(Math.round(seconds / size), unit);
}

/** How much time is left, rounded down: 2 days. */
export function left(iso) {
  const seconds = Math.max(0, (Date.parse(iso) - Date.now()) / 1000);
  const [unit, size] = unitOf(seconds);
  return plural(Math.floor(seconds / size), unit);
}

/** A time in its largest unit, such as 1 day or 90 minutes; durations such as 7d stay as they are. */
export function period(seconds) {
  if (typeof seconds !== "number") return seconds;
  const [unit, size] = UNITS.find(([, length]) => seconds % length === 0) ?? UNITS[3];
  return `${decimal(seconds / size)} ${unit}${seconds === size ? "" : "s"}`;
}

export const moment = (iso) => date.format(new Date(iso));

/** The share of the trials of an arm; of those in which it was available, if some arm was not in all of them. */
export const shareOf = ({ share, assigned, available }) => (known(available) ? assigned / Math.max(1, available) : share);

/** The state of an experiment: a word and the kind of its badge. A decision is proved unless `proved` is false. */
export function state({ decided, stopped, closed, paused, ended_by: ended, proved }) {
  if (decided && proved === false) return [closed ? "Decided, not proved, closed" : "Decided, not proved", "warn"];
  if (closed) return decided ? ["Decided, closed", "good"] : ["Closed without a decision", "warn"];
  if (paused && !ended) return ["Paused", "warn"];
  if (decided) return [stopped ? "Decided" : "Decided, settling", "good"];
  if (stopped) return ["Stopped without a decision", "warn"];
  return [ended ? "Waiting for the last rewards" : "Running", ""];
}
