// The sign-in page: where to go next, and what was wrong with the key.

import { complain, find } from "./dom.js";

const told = new URLSearchParams(location.search);
const next = told.get("next") ?? "/";

/** The address, if it is one of this server; to browsers a backslash is a slash, and a tab between two is nothing. */
function local(target) {
  try {
    const { href } = new URL(target, location.origin);
    return href.startsWith(`${location.origin}/`) ? href : null;
  } catch {
    return null;
  }
}

/** Browsers do not send the cookie when a link in a mail is followed; whoever is signed in goes on from here. */
async function goOn() {
  const { ok } = await fetch("/v1/session", { cache: "no-store" });
  const target = local(next);
  if (ok && target) location.replace(target);
}

find("next").value = next;
if (told.has("wrong")) {
  complain(find("wrong"), "The service does not know this key. It may have been revoked.");
  find("key").setAttribute("aria-invalid", "true");
} else if (told.has("wait")) {
  const seconds = Number.parseInt(told.get("wait"), 10) || 60;
  complain(find("wrong"), `Too many wrong keys came from your address. Try again in ${seconds} seconds.`);
} else if (told.has("next")) {
  goOn();
}
