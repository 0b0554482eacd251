// Interventions on the page of an experiment: pause and resume, switch an arm off, void rewards, delete.

import { get, post, reason, remove } from "./api.js";
import { complain, find, make, say } from "./dom.js";
import { plural } from "./format.js";

/** Asks for confirmation; resolves to whether it was given. */
function sure(title, text, yes) {
  const dialog = find("sure");
  say(find("sure-title"), title);
  say(find("sure-text"), text);
  say(find("sure-yes"), yes);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    function closed() {
      if (dialog.open) return; // the event of an earlier question, which came late
      dialog.removeEventListener("close", closed);
      resolve(dialog.returnValue === "yes");
    }
    dialog.addEventListener("close", closed);
  });
}

/** Shows what somebody with this role can do to an experiment in this state. */
export function offered(status, role) {
  const { arms, paused, stopped, ended_by: ended, switched_off: off } = status;
  find("intervene").hidden = role !== "admin";
  find("pausing").hidden = ended !== null || stopped;
  say(find("pause"), paused ? "Resume" : "Pause");
  const given = paused ? "Paused: no tickets are given out." : "While it is paused, no tickets are given out.";
  say(find("pause-note"), `${given} Rewards are still counted.`);
  const names = arms.map(({ arm }) => arm).filter((name) => !off.some(({ arm }) => arm === name));
  find("switch-off").hidden = ended !== null || stopped || names.length < 3;
  const chosen = find("off-arm").value;
  if (names.join("\n") !== [...find("off-arm").options].map(({ value }) => value).join("\n")) {
    find("off-arm").replaceChildren(...names.map((name) => make("option", { value: name }, name)));
    if (names.includes(chosen)) find("off-arm").value = chosen;
  }
  find("void").hidden = status.observed + status.held === 0;
}

/** Makes the buttons work. `status` returns the newest status, and `show` shows another. */
export function interventions(at, { status, show }) {
  async function attempt(work) {
    try {
      await work();
      show(await get(at));
      complain(find("problem"), null);
    } catch (error) {
      complain(find("problem"), reason(error));
    }
  }

  find("pause").addEventListener("click", async () => {
    const { name, paused } = status();
    if (paused) return attempt(() => post(`${at}/resume`));
    const text = `“${name}” will give out no tickets until you resume it. Rewards are still counted.`;
    if (await sure("Pause this experiment?", text, "Pause")) await attempt(() => post(`${at}/pause`));
  });

  find("switch-off").addEventListener("submit", async (event) => {
    event.preventDefault();
    const [arm, why] = [find("off-arm").value, find("off-reason").value.trim()];
    const text = `“${arm}” will get no further tickets, and the answer will be one of the others. This cannot be undone.`;
    if (!why || !(await sure("Switch this arm off?", text, "Switch off"))) return;
    await attempt(() => post(`${at}/switch-off`, { arm, reason: why }));
    find("off-reason").value = "";
  });

  find("void").addEventListener("submit", async (event) => {
    event.preventDefault();
    const tickets = find("void-tickets").value.split(/[\s,;]+/).filter(Boolean);
    const why = find("void-reason").value.trim();
    const then = status().decided ? "The decision stands; the audit will say so." : "This cannot be undone.";
    const text = `The ${tickets.length === 1 ? "reward" : "rewards"} of ${plural(tickets.length, "ticket")} will not count. ${then}`;
    if (!why || tickets.length === 0 || !(await sure("Void rewards?", text, "Void"))) return;
    await attempt(() => post(`${at}/void`, { tickets, reason: why }));
    find("void-tickets").value = find("void-reason").value = "";
  });

  find("delete").addEventListener("click", async () => {
    const { name, trials } = status();
    const text = `“${name}” will be deleted with ${plural(trials, "trial")} and its whole log. This cannot be undone.`;
    if (!(await sure("Delete this experiment?", text, "Delete permanently"))) return;
    try {
      await remove(at);
      location.assign("/experiments");
    } catch (error) {
      complain(find("problem"), reason(error));
    }
  });
}
