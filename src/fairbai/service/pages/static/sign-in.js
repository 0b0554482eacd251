// The sign-in page: where to go next, and what was wrong with the key.

import { complain, find } from "./dom.js";

const told = new URLSearchParams(location.search);

find("next").value = told.get("next") ?? "/";
if (told.has("wrong")) {
  complain(find("wrong"), "The service does not know this key. It may have been revoked.");
  find("key").setAttribute("aria-invalid", "true");
}
if (told.has("wait")) {
  complain(find("wrong"), `Too many wrong keys came from your address. Try again in ${told.get("wait")} seconds.`);
}
