// Calls to the service, authenticated by the session cookie.

/** An error response of the service. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `The service returned status ${status}.`);
    this.status = status;
  }
}

let found = null;

/** Who is signed in: role, name, csrf, version and demo. */
export function session() {
  found ??= get("/v1/session").catch((error) => {
    found = null; // the next call tries again
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

export async function remove(path) {
  const { csrf } = await session();
  return call("DELETE", path, { headers: { "X-CSRF-Token": csrf } });
}

async function call(method, path, options) {
  const response = await fetch(path, { method, credentials: "same-origin", cache: "no-store", ...options });
  if (response.status === 401) return signIn();
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => null));
  return response.json();
}

/** Goes to the sign-in page. The promise never settles, so callers stop here. */
export function signIn() {
  location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
  return new Promise(() => {});
}

/** An error in words for the user. */
export function reason(error) {
  if (error instanceof Problem) return error.message;
  return "The service is not responding.";
}
