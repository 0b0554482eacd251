// Calls of the service, with the key that the cookie of this session holds.

/** What the service answered when it refused. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `The service answered with status ${status}.`);
    this.status = status;
  }
}

let found = null;

/** Who is signed in: role, name, csrf, version and demo. */
export function session() {
  found ??= get("/v1/session").catch((error) => {
    found = null; // so that the next call asks again
    throw error;
  });
  return found;
}

export const get = (path, options = {}) => call("GET", path, options);

export async function post(path, body = null, headers = {}) {
  const { csrf } = await session();
  const sent = { "X-CSRF-Token": csrf, "Content-Type": "application/json", ...headers };
  return call("POST", path, { headers: sent, body: body === null ? null : JSON.stringify(body) });
}

async function call(method, path, options) {
  const response = await fetch(path, { method, credentials: "same-origin", cache: "no-store", ...options });
  if (response.status === 401) return signIn();
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => null));
  return response.json();
}

/** Leaves for the sign-in page; whoever waits for an answer waits until then. */
export function signIn() {
  location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
  return new Promise(() => {});
}

/** What to tell people about an error. */
export function reason(error) {
  if (error instanceof Problem) return error.message;
  return "The service does not answer.";
}
