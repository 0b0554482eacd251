// Follows an experiment: by a stream of events, or by polling where a proxy blocks the stream.

import { get, Problem } from "./api.js";

const PAUSE = 3000; // ms between two polls

/** Calls `show` with each new status, `tell` with the connection mode, `fail` with errors, and `gone` if there is no
    such experiment. */
export function follow(id, { show, tell, fail, gone }) {
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
    source.addEventListener("end", finish);
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return tell("lost"); // the browser reconnects
      poll();
    });
  }

  async function poll() {
    if (over || document.visibilityState === "hidden") return;
    try {
      const status = await get(at);
      tell("polling");
      show(status);
      if (status.stopped && status.pending === 0) return finish(); // as the stream does
    } catch (error) {
      if (error instanceof Problem && error.status === 404) {
        stop();
        return gone();
      }
      fail(error);
    }
    waiting = setTimeout(poll, PAUSE);
  }

  function stop() {
    over = true;
    source.close();
  }

  /** Nothing more is expected. Late rewards and batches still count; reloading the page shows them. */
  function finish() {
    stop();
    tell("over");
  }

  // browsers allow few connections per host: a hidden page holds none
  document.addEventListener("visibilitychange", () => {
    if (over) return;
    source.close();
    clearTimeout(waiting);
    if (document.visibilityState === "visible") stream();
  });
  stream();
}
