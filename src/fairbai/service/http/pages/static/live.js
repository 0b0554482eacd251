// Follows an experiment: by a stream of events, or by asking again and again where that is refused.

import { get, Problem } from "./api.js";

const PAUSE = 3000; // ms between two questions

/** Calls `show` with every new status, `tell` with how it is followed, and `fail` with errors. */
export function follow(id, { show, tell, fail }) {
  const at = `/v1/experiments/${id}`;
  let source = null;
  let over = false;
  let waiting = null;

  function stream() {
    source = new EventSource(`${at}/stream`);
    source.addEventListener("status", (event) => {
      tell("live");
      show(JSON.parse(event.data));
    });
    source.addEventListener("end", () => end());
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return tell("lost"); // the browser connects again
      poll();
    });
  }

  async function poll() {
    if (over || document.visibilityState === "hidden") return;
    try {
      const status = await get(at);
      tell("polling");
      show(status);
      if (status.stopped && status.pending === 0) return end(); // where the stream ends too
    } catch (error) {
      fail(error);
      if (error instanceof Problem && error.status === 404) return end();
    }
    waiting = setTimeout(poll, PAUSE);
  }

  /** Nobody waits for more. Late rewards and batches would still count; whoever loads the page again sees them. */
  function end() {
    over = true;
    source.close();
    tell("over");
  }

  // a browser has few connections to a host: a page that nobody sees holds none
  document.addEventListener("visibilitychange", () => {
    if (over) return;
    source.close();
    clearTimeout(waiting);
    if (document.visibilityState === "visible") stream();
  });
  stream();
}
