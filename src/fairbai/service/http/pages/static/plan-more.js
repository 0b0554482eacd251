// The fields under "More": when rewards count, when it may decide, visitors, and the flag.

import { find } from "./dom.js";

const FLAG = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const value = (name) => (find(name).value === "" ? null : Number(find(name).value));

/** The members of an experiment that the form says; those that it leaves to the service are absent. */
export function more() {
  const [length, silence, enrol, flag] = [value("window"), value("silence"), value("enrol"), find("flag").value.trim()];
  return {
    ...(length === null ? {} : { report_after: length * Number(find("window-unit").value) }),
    ...(silence === null ? {} : { silence }),
    ...(find("cycle").value ? { cycle: find("cycle").value } : {}),
    ...(enrol === null || enrol === 100 ? {} : { enrol: enrol / 100 }),
    ...(find("after-stop").value === "stay" ? {} : { after_stop: find("after-stop").value }),
    ...(find("earnings").value ? { earnings: find("earnings").value } : {}),
    ...(flag ? { flag } : {}),
  };
}

/** Says what happens without a window and without a reward, which depends on whether every ticket counts. */
export function adaptMore(drawn) {
  find("window-hint").textContent = drawn
    ? "Empty: one day. Trials count in the order of assignment, and one without a reward is waited for until then."
    : "Empty: rewards count as soon as they are told.";
  find("silence-hint").textContent = drawn
    ? "Empty: the least possible reward (the largest, if lower is better)."
    : "Empty: it does not count. Otherwise it needs a window.";
}

/** What is wrong with these fields, as a sentence, or null; `drawn` is whether there is a window in any case. */
export function wrongMore(drawn) {
  const { report_after: length, silence, earnings, flag } = more();
  const enrol = value("enrol");
  if (length !== undefined && !(length > 0)) return "The window must be longer than 0.";
  if (silence !== undefined && length === undefined && !drawn) return "What a trial without a reward counts as needs a window.";
  if (earnings !== undefined && length === undefined && !drawn) return "What a visitor earns several times needs a window.";
  if (enrol !== null && !(enrol > 0 && enrol <= 100)) return "The share of the visitors must be above 0 and at most 100 %.";
  if (flag !== undefined && !FLAG.test(flag)) {
    return "The flag must be letters, digits and . _ -, at most 100, beginning with a letter or a digit.";
  }
  return null;
}
