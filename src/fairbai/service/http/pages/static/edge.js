// Assign units at the edge, without asking the service: the same arms as fairbai.client.edge gives. See docs/edge.md.
//
//   import { Tally } from "./edge.js";
//   const tally = new Tally(policy, 3600); // policy: the JSON of GET /v1/experiments/{id}/policy; seconds
//   const arm = tally.assign("user-7"); // the same as assign(policy, "user-7")
//   tally.tell("user-7", 1); // whenever it is known
//   await tally.report("https://fairbai.example.com", experiment, key); // of those whose 3600 seconds are over
//
// Keys are secret: report from a worker or a server, and give pages the policy only.

const STARTS = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];
const word = (value) => BigInt.asUintN(64, value);
const turned = (value, bits) => word((value << bits) | (value >> (64n - bits)));

/** The bytes as a whole number, the lowest first. */
const whole = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

function rounds(count, v) {
  for (let round = 0; round < count; round++) {
    v[0] = word(v[0] + v[1]);
    v[2] = word(v[2] + v[3]);
    v[1] = turned(v[1], 13n) ^ v[0];
    v[3] = turned(v[3], 16n) ^ v[2];
    v[0] = word(turned(v[0], 32n) + v[3]);
    v[2] = word(v[2] + v[1]);
    v[1] = turned(v[1], 17n) ^ v[2];
    v[3] = turned(v[3], 21n) ^ v[0];
    v[2] = turned(v[2], 32n);
  }
}

/** SipHash-2-4 of some bytes under a key of 16 bytes, as a BigInt. */
export function siphash(key, data) {
  const halves = [whole(key.slice(0, 8)), whole(key.slice(8))];
  const v = STARTS.map((start, place) => start ^ halves[place % 2]);
  const end = data.length - (data.length % 8);
  for (let at = 0; at <= end; at += 8) {
    const last = at === end ? BigInt(data.length & 255) << 56n : 0n;
    const one = whole(data.slice(at, at + 8)) | last;
    v[3] ^= one;
    rounds(2, v);
    v[0] ^= one;
  }
  v[2] ^= 255n;
  rounds(4, v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/** The number of a unit, from 0 to less than 1. */
export function uniform(seed, unit) {
  if (typeof unit !== "string" || unit === "") throw new RangeError("unit must be text that is not empty");
  if (/\p{Surrogate}/u.test(unit)) throw new RangeError("unit must be text that UTF-8 can encode");
  const key = seed.match(/../g).map((byte) => parseInt(byte, 16));
  return Number(siphash(key, Array.from(new TextEncoder().encode(unit))) >> 11n) * 2 ** -53;
}

/** The arm of a unit: always the same under the same policy: version and seed. */
export function assign({ arms, probabilities, seed }, unit) {
  const chances = arms.map((arm) => probabilities[arm]);
  const total = chances.reduce((sum, chance) => sum + chance);
  if (!(chances.every((chance) => chance >= 0) && Math.abs(total - 1) <= 1e-6))
    throw new RangeError("probabilities must be at least 0 and sum to 1");
  const point = total * uniform(seed, unit);
  let sum = 0;
  return arms.find((_, place) => point < (sum += chances[place]));
}

const finite = (name, value) => {
  if (!Number.isFinite(value)) throw new RangeError(`${name} must be a finite number`);
  return value;
};

/** The trials of a node under one version of a policy: each counts when its window is over, never before. */
export class Tally {
  #open = new Map();
  #unsent = null;

  constructor(policy, window, silence = 0) {
    if (!(finite("window", window) > 0)) throw new RangeError("window must be a positive number of seconds");
    const wait = (Date.parse(policy.counted_at) - Date.parse(policy.until)) / 1000; // NaN where batches count at once
    if (window >= wait) throw new RangeError(`window must be shorter than report_after (${wait} seconds)`);
    Object.assign(this, { policy, window, silence: finite("silence", silence) });
  }

  /** The units that are in no batch yet. */
  get open() {
    return this.#open.size;
  }

  /** Enter a unit, once; returns its arm. A unit whose window is open keeps its place. */
  assign(unit, at = Date.now() / 1000) {
    const one = { arm: assign(this.policy, unit), end: at + this.window, reward: this.silence };
    if (!this.#open.has(unit)) this.#open.set(unit, one);
    return one.arm;
  }

  /** Tell what a unit has earned so far; returns whether it counts: its window is open. */
  tell(unit, reward, at = Date.now() / 1000) {
    finite("reward", reward);
    const one = this.#open.get(unit);
    if (one === undefined || at >= one.end) return false;
    one.reward = reward;
    return true;
  }

  /** What to report of all units whose windows are over; null if there are none. */
  batch(at = Date.now() / 1000) {
    const zeros = () => Object.fromEntries(this.policy.arms.map((arm) => [arm, 0]));
    const [pulls, sums, squares, before] = [zeros(), zeros(), zeros(), this.open];
    for (const [unit, { arm, end, reward }] of this.#open) {
      if (end > at) break;
      this.#open.delete(unit);
      pulls[arm] += 1;
      sums[arm] += reward;
      squares[arm] += reward * reward;
    }
    const batch = crypto.getRandomValues(new Uint32Array(4)).join("-");
    const form = { batch, pulls, sums, squares, policy: this.policy.version, seed: this.policy.seed };
    return before === this.open ? null : form;
  }

  /** Report the next batch; if that fails, the same one can be repeated, and counts once. Null if there is none. */
  async report(service, experiment, key) {
    const form = (this.#unsent ??= this.batch());
    if (form === null) return null;
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(form) };
    const response = await fetch(`${service}/v1/experiments/${experiment}/batches`, request);
    const answer = await response.json();
    if (!response.ok) throw new Error(`${response.status}: ${answer.detail}`);
    if (this.#unsent === form) this.#unsent = null;
    return answer; // decided, stopped, recommendation, ...
  }
}
