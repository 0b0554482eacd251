// The sign-in page: where to go next, and why the last key was refused.

import { complain, find } from "./dom.js";

const told = new URLSearchParams(location.search);
const next = told.get("next") ?? "/";

/** The address if it is on this server, else null. (Browsers read a backslash as a slash and ignore tabs.) */
function local(target) {
  try {
    const { href } = new URL(target, location.origin);
    return href.startsWith(`${location.origin}/`) ? href : null;
  } catch {
    return null;
  }
}

/** Browsers do not send the cookie with a link from an e-mail; users who are signed in continue from here. */
async function goOn() {
  const { ok } = await fetch("/v1/session", { cache: "no-store" });
  const target = local(next);
  if (ok && target) location.replace(target);
}

/** A link may have the key behind a #, which browsers do not send: it only has to be confirmed. */
function fillIn() {
  const key = location.hash.slice(1);
  if (!key.startsWith("fb_")) return;
  find("key").value = key;
  find("key-hint").textContent = "This link has filled it in.";
  find("enter").focus();
  history.replaceState(null, "", location.pathname + location.search);
}

find("next").value = next;
fillIn();
if (told.has("wrong")) {
  complain(find("wrong"), "This key is unknown or has been revoked.");
  find("key").setAttribute("aria-invalid", "true");
} else if (told.has("expired")) {
  complain(find("wrong"), "This key has expired. Ask for a new one.");
  find("key").setAttribute("aria-invalid", "true");
} else if (told.has("wait")) {
  const seconds = Number.parseInt(told.get("wait"), 10) || 60;
  complain(find("wrong"), `Too many attempts. Try again in ${seconds} seconds.`);
} else if (told.has("next")) {
  goOn();
}
