// Help: the glossary, and the calls of the API as its own description lists them.

import { get, reason } from "./api.js";
import { complain, find, make, row } from "./dom.js";
import { frame } from "./frame.js";

const LABELS = ["Call", "Does", "Role"];

function show({ paths }) {
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, call]) => [`${method.toUpperCase()} ${path}`, call]),
  );
  const words = ({ description, summary }) => (description ?? summary).replaceAll("`", "");
  const cells = ([name, call]) => [broken(name), words(call), call["x-role"] ?? "none"];
  find("calls").replaceChildren(...calls.map((call) => row(LABELS, cells(call))));
}

/** A path that breaks before its slashes only. */
function broken(name) {
  const parts = name.split(/(?=\/)/);
  return make("code", {}, ...parts.flatMap((part) => [make("wbr"), part]));
}

frame();
get("/openapi.json").then(show, (error) => complain(find("problem"), reason(error)));
