// Assign units at the edge, without asking the service: the same arms as fairbai.client.edge gives. See docs/edge.md.
//
//   import { assign, Tally } from "./edge.js";
//   const arm = assign(policy, "user-7"); // policy: the JSON of GET /v1/experiments/{id}/policy
//   const tally = new Tally(policy);
//   tally.add(arm, 1); // once per unit, when its reward is known or its time is over
//   await tally.report("https://fairbai.example.com", experiment, key);
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

/** The trials of a node under one version of a policy, until it reports them. */
export class Tally {
  constructor(policy, name = crypto.getRandomValues(new Uint32Array(4)).join("-")) {
    const zeros = () => Object.fromEntries(policy.arms.map((arm) => [arm, 0]));
    this.form = { batch: name, pulls: zeros(), sums: zeros(), squares: zeros() };
    Object.assign(this.form, { policy: policy.version, seed: policy.seed });
  }

  /** Add a trial that is over. */
  add(arm, reward) {
    const { pulls, sums, squares } = this.form;
    if (Object.isFrozen(this.form)) throw new Error("this tally was reported: begin another one");
    if (!Object.hasOwn(pulls, arm)) throw new RangeError(`no arm is called ${arm}`);
    if (!Number.isFinite(reward)) throw new RangeError("reward must be a finite number");
    pulls[arm] += 1;
    sums[arm] += reward;
    squares[arm] += reward * reward;
  }

  /** Report the trials; if that fails, it can be repeated, and counts once. Nothing can be added any more. */
  async report(service, experiment, key) {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(Object.freeze(this.form)) };
    const response = await fetch(`${service}/v1/experiments/${experiment}/batches`, request);
    const answer = await response.json();
    if (!response.ok) throw new Error(`${response.status}: ${answer.detail}`);
    return answer; // decided, stopped, recommendation, ...
  }
}
