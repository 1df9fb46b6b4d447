/**
 * Discreet on the respondent's own device: an answer goes in, a noised report comes out.
 *
 * One file, no dependencies, nothing sent anywhere. It flips the same coins in the same order as the
 * Python package (tests/surveys/protocols/vectors.json holds both to it, byte for byte) and trusts no survey: it
 * computes the epsilon of the numbers it is given, and refuses those that cost more than they say.
 *
 *     import { Device, randomizer } from "./discreet-local.js";
 *     randomizer(parameters).randomize("yes");          // a Uint8Array, fresh coins each time
 *     new Device().answer(survey, "yes");               // the coins of this browser, flipped once and kept
 */

/** What cannot be done, in one sentence for people. */
export class Refused extends Error {
  constructor(sentence) {
    super(sentence);
    this.name = "Refused";
  }
}

function need(condition, sentence) {
  if (!condition) throw new Refused(sentence);
}

// ---------------------------------------------------------------- where randomness comes from

/** The browser's cryptographic generator. There is no seed. */
export class SystemSource {
  /** So many fresh words of 64 bits, as 8 bytes each. */
  words(count) {
    const bytes = new Uint8Array(8 * count);
    for (let start = 0; start < bytes.length; start += 65536) {
      globalThis.crypto.getRandomValues(bytes.subarray(start, start + 65536));
    }
    return bytes;
  }
}

/** Bytes that a test wrote down. */
export class Tape {
  constructor(bytes) {
    this.left = bytes;
    this.used = 0;
  }

  words(count) {
    need(8 * count <= this.left.length, "The tape is at its end.");
    const taken = this.left.slice(0, 8 * count);
    this.left = this.left.subarray(8 * count);
    this.used += 8 * count;
    return taken;
  }
}

/** So many bytes: whole words are drawn, and what is over of the last is thrown away. */
function draw(count, source) {
  return source.words(Math.ceil(count / 8)).subarray(0, count);
}

/**
 * One flip for each of `heads`: true with probability heads / 256^planes, exactly.
 *
 * A flip is U < heads for a uniform U of `planes` bytes, read from the first byte on and only until the
 * answer is known: one byte for each flip, then one more for each that is still open, and so on.
 */
export function flipsOf(heads, planes, source) {
  const fallen = new Array(heads.length).fill(false);
  let open = Array.from(heads, (rest, lane) => ({ lane, rest }));
  for (let plane = planes - 1; plane >= 0 && open.length; plane--) {
    const drawn = draw(open.length, source);
    const still = [];
    open.forEach(({ lane, rest }, index) => {
      const byte = Math.floor(rest / 256 ** plane);
      const below = rest - byte * 256 ** plane;
      fallen[lane] = drawn[index] < byte;
      if (drawn[index] === byte && below > 0) still.push({ lane, rest: below });
    });
    open = still;
  }
  return fallen;
}

/** `size` flips of one coin. */
function flips(heads, planes, size, source) {
  return flipsOf(new Array(size).fill(heads), planes, source);
}

/** One flip. */
function flip(heads, planes, source) {
  return flips(heads, planes, 1, source)[0];
}

/**
 * `size` uniform whole numbers below `limit`, as BigInt.
 *
 * A word's lowest bits are uniform below a power of two; those at `limit` or more are drawn again.
 */
export function wholesBelow(limit, size, source) {
  const bound = BigInt(limit);
  need(bound >= 1n && bound <= 1n << 62n, "A limit is between 1 and 2^62.");
  const mask = (1n << BigInt(bound === 1n ? 0 : (bound - 1n).toString(2).length)) - 1n;
  const found = new Array(size);
  let open = Array.from(found, (_, lane) => lane);
  do {
    const drawn = source.words(open.length);
    const view = new DataView(drawn.buffer, drawn.byteOffset, drawn.byteLength);
    open.forEach((lane, index) => (found[lane] = view.getBigUint64(8 * index, true) & mask));
    open = open.filter((lane) => found[lane] >= bound);
  } while (open.length);
  return found;
}

/** One uniform whole number below `limit` <= 2^53, as a Number. */
function wholeBelow(limit, source) {
  return Number(wholesBelow(limit, 1, source)[0]);
}

// ---------------------------------------------------------------- bytes, words, SHA-256

const encoder = new TextEncoder();

/** Text as UTF-8. Half a character (a lone surrogate) has none, and is refused. */
export function utf8(text) {
  need(typeof text === "string" && !/\p{Surrogate}/u.test(text), "That is not text.");
  return encoder.encode(text);
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function fromHex(text) {
  need(/^([0-9a-f]{2})*$/.test(text), "That is not hexadecimal.");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** base64url without padding, as reports travel. */
export function toBase64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A whole number as `width` bytes, the most significant first. */
function wholeBytes(number, width) {
  const bytes = new Uint8Array(width);
  let rest = BigInt(number);
  for (let place = width - 1; place >= 0; place--, rest >>= 8n) bytes[place] = Number(rest & 255n);
  return bytes;
}

/** The number that `wholeBytes` wrote. */
function wholeNumber(bytes) {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

/** How many bytes a whole number up to `most` needs. */
function widthOf(most) {
  return Math.max(1, Math.ceil(BigInt(most).toString(2).length / 8));
}

/** Booleans as bits, the first in the highest place of the first byte. */
function packed(bits) {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, place) => (bytes[place >> 3] |= bit ? 128 >> (place & 7) : 0));
  return bytes;
}

/** The first `count` bits of what `packed` wrote. */
function unpacked(bytes, count) {
  return Array.from({ length: count }, (_, place) => Boolean(bytes[place >> 3] & (128 >> (place & 7))));
}

/** Fractional parts of roots of the first primes: SHA-256's constants, computed as its standard defines them. */
function fractions(count, root) {
  const primes = [];
  for (let number = 2; primes.length < count; number++) {
    if (primes.every((prime) => number % prime)) primes.push(number);
  }
  return Uint32Array.from(primes, (prime) => {
    // The whole part of prime^(1/root) * 2^32, by bisection, so that no rounding can spoil a bit.
    const power = BigInt(prime) << BigInt(32 * root);
    let [low, high] = [0n, 1n << 40n];
    while (high - low > 1n) {
      const middle = (low + high) >> 1n;
      if (middle ** BigInt(root) <= power) low = middle;
      else high = middle;
    }
    return Number(low & 0xffffffffn);
  });
}

const ROUNDS = fractions(64, 3);
const START = fractions(8, 2);

const turned = (word, by) => (word >>> by) | (word << (32 - by));

/** SHA-256. Our own, since crypto.subtle is missing where a survey is served without TLS, and never answers at once. */
export function sha256(message) {
  const padded = new Uint8Array((((message.length + 8) >> 6) + 1) << 6);
  padded.set(message);
  padded[message.length] = 128;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n);
  const state = START.slice();
  for (let block = 0; block < padded.length; block += 64) compress(state, view, block);
  return joined(...Array.from(state, (word) => wholeBytes(word, 4)));
}

function compress(state, view, block) {
  const words = new Uint32Array(64);
  for (let t = 0; t < 64; t++) {
    if (t < 16) {
      words[t] = view.getUint32(block + 4 * t);
      continue;
    }
    const [near, far] = [words[t - 2], words[t - 15]];
    const mixed = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10);
    words[t] = words[t - 16] + words[t - 7] + mixed + (turned(far, 7) ^ turned(far, 18) ^ (far >>> 3));
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const chosen = (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g));
    const first = (h + chosen + ROUNDS[t] + words[t]) | 0;
    const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place] += word));
}

/** HMAC-SHA256, for keys of at most 64 bytes. */
export function hmac(key, message) {
  const pad = (fill) => Uint8Array.from({ length: 64 }, (_, place) => (key[place] ?? 0) ^ fill);
  return sha256(joined(pad(0x5c), sha256(joined(pad(0x36), message))));
}

// ---------------------------------------------------------------- what a survey may ask of a device

/** What floats may err by when an epsilon is computed again, in parts of it. */
const SLACK = 1e-9;
/** The longest report, in bytes. */
const WIDEST = 12000;

/** A whole number of a document, within its bounds. */
function whole(numbers, name, low, high) {
  const found = numbers[name];
  need(Number.isSafeInteger(found) && found >= low && found <= high, `The survey's number "${name}" is out of range.`);
  return found;
}

/** The entries of an object: these, perhaps some of those, and no others, so that nothing unknown is passed over. */
function only(found, names, perhaps = [], sentence = "The survey's numbers do not match its protocol.") {
  const isObject = found !== null && typeof found === "object" && !Array.isArray(found);
  const keys = isObject ? Object.keys(found) : [];
  const known = keys.every((key) => names.includes(key) || perhaps.includes(key));
  need(isObject && known && names.every((name) => keys.includes(name)), sentence);
  return found;
}

/** The options of a document: these, and what tests may set if it is as the numbers say. */
function optionsOf(found, names, numbers, perhaps = ["planes"]) {
  only(found, names, perhaps, "The survey's options do not match its protocol.");
  const same = perhaps.every((name) => !(name in found) || found[name] === numbers?.[name]);
  need(same, "The survey's options do not match its numbers.");
  return found;
}

/** How many sides a coin of these planes has. */
function sidesOf(numbers) {
  return 256 ** whole(numbers, "planes", 1, 6);
}

/** A coin that falls on both sides. */
function coin(numbers, name) {
  return whole(numbers, name, 1, sidesOf(numbers) - 1);
}

/** "3/2" as two whole numbers, in lowest terms: each ratio has one text. */
function ratio(text) {
  const read = typeof text === "string" && /^(0|[1-9]\d{0,299})\/[1-9]\d{0,299}$/.test(text);
  need(read, "The survey's epsilon cannot be read.");
  const [over, under] = text.split("/").map(BigInt);
  let [larger, smaller] = [over, under];
  while (smaller) [larger, smaller] = [smaller, larger % smaller];
  need(larger === 1n, "The survey's epsilon is not in lowest terms.");
  return { over, under };
}

function atMost(one, other) {
  return one.over * other.under <= other.over * one.under;
}

/** Forty digits after the point, whatever the size of the two. */
function asNumber({ over, under }) {
  return Number((over * 10n ** 40n) / under) / 1e40;
}

/** |ln(one / other)| of two whole numbers, however near to each other: their difference is exact. */
function logOf(one, other) {
  let [larger, smaller] = [BigInt(one), BigInt(other)];
  if (larger < smaller) [larger, smaller] = [smaller, larger];
  return Math.log1p(Number(larger - smaller) / Number(smaller));
}

/** Whether what the numbers cost is what is claimed, or less. */
function covers(claimed, cost) {
  return cost <= asNumber(claimed) * (1 + SLACK);
}

/** A declared list of choices that can be told apart, as many as the numbers say. */
function declared(options, numbers) {
  const choices = options?.choices;
  const words = Array.isArray(choices) && choices.every((choice) => choice && utf8(choice));
  need(words, "The survey's choices are not texts.");
  need(new Set(choices).size === choices.length, "A choice of the survey occurs twice.");
  need(whole(numbers, "choices", 2, 1 << 20) === choices.length, "The survey's number of choices is wrong.");
  return choices;
}

/** Protocols over a declared list of choices. */
class Choices {
  constructor(options, numbers, more = []) {
    this.choices = declared(optionsOf(options, ["choices", ...more], numbers), numbers);
  }

  /** The answer as it is remembered: its place in the list. */
  canonical(value) {
    return String(this.code(value));
  }

  code(value) {
    const found = this.choices.indexOf(value);
    need(found >= 0, "That answer is not one of the choices.");
    return found;
  }

  randomize(value, source = new SystemSource()) {
    return this.noised(this.code(value), source);
  }

  /** The choices that a report speaks for: those of which `supporter(report)` says so. */
  supported(report) {
    const speaksFor = this.supporter(report);
    return this.choices.filter((_, code) => speaksFor(code));
  }

  /** How likely an answer is to become this report. */
  chance(value, report) {
    return Math.exp(this.logChance(value, report));
  }
}

/** The truth, or with probability `lie` another of the k choices. Draws: the coin; if heads, which other. */
class Response extends Choices {
  constructor(options, numbers) {
    super(options, only(numbers, ["lie", "planes", "choices"]));
    this.others = this.choices.length - 1;
    this.planes = numbers.planes;
    this.lie = coin(numbers, "lie");
    this.truth = sidesOf(numbers) - this.lie;
    this.epsilon = logOf(BigInt(this.truth) * BigInt(this.others), this.lie);
    this.width = widthOf(this.others);
  }

  noised(code, source) {
    return wholeBytes(told(code, this.choices.length, this, source), this.width);
  }

  /** How often the truth is told. */
  get kept() {
    return this.truth / (this.truth + this.lie);
  }

  supporter(report) {
    const said = wholeNumber(report);
    return (code) => code === said;
  }

  logChance(value, report) {
    const own = this.supporter(report)(this.code(value));
    return Math.log((own ? this.truth : this.lie / this.others) / (this.truth + this.lie));
  }
}

/** Two fair coins: heads on the first is the truth, else the second says which. Draws: both, whatever they show. */
class TwoCoins extends Response {
  constructor(options, numbers) {
    super(options, numbers);
    need(this.choices.length === 2 && 4 * this.lie === this.truth + this.lie, "The survey's two coins are not fair.");
  }

  noised(code, source) {
    const [truthful] = flips(2 * this.lie, this.planes, 1, source);
    const [second] = flips(2 * this.lie, this.planes, 1, source);
    return wholeBytes(truthful ? code : Number(!second), this.width);
  }
}

/** One bit a choice, each by a coin of its own. Draws: every bit by the other coin, then the answer's own. */
class Unary extends Choices {
  constructor(options, numbers) {
    super(options, only(numbers, ["own", "other", "planes", "choices"]));
    this.planes = numbers.planes;
    this.sides = sidesOf(numbers);
    this.own = coin(numbers, "own");
    this.other = coin(numbers, "other");
    const [own, other, sides] = [this.own, this.other, this.sides].map(BigInt);
    this.epsilon = logOf(own * (sides - other), other * (sides - own));
    this.width = Math.ceil(this.choices.length / 8);
  }

  noised(code, source) {
    const bits = flips(this.other, this.planes, this.choices.length, source);
    bits[code] = flip(this.own, this.planes, source);
    return packed(bits);
  }

  supporter(report) {
    const bits = unpacked(report, this.choices.length);
    return (code) => bits[code];
  }

  logChance(value, report) {
    const bits = unpacked(report, this.choices.length);
    return logOfBits(bits, this.code(value), this.own / this.sides, this.other / this.sides);
  }
}

/** The logarithm of the chance of these bits: that at `place` is 1 with chance `own`, any other with `other`. */
function logOfBits(bits, place, own, other) {
  const ones = bits.filter(Boolean).length;
  const all = ones * Math.log(other) + (bits.length - ones) * Math.log(1 - other);
  return bits[place] ? all + Math.log(own / other) : all + Math.log((1 - own) / (1 - other));
}

/** Told as it is, or with probability `lie` as one of the others. Draws: the coin; if heads, which other. */
function told(place, many, { lie, planes }, source) {
  return flip(lie, planes, source) ? (place + 1 + wholeBelow(many - 1, source)) % many : place;
}

/** The number of bits of a whole number. */
function bitsOf(number) {
  return number === 0 ? 0 : number.toString(2).length;
}

/** The choice is hashed to a few buckets, and the bucket is told by randomized response. */
class Hashed extends Choices {
  constructor(options, numbers, names, more = []) {
    super(options, only(numbers, [...names, "buckets", "lie", "planes", "choices"]), more);
    this.planes = numbers.planes;
    this.lie = coin(numbers, "lie");
    this.buckets = whole(numbers, "buckets", 2, 2 ** 31);
    this.sides = sidesOf(numbers);
    this.epsilon = logOf(BigInt(this.sides - this.lie) * BigInt(this.buckets - 1), this.lie);
  }

  supporter(report) {
    const hash = this.hash(report);
    const bucket = wholeNumber(report.subarray(this.head));
    return (code) => hash(code) === bucket;
  }

  logChance(value, report) {
    const own = this.supporter(report)(this.code(value));
    const bucket = own ? this.sides - this.lie : this.lie / (this.buckets - 1);
    return Math.log(bucket / this.sides / this.families);
  }

  /** A report of this function, with the bucket noised. */
  finished(head, code, source) {
    const bucket = told(this.hash(head)(code), this.buckets, this, source);
    return joined(head, wholeBytes(bucket, widthOf(this.buckets - 1)));
  }
}

/** A hash function of the device's own. Draws: multiplier and addend below 2^32; then the bucket's. */
class LocalHashing extends Hashed {
  constructor(options, numbers) {
    super(options, numbers, ["kept"]);
    this.kept = whole(numbers, "kept", 1, 32);
    need(this.kept === 33 - bitsOf(this.choices.length - 1), "The survey's hash does not fit its choices.");
    need(this.buckets <= 65536, "The survey has too many buckets.");
    this.head = 8;
    this.families = 2 ** 64;
    this.width = this.head + widthOf(this.buckets - 1);
  }

  noised(code, source) {
    const [multiplier, addend] = wholesBelow(2 ** 32, 2, source);
    return this.finished(joined(wholeBytes(multiplier, 4), wholeBytes(addend, 4)), code, source);
  }

  /** The function that a report names: from codes to buckets. */
  hash(report) {
    const [multiplier, addend] = [report.subarray(0, 4), report.subarray(4, 8)].map(wholeNumber);
    const top = (code) => ((Math.imul(multiplier, code) + addend) >>> 0) >>> (32 - this.kept);
    return (code) => Math.floor((top(code) * this.buckets) / 2 ** this.kept);
  }
}

const PRIME = 2n ** 31n - 1n;

/** A hash function of a public list. Draws: which of them; then the bucket's. */
class FastHashing extends Hashed {
  constructor(options, numbers) {
    super(options, numbers, ["functions"], ["functions", "label"]);
    this.families = whole(numbers, "functions", 1, 1 << 20);
    need(options.functions === this.families, "The survey's number of hash functions is wrong.");
    this.label = options.label;
    need(this.label === "" || utf8(this.label), "The survey's list of hash functions has no name.");
    this.head = widthOf(this.families - 1);
    this.width = this.head + widthOf(this.buckets - 1);
  }

  noised(code, source) {
    return this.finished(wholeBytes(wholeBelow(this.families, source), this.head), code, source);
  }

  hash(report) {
    const digest = sha256(utf8(`${this.label}/${wholeNumber(report.subarray(0, this.head))}`));
    const view = new DataView(digest.buffer);
    const [square, slope, constant] = [0, 8, 16].map((start) => view.getBigUint64(start) % PRIME);
    const value = (code) => ((square * code + slope) * code + constant) % PRIME;
    return (code) => Number((value(BigInt(code)) * BigInt(this.buckets)) / PRIME);
  }
}

/**
 * A set of choices, with the own one in it or without.
 *
 * Draws: the coin `without`; then, by Floyd's way, for each place from d - 1 - k to d - 2 a whole number up to it,
 * where k is `size` on heads and one less on tails. The own choice and the last one then change places.
 */
class Subset extends Choices {
  constructor(options, numbers) {
    super(options, only(numbers, ["size", "without", "planes", "choices"]));
    this.planes = numbers.planes;
    this.without = coin(numbers, "without");
    this.size = whole(numbers, "size", 1, this.choices.length - 1);
    this.sides = sidesOf(numbers);
    this.rest = this.choices.length - this.size;
    const [inside, outside] = [this.sides - this.without, this.without].map(BigInt);
    this.epsilon = logOf(inside * BigInt(this.rest), outside * BigInt(this.size));
    this.each = widthOf(this.choices.length - 1);
    const [listed, bits] = [this.size * this.each, Math.ceil(this.choices.length / 8)];
    this.listed = listed < bits;
    this.width = Math.min(listed, bits);
  }

  noised(code, source) {
    const without = flip(this.without, this.planes, source);
    const last = this.choices.length - 1;
    const held = new Array(last + 1).fill(false);
    for (let place = last - this.size + (without ? 0 : 1); place < last; place++) {
      const taken = wholeBelow(place + 1, source);
      held[held[taken] ? place : taken] = true;
    }
    held[last] = held[code];
    held[code] = !without;
    if (!this.listed) return packed(held);
    return joined(...held.flatMap((inside, number) => (inside ? [wholeBytes(number, this.each)] : [])));
  }

  supporter(report) {
    if (!this.listed) {
      const bits = unpacked(report, this.choices.length);
      return (code) => bits[code];
    }
    const place = (number) => wholeNumber(report.subarray(number * this.each, (number + 1) * this.each));
    const held = new Set(Array.from({ length: this.size }, (_, number) => place(number)));
    return (code) => held.has(code);
  }

  logChance(value, report) {
    const [others, inside] = [this.choices.length - 1, this.supporter(report)(this.code(value))];
    const heads = inside ? this.sides - this.without : this.without;
    return Math.log(heads / this.sides) - logOfChoosing(others, inside ? this.size - 1 : this.size);
  }
}

/** The logarithm of how many sets of `size` there are among `many`. */
function logOfChoosing(many, size) {
  let sum = 0;
  for (let place = 1; place <= size; place++) sum += Math.log((many - size + place) / place);
  return sum;
}

/**
 * A number below blocks * length, from the own half of the own block rather than from elsewhere.
 *
 * Draws: the coin `without`; then, on tails, a place in the own half; on heads, a place among all other numbers,
 * those of the own block first.
 */
class Hadamard extends Choices {
  constructor(options, numbers) {
    super(options, only(numbers, ["blocks", "length", "without", "planes", "choices"]));
    this.planes = numbers.planes;
    this.without = coin(numbers, "without");
    this.blocks = whole(numbers, "blocks", 1, 1 << 20);
    this.length = whole(numbers, "length", 2, 1 << 21);
    const columns = Math.ceil(this.choices.length / this.blocks);
    const fits = isPowerOfTwo(this.length) && this.length > columns && this.blocks * this.length < 2 ** 31;
    need(fits, "The survey's blocks do not fit its choices.");
    this.half = this.length / 2;
    this.rest = this.blocks * this.length - this.half;
    this.sides = sidesOf(numbers);
    const [inside, outside] = [this.sides - this.without, this.without].map(BigInt);
    this.epsilon = logOf(inside * BigInt(this.rest), outside * BigInt(this.half));
    this.width = widthOf(this.blocks * this.length - 1);
  }

  /** Where the code's block begins, and its column there. */
  place(code) {
    return [(code % this.blocks) * this.length, Math.floor(code / this.blocks) + 1];
  }

  noised(code, source) {
    const [begin, column] = this.place(code);
    return wholeBytes(this.drawn(begin, column, source), this.width);
  }

  drawn(begin, column, source) {
    if (!flip(this.without, this.planes, source)) return begin + numberAt(wholeBelow(this.half, source), column, false);
    const found = wholeBelow(this.rest, source);
    if (found < this.half) return begin + numberAt(found, column, true);
    const elsewhere = found - this.half;
    return elsewhere < begin ? elsewhere : elsewhere + this.length;
  }

  supporter(report) {
    const said = wholeNumber(report);
    return (code) => {
      const [begin, column] = this.place(code);
      return said >= begin && said < begin + this.length && !isOdd((said - begin) & column);
    };
  }

  logChance(value, report) {
    const own = this.supporter(report)(this.code(value));
    return Math.log((own ? (this.sides - this.without) / this.half : this.without / this.rest) / this.sides);
  }
}

/** The number at this place among those that share an odd (or an even) number of bits with the column. */
function numberAt(place, column, odd) {
  const lowest = column & -column;
  const below = place & (lowest - 1);
  const spread = (place - below) * 2 + below;
  return isOdd(spread & column) === odd ? spread : spread + lowest;
}

/** Whether a whole number has an odd number of 1 bits: there the matrix of signs has -1. */
function isOdd(number) {
  let odd = false;
  for (let rest = number; rest; rest &= rest - 1) odd = !odd;
  return odd;
}

/**
 * RAPPOR's two layers of noise on bits that an answer sets: `lie` once for good, then `one` and `zero` each time.
 *
 * Draws: a flip of `lie` for each bit; then, each time, a flip of `one` for each and a flip of `zero` for each. The
 * kept bit says which of the two counts.
 */
class Layers {
  constructor(numbers, functions, once) {
    this.planes = numbers.planes;
    this.sides = sidesOf(numbers);
    this.lie = coin(numbers, "lie");
    this.one = whole(numbers, "one", 1, this.sides);
    this.zero = whole(numbers, "zero", 1, this.one);
    const [lie, one, zero, sides] = [this.lie, this.one, this.zero, this.sides].map(BigInt);
    // In parts of sides^2.
    const [set, unset] = [one * sides - lie * (one - zero), zero * sides + lie * (one - zero)];
    [this.set, this.unset] = [set, unset].map((part) => Number(part) / this.sides ** 2);
    this.epsilon = 2 * functions * logOf(sides - lie, lie);
    this.once = functions * logOf(set * (sides * sides - unset), unset * (sides * sides - set));
    need(covers(ratio(once), this.once), "The survey's single reports cost more privacy than it claims.");
  }

  kept(bits, source) {
    const lies = flips(this.lie, this.planes, bits.length, source);
    return bits.map((bit, place) => bit !== lies[place]);
  }

  sent(kept, source) {
    const one = flips(this.one, this.planes, kept.length, source);
    const zero = flips(this.zero, this.planes, kept.length, source);
    return kept.map((bit, place) => (bit ? one[place] : zero[place]));
  }
}

/** RAPPOR over declared choices. `epsilon` is what all reports of one kept answer cost, `once` what one of them does. */
class BasicRappor extends Choices {
  constructor(options, numbers) {
    super(options, only(numbers, ["lie", "one", "zero", "planes", "choices"]), ["once"]);
    this.layers = new Layers(numbers, 1, options.once);
    this.epsilon = this.layers.epsilon;
    this.once = this.layers.once;
    this.width = Math.ceil(this.choices.length / 8);
  }

  noised(code, source) {
    return this.instant(this.permanent(this.choices[code], source), source);
  }

  /** Once for an answer: to be kept on the device, and never sent as it is. */
  permanent(value, source = new SystemSource()) {
    const own = this.code(value);
    return packed(this.layers.kept(Array.from(this.choices, (_, code) => code === own), source));
  }

  /** Each time: what may be sent of a permanent answer. */
  instant(kept, source = new SystemSource()) {
    return packed(this.layers.sent(unpacked(kept, this.choices.length), source));
  }

  supporter(report) {
    const bits = unpacked(report, this.choices.length);
    return (code) => bits[code];
  }

  logChance(value, report) {
    return logOfBits(unpacked(report, this.choices.length), this.code(value), this.layers.set, this.layers.unset);
  }
}

// ---------------------------------------------------------------- words that nobody listed

/** A word as it is hashed: UTF-8 of its composed form. */
function wordBytes(word) {
  need(typeof word === "string", "An answer must be a word.");
  const bytes = utf8(word.normalize("NFC"));
  need(bytes.length >= 1 && bytes.length <= 1024, "A word must have 1 to 1,024 bytes.");
  return bytes;
}

function isPowerOfTwo(number) {
  return Number.isInteger(Math.log2(number));
}

/** Public hash functions of words onto places. */
class Functions {
  constructor(salt, many, wide) {
    need(isPowerOfTwo(wide), "The width of the survey's sketch is not a power of two.");
    this.salt = salt === "" ? new Uint8Array() : utf8(salt);
    this.many = many;
    this.wide = wide;
  }

  place(bytes, number) {
    const framed = [wholeBytes(this.salt.length, 4), this.salt, wholeBytes(number >> 3, 4), bytes];
    const digest = sha256(joined(...framed));
    return wholeNumber(digest.subarray(4 * (number & 7), 4 * (number & 7) + 4)) % this.wide;
  }
}

/** Any word is an answer. */
class Words {
  canonical(value) {
    return toHex(wordBytes(value));
  }

  randomize(value, source = new SystemSource()) {
    return this.noised(wordBytes(value), source);
  }
}

class Sketch extends Words {
  constructor(options, numbers) {
    super();
    only(numbers, ["lie", "planes", "functions", "wide"]);
    optionsOf(options, ["functions", "wide", "salt"], numbers);
    this.planes = numbers.planes;
    this.lie = coin(numbers, "lie");
    const [many, wide] = [whole(numbers, "functions", 1, 65536), whole(numbers, "wide", 2, 1 << 20)];
    need(options?.functions === many && options?.wide === wide, "The size of the survey's sketch is wrong.");
    this.hashes = new Functions(options.salt, many, wide);
    this.sides = sidesOf(numbers);
    this.once = logOf(this.sides - this.lie, this.lie);
  }
}

/** One of the functions, and a bit a place, each flipped by a coin. Draws: the function, then a flip for each place. */
class CountMeanSketch extends Sketch {
  constructor(options, numbers) {
    super(options, numbers);
    this.epsilon = 2 * this.once; // two words differ in two places
    this.head = widthOf(this.hashes.many - 1);
    this.width = this.head + Math.ceil(this.hashes.wide / 8);
  }

  noised(bytes, source) {
    const number = wholeBelow(this.hashes.many, source);
    const bits = flips(this.lie, this.planes, this.hashes.wide, source);
    const place = this.hashes.place(bytes, number);
    bits[place] = !bits[place];
    return joined(wholeBytes(number, this.head), packed(bits));
  }

  meaning(report) {
    const ones = unpacked(report.subarray(this.head), this.hashes.wide).filter(Boolean).length;
    const number = wholeNumber(report.subarray(0, this.head)) + 1;
    return (
      `${this.hashes.wide.toLocaleString("en")} coins, of which ${ones.toLocaleString("en")} show heads. ` +
      `Your word turned over one of them, which hash function ${number} selects.`
    );
  }
}

/** One noisy sign. Draws: the function, the row, then one flip. */
class HadamardSketch extends Sketch {
  constructor(options, numbers) {
    super(options, numbers);
    this.epsilon = this.once;
    this.width = widthOf(2 * this.hashes.many * this.hashes.wide - 1);
  }

  noised(bytes, source) {
    const number = wholeBelow(this.hashes.many, source);
    const row = wholeBelow(this.hashes.wide, source);
    const lies = flip(this.lie, this.planes, source);
    const bit = isOdd(row & this.hashes.place(bytes, number)) !== lies;
    return wholeBytes(2 * (this.hashes.wide * number + row) + Number(bit), this.width);
  }

  meaning(report) {
    const said = wholeNumber(report);
    const row = (said >> 1) % this.hashes.wide;
    return `A single bit, ${said & 1}, about half of all words (row ${row + 1} of the table of signs says which half).`;
  }
}

/** How many bytes UTF-8 uses, but zero, which ends a word; and in how many ways a beginning may be made longer. */
const LETTERS = 242;
const MOST_GROWN = 4096;

/**
 * The beginning of a word, or the whole of it, by a Hadamard sketch. Draws: the group, then as `HadamardSketch`.
 *
 * A group's number says how long its beginnings are; the last group reports whole words through functions of its own.
 */
class PrefixWords {
  constructor(options, numbers) {
    only(numbers, ["lie", "planes", "functions", "wide", "cuts"]);
    optionsOf(options, ["length", "alphabet", "groups", "functions", "wide", "salt"], numbers);
    const { cuts, ...coins } = numbers;
    const { functions, wide, salt } = options;
    this.length = whole(options, "length", 1, 64);
    this.alphabet = options.alphabet;
    need(this.alphabet === null || utf8(this.alphabet).every(Boolean), "The survey's alphabet cannot be read.");
    const groups = whole(options, "groups", 1, this.length);
    const letters = 1 + (this.alphabet === null ? LETTERS : new Set(utf8(this.alphabet)).size);
    need(letters ** Math.ceil(this.length / groups) <= Math.max(MOST_GROWN, letters), "The survey has too few groups.");
    this.cuts = Array.from({ length: groups }, (_, group) => Math.ceil((this.length * (group + 1)) / groups));
    const same = Array.isArray(cuts) && cuts.length === groups && this.cuts.every((cut, group) => cut === cuts[group]);
    need(same, "The survey's groups do not fit its words.");
    need(salt === "" || utf8(salt), "The survey's hash functions have no name.");
    const sketch = (name) => new HadamardSketch({ functions, wide, salt: `${salt}/${name}` }, coins);
    [this.finding, this.counting] = [sketch("find"), sketch("count")];
    this.epsilon = this.finding.epsilon;
    this.width = 1 + this.finding.width;
  }

  /** The word as bytes, with zeros up to the length. */
  padded(value) {
    const bytes = wordBytes(value);
    const spelled = this.alphabet === null || [...value.normalize("NFC")].every((one) => this.alphabet.includes(one));
    const letters = this.alphabet === null ? "" : " and use only the declared alphabet";
    const fits = bytes.length <= this.length && bytes.every(Boolean) && spelled;
    need(fits, `A word must have at most ${this.length} bytes${letters}.`);
    return joined(bytes, new Uint8Array(this.length - bytes.length));
  }

  canonical(value) {
    return toHex(this.padded(value));
  }

  randomize(value, source = new SystemSource()) {
    const word = this.padded(value);
    const group = wholeBelow(this.cuts.length + 1, source);
    const counted = group === this.cuts.length;
    const key = word.subarray(0, counted ? this.length : this.cuts[group]);
    return joined(wholeBytes(group, 1), (counted ? this.counting : this.finding).noised(key, source));
  }

  meaning(report) {
    const which = report[0] < this.cuts.length ? `the first ${this.cuts[report[0]]} bytes of words` : "whole words";
    return `About ${which}: ${this.finding.meaning(report.subarray(1)).toLowerCase()}`;
  }
}

/** A Bloom filter of the word in one of the cohorts, noised in two layers. Draws: the cohort, then as `Layers`. */
class Rappor extends Words {
  constructor(options, numbers) {
    super();
    only(numbers, ["lie", "one", "zero", "planes", "functions", "wide", "cohorts"]);
    optionsOf(options, ["once", "functions", "wide", "cohorts", "salt"], numbers);
    [this.functions, this.cohorts] = [whole(numbers, "functions", 1, 16), whole(numbers, "cohorts", 1, 1024)];
    const wide = whole(numbers, "wide", 2, 1 << 20);
    const same = ["functions", "wide", "cohorts"].every((name) => options?.[name] === numbers[name]);
    need(same, "The size of the survey's filters is wrong.");
    this.hashes = new Functions(options.salt, this.functions * this.cohorts, wide);
    this.layers = new Layers(numbers, this.functions, options.once);
    this.epsilon = this.layers.epsilon;
    this.once = this.layers.once;
    this.head = widthOf(this.cohorts - 1);
    this.width = this.head + Math.ceil(wide / 8);
  }

  noised(bytes, source) {
    return this.instant(this.kept(bytes, source), source);
  }

  /** Once for an answer: to be kept on the device, and never sent as it is. */
  permanent(value, source = new SystemSource()) {
    return this.kept(wordBytes(value), source);
  }

  kept(bytes, source) {
    const cohort = wholeBelow(this.cohorts, source);
    const bits = new Array(this.hashes.wide).fill(false);
    for (let each = 0; each < this.functions; each++) {
      bits[this.hashes.place(bytes, cohort * this.functions + each)] = true;
    }
    return joined(wholeBytes(cohort, this.head), packed(this.layers.kept(bits, source)));
  }

  /** Each time: what may be sent of a permanent answer. */
  instant(kept, source = new SystemSource()) {
    const bits = unpacked(kept.subarray(this.head), this.hashes.wide);
    return joined(kept.subarray(0, this.head), packed(this.layers.sent(bits, source)));
  }

  meaning(report) {
    const ones = unpacked(report.subarray(this.head), this.hashes.wide).filter(Boolean).length;
    const weighed = `Your word influenced ${this.functions} of them.`;
    return `${this.hashes.wide} coins, each flipped twice; ${ones} show heads. ${weighed}`;
  }
}

// ---------------------------------------------------------------- numbers on a grid

/** What may stand around a number: languages differ about other spaces. */
const SPACES = /^[ \t\n\r\f\v]+|[ \t\n\r\f\v]+$/g;
/** A decimal as Python writes it: one text for each number. */
const PLAIN = /^(0|-?[1-9]\d*|-?(0|[1-9]\d*)\.\d*[1-9])$/;
const NUMBER = /^([+-]?)(?:(\d{1,40})(?:\.(\d{0,40}))?|\.(\d{1,40}))(?:[eE]([+-]?\d{1,3}))?$/;
/** Further than any written number reaches: all are whole numbers of 10^-FINEST. */
const FINEST = 1040;

/** A number as it is written, exactly: in units of 10^-FINEST. */
function decimal(value) {
  const text = typeof value === "number" ? String(value) : value;
  const found = typeof text === "string" && NUMBER.exec(text.replace(SPACES, ""));
  need(found, "An answer must be a number.");
  const [, sign, over = "", under = found[4] ?? "", , power = "0"] = found;
  const size = BigInt(over + under) * 10n ** BigInt(FINEST - under.length + Number(power));
  return sign === "-" ? -size : size;
}

/** A number from low to high, told as the nearest point of a grid (halves up). */
class Numbers {
  constructor(options, numbers, perhaps = ["planes"]) {
    const ends = ["low", "high", "step"];
    optionsOf(options, ends, numbers, perhaps);
    const plain = ends.every((name) => typeof options[name] === "string" && PLAIN.test(options[name]));
    need(plain, "The survey's grid cannot be read.");
    [this.low, this.high, this.step] = ends.map((name) => options[name]);
    const [low, high, step] = [this.low, this.high, this.step].map(decimal);
    need(low < high && step > 0n && (high - low) % step === 0n, "The survey's grid does not fit its bounds.");
    this.steps = whole(numbers, "steps", 1, 1 << 20);
    need((high - low) / step === BigInt(this.steps), "The survey's number of steps is wrong.");
  }

  canonical(value) {
    return String(this.code(value));
  }

  code(value) {
    const [found, low, high, step] = [value, this.low, this.high, this.step].map(decimal);
    need(found >= low && found <= high, `An answer must be a number from ${this.low} to ${this.high}.`);
    return Number((2n * (found - low) + step) / (2n * step));
  }

  randomize(value, source = new SystemSource()) {
    return wholeBytes(this.noised(this.code(value), source), this.width);
  }
}

/** One bit, likelier to be 1 the larger the number. Draws: one flip. */
class Duchi extends Numbers {
  constructor(options, numbers) {
    super(options, only(numbers, ["steps", "first", "slope", "planes"]));
    this.planes = numbers.planes;
    const sides = sidesOf(numbers);
    this.first = coin(numbers, "first");
    this.slope = whole(numbers, "slope", 1, sides);
    need(2 * this.first + this.steps * this.slope === sides, "The survey's coins do not fit its grid.");
    this.epsilon = logOf(sides - this.first, this.first);
    this.width = 1;
  }

  noised(code, source) {
    return Number(flip(this.first + code * this.slope, this.planes, source));
  }

  meaning(report) {
    return `A single bit: ${report[0] ? "1, which large" : "0, which small"} numbers send more often.`;
  }
}

/** A place in a window that moves with the number. Draws: the coin `out`; then the place, in the window or outside. */
class Window extends Numbers {
  constructor(options, numbers) {
    super(options, only(numbers, ["steps", "wide", "slide", "out", "planes"]), ["planes", "slide"]);
    this.planes = numbers.planes;
    this.out = coin(numbers, "out");
    this.wide = whole(numbers, "wide", 1, 2 ** 40);
    this.slide = whole(numbers, "slide", 1, 2 ** 20);
    this.outside = this.steps * this.slide;
    this.outputs = this.outside + this.wide;
    const [inside, outside] = [sidesOf(numbers) - this.out, this.out].map(BigInt);
    this.epsilon = logOf(inside * BigInt(this.outside), outside * BigInt(this.wide));
    this.width = widthOf(this.outputs - 1);
  }

  noised(code, source) {
    const start = code * this.slide;
    if (!flip(this.out, this.planes, source)) return start + wholeBelow(this.wide, source);
    const place = wholeBelow(this.outside, source);
    return place < start ? place : place + this.wide;
  }

  meaning(report) {
    const share = wholeNumber(report) / (this.outputs - 1);
    return (
      `A random point, at ${(100 * share).toFixed(1)}% of the way from the smallest to the largest. ` +
      "Points near your number are more likely."
    );
  }
}

/** A coin chooses between the two. Draws: the coin; then those of the window on heads, of the bit on tails. */
class Hybrid extends Numbers {
  constructor(options, numbers) {
    const { slide, ...rest } = options ?? {};
    super(rest, only(numbers, ["steps", "pieces", "planes", "window", "bit"]));
    this.planes = numbers.planes;
    this.pieces = whole(numbers, "pieces", 0, sidesOf(numbers));
    this.window = new Window(options, numbers.window);
    this.bit = new Duchi(rest, numbers.bit);
    this.epsilon = Math.max(this.bit.epsilon, this.pieces ? this.window.epsilon : 0);
    this.width = widthOf(this.window.outputs + 1);
  }

  noised(code, source) {
    if (flip(this.pieces, this.planes, source)) return this.window.noised(code, source);
    return this.window.outputs + this.bit.noised(code, source);
  }

  meaning(report) {
    const said = wholeNumber(report) - this.window.outputs;
    return said >= 0 ? this.bit.meaning([said]) : this.window.meaning(report);
  }
}

/** A ratio of whole numbers in lowest terms. */
function reduced(over, under) {
  let [larger, smaller] = [over, under];
  while (smaller) [larger, smaller] = [smaller, larger % smaller];
  return { over: over / larger, under: under / larger };
}

/** A uniform whole number below `limit`, however large, as BigInt. */
function bigBelow(limit, source) {
  const length = limit === 1n ? 0 : (limit - 1n).toString(2).length;
  for (;;) {
    const drawn = source.words(Math.ceil(length / 64));
    const view = new DataView(drawn.buffer, drawn.byteOffset, drawn.byteLength);
    let found = 0n;
    for (let at = 0; at < drawn.length; at += 8) found = (found << 64n) | view.getBigUint64(at, true);
    found &= (1n << BigInt(length)) - 1n;
    if (found < limit) return found;
  }
}

/** True with probability over / under. */
function chanceOf(over, under, source) {
  const chance = reduced(over, under);
  return bigBelow(chance.under, source) < chance.over;
}

/** True with probability exp(-over / under), for over <= under: coins of x, x/2, x/3, ... until one fails. */
function chanceOfExp(over, under, source) {
  let flipped = 1n;
  while (chanceOf(over, under * flipped, source)) flipped += 1n;
  return flipped % 2n === 1n;
}

/** Discrete Laplace noise of scale t / s, in whole numbers only (Canonne, Kamath and Steinke 2020, algorithm 2). */
export function discreteLaplace({ over: t, under: s }, source) {
  for (;;) {
    const low = bigBelow(t, source);
    if (!chanceOfExp(low, t, source)) continue;
    let high = 0n;
    while (chanceOfExp(1n, 1n, source)) high += 1n;
    const size = (low + t * high) / s;
    const negative = chanceOf(1n, 2n, source);
    if (negative && size === 0n) continue; // else zero would be counted twice
    return negative ? -size : size;
  }
}

/** Noise further away than so many scales is told as so much. */
const FAR = 40n;

/** The number with discrete Laplace noise. Draws: those of `discreteLaplace`, which are not those of Python. */
class LaplaceRecord extends Numbers {
  constructor(options, numbers) {
    super(options, only(numbers, ["steps", "scale", "far"]), []);
    this.scale = ratio(numbers.scale);
    const { over, under } = this.scale;
    need(over <= 10n ** 12n * under && 1000n * over >= under, "The survey's noise is out of range.");
    this.far = whole(numbers, "far", 1, 2 ** 52);
    need(BigInt(this.far) === (FAR * over + under - 1n) / under, "The survey's noise does not fit its scale.");
    this.epsilon = asNumber(reduced(BigInt(this.steps) * under, over));
    this.width = widthOf(this.steps + 2 * this.far);
  }

  noised(code, source) {
    const noisy = BigInt(code) + discreteLaplace(this.scale, source);
    const [least, most] = [BigInt(-this.far), BigInt(this.steps + this.far)];
    return (noisy < least ? least : noisy > most ? most : noisy) - least;
  }

  meaning(report) {
    const number = Number(this.low) + (wholeNumber(report) - this.far) * Number(this.step);
    const wide = asNumber(this.scale) * Number(this.step);
    const said = (value) => Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 6 });
    return `Your number with noise: ${said(number)}. The noise is ${said(wide)} or so, up or down.`;
  }
}

/** A node of one level of a tree over the grid. Draws: the level, 0 for the highest; then as that level's protocol. */
class Tree extends Numbers {
  constructor(options, numbers) {
    const { fanout, oracle, ...rest } = options ?? {};
    super(rest, only(numbers, ["steps", "fanout", "levels"]));
    this.fanout = whole(numbers, "fanout", 2, 1024);
    const known = fanout === this.fanout && ["unary", "hashing"].includes(oracle);
    need(known, "The survey's options do not match its tree.");
    const sizes = [this.steps + 1];
    while (sizes[0] > this.fanout) sizes.unshift(Math.ceil(sizes[0] / this.fanout));
    need(sizes[sizes.length - 1] <= 1 << 20, "The survey's tree has too many points.");
    const levels = numbers.levels;
    need(Array.isArray(levels) && levels.length === sizes.length, "The survey's tree has not the levels that it needs.");
    this.levels = levels.map((level, place) => levelOf(level, sizes[place], oracle));
    this.epsilon = Math.max(...this.levels.map((level) => level.epsilon));
    this.head = widthOf(this.levels.length - 1);
    this.width = this.head + Math.max(...this.levels.map((level) => level.width));
  }

  randomize(value, source = new SystemSource()) {
    const code = this.code(value);
    const level = wholeBelow(this.levels.length, source);
    const node = Math.floor(code / this.fanout ** (this.levels.length - 1 - level));
    const part = this.levels[level].noised(node, source);
    return joined(wholeBytes(level, this.head), part, new Uint8Array(this.width - this.head - part.length));
  }

  meaning(report) {
    const level = this.levels[wholeNumber(report.subarray(0, this.head))];
    const inner = report.subarray(this.head, this.head + level.width);
    const [all, some] = [level.choices.length, level.supported(inner).length].map((many) => many.toLocaleString("en"));
    return `Of the ${all} parts into which all numbers are cut, it reports ${some}.`;
  }
}

/** The protocol of a tree's level with so many nodes. */
function levelOf(found, size, oracle) {
  only(found, ["protocol", "width", "numbers"], [], "The survey's tree cannot be read.");
  const kinds = { response: Response, unary: Unary, hashing: LocalHashing };
  need(["response", oracle].includes(found.protocol), "The survey's tree cannot be read.");
  const choices = Array.from({ length: size }, (_, node) => String(node));
  const made = new kinds[found.protocol]({ choices }, found.numbers);
  need(found.width === made.width, "The length of the survey's reports is wrong.");
  return made;
}

// ---------------------------------------------------------------- the device

const KINDS = new Map([
  ["response", Response],
  ["two-coins", TwoCoins],
  ["symmetric-unary", Unary],
  ["unary", Unary],
  ["hashing", LocalHashing],
  ["fast-hashing", FastHashing],
  ["subset", Subset],
  ["hadamard", Hadamard],
  ["basic-rappor", BasicRappor],
  ["rappor", Rappor],
  ["sketch", CountMeanSketch],
  ["hadamard-sketch", HadamardSketch],
  ["duchi", Duchi],
  ["piecewise", Window],
  ["square-wave", Window],
  ["hybrid", Hybrid],
  ["laplace", LaplaceRecord],
  ["tree", Tree],
  ["prefix-words", PrefixWords],
]);

/**
 * The randomizer that a survey's parameters describe.
 *
 * Guarantee: `epsilon` of what is returned is computed here, from the numbers that the coins use, whatever
 *     the document claims; one that costs more than it claims or asked for is refused.
 */
export function randomizer(parameters) {
  const kind = KINDS.get(parameters?.protocol);
  need(kind, "This page does not support the survey's protocol.");
  const fields = ["protocol", "epsilon", "costs", "width", "options", "numbers"];
  only(parameters, fields, [], "The survey's randomizer has unknown fields, or some are missing.");
  const made = new kind(parameters.options, parameters.numbers);
  const [asked, costs] = [ratio(parameters.epsilon), ratio(parameters.costs)];
  need(atMost(asked, { over: 20n, under: 1n }), "The survey's epsilon is more than 20: there is almost no noise.");
  need(atMost(costs, asked), "The survey costs more than was asked for.");
  need(covers(costs, made.epsilon), "The survey's numbers cost more privacy than it claims.");
  need(parameters.width === made.width, "The length of the survey's reports is wrong.");
  need(made.width <= WIDEST, "The survey's reports are longer than any collector accepts.");
  made.protocol = parameters.protocol;
  return made;
}

/** How long the periods of a survey are, in seconds; and the first Monday since 1970. */
const LENGTHS = new Map([
  ["hour", 3600],
  ["day", 86400],
  ["week", 604800],
]);
const FIRST_MONDAY = 4 * 86400;

/** A survey that is collected again and again: its periods, and how often a device may donate in each. */
export class Periods {
  constructor(found) {
    const names = ["every", "donations", "periods", "coins", "start"];
    only(found, names, [], "The survey's periods cannot be read.");
    need(LENGTHS.has(found.every), "The survey's periods are no hours, days or weeks.");
    need(["fresh", "memoized"].includes(found.coins), "The survey's coins are neither fresh nor memoized.");
    [this.every, this.coins, this.length] = [found.every, found.coins, LENGTHS.get(found.every)];
    this.donations = whole(found, "donations", 1, 1000);
    this.periods = whole(found, "periods", 1, 10000);
    this.start = whole(found, "start", 0, 2 ** 40);
    const origin = this.every === "week" ? FIRST_MONDAY : 0;
    need((this.start - origin) % this.length === 0, "The survey's first period begins at no whole hour or day.");
  }

  /** The number of the period that is running, from 1 on; refused where none is. */
  running(nowMs = Date.now()) {
    const number = Math.floor((Math.floor(nowMs / 1000) - this.start) / this.length) + 1;
    need(number >= 1, `This survey begins on ${this.begin(1)} (UTC).`);
    need(number <= this.periods, "This survey is over.");
    return number;
  }

  /** When a period begins, in UTC. */
  begin(number) {
    const text = new Date(1000 * (this.start + (number - 1) * this.length)).toISOString();
    return text.slice(0, this.every === "hour" ? 16 : 10).replace("T", " ");
  }

  /**
   * What this browser can lose to the survey, whatever it answers: by a donation, in a period and over all periods;
   * and over all periods if its answer stays the same.
   */
  loss(made) {
    const once = made.layers ? made.once : made.epsilon;
    const all = this.donations * this.periods;
    if (this.coins === "fresh") {
      need(!made.layers, "The survey's protocol keeps what it draws first, and needs memoized coins.");
      return { donation: once, period: this.donations * once, survey: all * once, unchanged: all * once };
    }
    const answers = made.choices?.length ?? (made.steps === undefined ? Infinity : made.steps + 1);
    const most = (many, distinct) => Math.min(many * once, distinct * made.epsilon);
    return {
      donation: once,
      period: most(this.donations, Math.min(this.donations, answers)),
      survey: most(all, Math.min(all, answers)),
      unchanged: most(this.periods, 1),
    };
  }
}

/**
 * A respondent's browser: coins are flipped once for each answer and kept, so that asking again learns nothing.
 *
 * Guarantee: what `answer` returns was stored before. A reload, a retry or a second look gives the same
 *     bytes, so that many reports of one answer together cost the epsilon of one. RAPPOR's kept bits are what is drawn
 *     once: in each `round` of a survey a fresh report of them is sent, and all rounds together cost the smaller of
 *     the sum of `once` and `epsilon`.
 * The answer itself is not stored: only its HMAC under a random key of this browser, which hides it from
 * a glance, though not from one who takes both and tries every choice. A survey whose randomizer changes is a new
 * question, and counts anew. (Two tabs that answer in the same instant could each flip: `alone` lets one go first,
 * where the browser has locks. A browser without them, or one that shows a tab late what another has stored, can still
 * flip twice. Both reports then carry one id, and the collector counts the first.)
 *
 * `lifetime` is the most that all answers may cost, `limit` how many new reports may be drawn in the last `period`
 * (in seconds).
 */
export class Device {
  constructor(settings = {}) {
    const { storage, source = new SystemSource(), lifetime = Infinity, limit = Infinity, period = 86400 } = settings;
    need(lifetime > 0 && limit >= 1 && period > 0, "A device's limits must be above 0.");
    try {
      this.storage = storage ?? globalThis.localStorage;
      need(this.storage, "");
    } catch {
      throw new Refused(FORGETFUL);
    }
    this.source = source;
    [this.most, this.limit, this.periodMs] = [lifetime, limit, 1000 * period];
  }

  /** What `work` returns, while no other tab of this site is in a work of its own. */
  async alone(work) {
    const { locks } = globalThis.navigator ?? {};
    return locks ? locks.request(`${PREFIX}device`, () => work()) : work();
  }

  /**
   * The report of this answer to this survey ({survey: id, randomizer: parameters}), and the id it is sent under.
   * `lifetime` is the sum of the epsilons of all distinct answers that this browser has ever noised here, `period` that
   * of the last period. A `round` is the name of one of several collections of the survey.
   */
  answer(survey, value, round = "") {
    const made = randomizer(survey.randomizer);
    need(["string", "number"].includes(typeof round), "A round must be a name or a number.");
    // It had periods once: an answer beside them would cost more than was shown.
    need(!this.#read(this.#termsPlace(survey.survey)), CHANGED);
    const question = [survey.survey, described(survey.randomizer), made.canonical(value)];
    const [rounds, layered] = [round === "" ? [] : [String(round)], Boolean(made.layers)];
    const place = `${PREFIX}report.${this.#keyed("answer", ...question, ...(layered ? rounds : []))}`;
    const before = this.#read(place);
    if (!before) this.#store(place, made, value, layered && `${PREFIX}kept.${this.#keyed("kept", ...question)}`);
    const { report } = this.#checked(place);
    const id = this.#keyed("id", survey.survey, ...rounds).slice(0, 32);
    const costs = { epsilon: layered ? made.once : made.epsilon, lifetime: this.lifetime(), period: this.#recent().sum };
    return { id, report: fromHex(report), ...costs, repeated: Boolean(before) };
  }

  /**
   * The next report of this answer to a survey with periods, in the one that is running.
   *
   * With memoized coins an answer that was given before is the same report again, and in one period one donation. With
   * fresh coins each is a new one, unless one of this period is `leaving` and has not `arrived`: then it is that one
   * again (`pending`), whatever the answer, or a collector that confirms nothing would see whether the answer changed.
   * One of the same answer that has not left is that one again, too. More than the survey's limit are refused, and so is
   * a survey whose terms changed since the first donation.
   */
  donate(survey, value) {
    const [made, periods] = [randomizer(survey.randomizer), new Periods(survey.periods)];
    const [loss, number, id] = [periods.loss(made), periods.running(), survey.survey];
    this.#keepTerms(survey, periods);
    const slot = this.#slot(id, number, this.#keyed("given", id, String(number), made.canonical(value)), periods);
    const question = [id, described(survey.randomizer), made.canonical(value)];
    const [fresh, layered] = [periods.coins === "fresh", Boolean(made.layers)];
    const drawn = fresh ? ["fresh", id, String(number), String(slot.index)] : ["answer", ...question];
    const place = `${PREFIX}report.${this.#keyed(...drawn, ...(layered ? [`period ${number}`] : []))}`;
    const kept = layered && `${PREFIX}kept.${this.#keyed("kept", ...question)}`;
    const before = this.#read(place);
    if (!before) this.#afford(kept ? this.#next(made, kept) : made.epsilon);
    // The slot first, with its answer: were the report first, another answer could find it there.
    if (!slot.taken) this.#write(slot.place, { answer: slot.answer, sent: false });
    if (!before) this.#store(place, made, value, kept);
    const { report } = this.#checked(place);
    const costs = { epsilon: loss.donation, lifetime: this.lifetime(), period: this.#recent().sum };
    return {
      id: this.#keyed("period report", id, String(number), String(slot.index)).slice(0, 32),
      report: joined(wholeBytes(number, 2), fromHex(report)),
      ...costs,
      repeated: Boolean(before),
      ...{ survey: id, number, index: slot.index, left: slot.left, loss, pending: slot.pending },
    };
  }

  /** Remember, before a donation is sent, that it leaves: until it has arrived the next one is this one again. */
  leaving({ survey, number, index }) {
    const place = this.#slotPlace(survey, number, index);
    this.#write(place, { ...this.#read(place), left: true });
  }

  /** Remember that a donation has arrived: with fresh coins the next one of the same answer is a new one. */
  arrived({ survey, number, index }) {
    const place = this.#slotPlace(survey, number, index);
    this.#write(place, { ...this.#read(place), sent: true });
  }

  /** How many donations this browser has made in the period that is running, all of which have arrived. */
  donated(survey) {
    const [periods, found] = [new Periods(survey.periods), []];
    const number = periods.running();
    for (let index = 0; index < periods.donations; index++) {
      found.push(this.#read(this.#slotPlace(survey.survey, number, index))?.sent === true);
    }
    return { number, made: found.filter(Boolean).length, left: found.filter((sent) => !sent).length };
  }

  #slotPlace(survey, number, index) {
    return `${PREFIX}slot.${this.#keyed("donation", survey, String(number), String(index))}`;
  }

  /** The place of a donation: one that is taken, where it is the same donation again; else the next free one. */
  #slot(survey, number, answer, periods) {
    const places = Array.from({ length: periods.donations }, (_, index) => this.#slotPlace(survey, number, index));
    const taken = places.map((place) => this.#read(place));
    need(taken.every((each) => each === null || typeof each?.answer === "string"), UNREADABLE);
    const memoized = periods.coins === "memoized";
    const waiting = memoized ? -1 : taken.findIndex((each) => each?.left === true && !each.sent);
    const pending = waiting >= 0;
    const alike = (each) => each?.answer === answer && (memoized || !each.sent);
    const same = pending ? waiting : taken.findIndex(alike);
    const index = same >= 0 ? same : taken.indexOf(null);
    const many = `${periods.donations} donation${periods.donations > 1 ? "s" : ""}`;
    need(index >= 0, `This browser has made its ${many} to this survey for this ${periods.every}.`);
    const left = taken.filter((each) => each === null).length - (same >= 0 ? 0 : 1);
    return { place: places[index], index, answer, taken: same >= 0, left, pending };
  }

  /** What was shown before the first donation holds to the last. */
  #keepTerms(survey, periods) {
    const place = this.#termsPlace(survey.survey);
    const terms = this.#keyed("terms", described(survey.randomizer), stable({ ...periods }));
    const before = this.#read(place);
    if (!before) return this.#write(place, { terms });
    need(before.terms === terms, CHANGED);
  }

  #termsPlace(survey) {
    return `${PREFIX}terms.${this.#keyed("terms of", survey)}`;
  }

  /** The sum of the epsilons of all that was noised here. */
  lifetime() {
    return this.#reports().reduce((sum, { epsilon }) => sum + epsilon, 0);
  }

  /** Remember that this report has arrived. */
  sent(survey, report) {
    this.#write(`${PREFIX}sent.${survey}`, { report: toHex(report) });
  }

  /** The report that has arrived from here, if any. */
  hasSent(survey) {
    const found = this.#read(`${PREFIX}sent.${survey}`);
    return found && fromHex(found.report);
  }

  /** Charged, drawn and written, in this order; of two layers the kept one first. */
  #store(place, made, value, kept) {
    const epsilon = kept ? this.#next(made, kept) : made.epsilon;
    this.#afford(epsilon);
    if (kept && !this.#read(kept)) this.#write(kept, { kept: toHex(made.permanent(value, this.source)) });
    const report = kept ? made.instant(this.#bits(kept, made), this.source) : made.randomize(value, this.source);
    this.#write(place, { report: toHex(report), epsilon, time: Date.now(), ...(kept && { kept }) });
  }

  /** What one more report of these kept bits adds: `once`, until all together cost `epsilon`; then nothing. */
  #next(made, kept) {
    const spent = this.#reports().filter((entry) => entry.kept === kept).reduce((sum, { epsilon }) => sum + epsilon, 0);
    return Math.min(made.once, Math.max(made.epsilon - spent, 0));
  }

  #bits(kept, made) {
    const found = this.#read(kept)?.kept;
    need(typeof found === "string" && found.length === 2 * made.width, UNREADABLE);
    return fromHex(found);
  }

  #afford(epsilon) {
    const [total, recent] = [this.lifetime() + epsilon, this.#recent()];
    need(
      total <= this.most * (1 + SLACK),
      `This answer costs epsilon ${shown(epsilon)}. With it, all your answers here would cost ${shown(total)}: ` +
        `more than this browser's limit of ${shown(this.most)}.`,
    );
    need(
      recent.many < this.limit,
      `This browser has reached its limit of ${this.limit} new answers in this period; they cost epsilon ` +
        `${shown(recent.sum)}.`,
    );
  }

  /** How many reports were drawn in this period, and their cost. Those of the future (a clock set back) count, too. */
  #recent() {
    const recent = this.#reports().filter(({ time }) => time > Date.now() - this.periodMs);
    return { many: recent.length, sum: recent.reduce((sum, { epsilon }) => sum + epsilon, 0) };
  }

  #reports() {
    return this.#places().filter((place) => place.startsWith(`${PREFIX}report.`)).map((place) => this.#checked(place));
  }

  /** All that is remembered here. */
  #places() {
    const places = Array.from({ length: this.storage.length }, (_, index) => this.storage.key(index));
    return places.filter((place) => place?.startsWith(PREFIX));
  }

  /** A report as it was stored; one that was changed by another hand is refused, since its cost is unknown. */
  #checked(place) {
    const found = this.#read(place);
    const good = typeof found?.report === "string" && Number.isFinite(found.epsilon) && found.epsilon >= 0;
    need(good && Number.isFinite(found.time), UNREADABLE);
    return found;
  }

  /** A keyed hash of words, each with its length before it, so that no two lists look alike. */
  #keyed(...words) {
    const framed = words.map(utf8).map((bytes) => joined(wholeBytes(bytes.length, 4), bytes));
    return toHex(hmac(this.#key(), joined(...framed)));
  }

  /** The key, made where nothing is remembered yet. With a new one old answers would be noised again. */
  #key() {
    const place = `${PREFIX}key`;
    if (this.storage.getItem(place) === null) {
      need(!this.#places().length, "This browser has lost the key to its stored coins, so no coins were flipped.");
      this.#write(place, { key: toHex(this.source.words(4)) });
    }
    const key = this.#read(place)?.key;
    need(typeof key === "string" && /^[0-9a-f]{64}$/.test(key), UNREADABLE);
    return fromHex(key);
  }

  #read(place) {
    try {
      return JSON.parse(this.storage.getItem(place));
    } catch {
      throw new Refused(UNREADABLE);
    }
  }

  /** Nothing is shown that was not stored: a storage that does not keep what it is given is refused. */
  #write(place, entry) {
    const text = JSON.stringify(entry);
    try {
      this.storage.setItem(place, text);
    } catch {
      throw new Refused(FORGETFUL);
    }
    need(this.storage.getItem(place) === text, FORGETFUL);
  }
}

/** What decides how an answer is noised, all of it checked: what else a document says makes no new question. */
function described({ protocol, options, numbers }) {
  return toHex(sha256(utf8(stable({ protocol, options, numbers }))));
}

const PREFIX = "discreet.";
const CHANGED = "This survey's periods, limits or coins are not those that you first agreed to.";
const UNREADABLE = "This browser's stored coins cannot be read, so no coins were flipped.";
const FORGETFUL = "This browser does not let the page store its coins, so no coins were flipped and nothing was sent.";

/** An epsilon for people: rounded up. */
export function shown(epsilon) {
  return Number.isFinite(epsilon) ? String(Math.ceil(epsilon * 1000 - 1e-3) / 1000) : "any";
}

/** JSON whose keys are in order, so that one document has one text. */
function stable(value) {
  if (Array.isArray(value)) return `[${value.map(stable).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${stable(value[key])}`).join(",")}}`;
}
