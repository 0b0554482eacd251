// What all pages have in common: who is signed in.

import { session } from "./api.js";
import { find, say } from "./dom.js";

const MAY = {
  reader: "may look at everything",
  writer: "may also run trials",
  admin: "may also begin and close experiments",
};

/** Fills the frame, and returns the session. */
export async function frame() {
  const found = await session();
  say(find("who"), found.name ? `${found.name} (${found.role})` : found.role);
  find("who").title = `A key of role ${found.role} ${MAY[found.role]}.`;
  say(find("version"), `fairbai ${found.version}`);
  return found;
}
