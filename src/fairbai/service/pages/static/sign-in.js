// The sign-in page: where to go next, and what was wrong with the key.

import { complain, find } from "./dom.js";

const told = new URLSearchParams(location.search);
const next = told.get("next") ?? "/";

/** Browsers do not send the cookie when a link in a mail is followed; whoever is signed in goes on from here. */
async function goOn() {
  const { ok } = await fetch("/v1/session", { cache: "no-store" });
  if (ok && /^\/(?!\/)/.test(next)) location.replace(next);
}

find("next").value = next;
if (told.has("wrong")) {
  complain(find("wrong"), "The service does not know this key. It may have been revoked.");
  find("key").setAttribute("aria-invalid", "true");
} else if (told.has("wait")) {
  complain(find("wrong"), `Too many wrong keys came from your address. Try again in ${told.get("wait")} seconds.`);
} else if (told.has("next")) {
  goOn();
}
