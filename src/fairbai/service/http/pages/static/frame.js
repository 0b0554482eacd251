// What all pages share: who is signed in, and what to show when the experiment of the address does not exist.

import { session } from "./api.js";
import { find, make, say } from "./dom.js";

const MAY = {
  reader: "can view everything",
  writer: "can also run trials",
  admin: "can also start and close experiments",
};

/** Fills in the frame and returns the session. */
export async function frame() {
  const found = await session();
  say(find("who"), found.name ? `${found.name} (${found.role})` : found.role);
  find("who").title = `A key with role ${found.role} ${MAY[found.role]}.`;
  say(find("version"), `fairbai ${found.version}`);
  return found;
}

/** Replaces the page by one message: there is no such experiment. */
export function missing(id) {
  document.title = "No such experiment · fairbai";
  find("main").replaceChildren(
    make("h1", {}, "No such experiment"),
    make("p", { className: "message bad", role: "alert" }, `No experiment has the id “${id}”.`),
    make("div", { className: "row" }, make("a", { className: "button primary", href: "/experiments" }, "All experiments")),
  );
}
