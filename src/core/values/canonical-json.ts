import { ChronicleError } from "./errors.ts";
import canonicalize from "canonicalize";

/**
 * Canonical JSON: RFC 8785 (JCS). One value has exactly one text: no spaces, keys sorted by UTF-16 code units, numbers
 * in the format of ECMAScript, and only the escapes that JSON requires.
 *
 * `JSON.stringify` already writes this text for values whose keys are in order. Only other values need `sortingWrite`.
 */

/**
 * The maximum depth of nested objects and arrays. Deeper values are refused, because they could exhaust the stack of a
 * reader.
 */
export const MAX_JSON_DEPTH = 256;

interface JsonRules {
  /** True if every number must be an integer within ±(2^53−1), as in Chronicle's own records. */
  readonly integers?: boolean;
  /**
   * The number of objects or arrays that will enclose the value, and that count towards the maximum nesting. Default 0.
   */
  readonly outer?: number;
}

function refuse(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `not a value for canonical JSON: ${reason}`);
}

/**
 * Returns the RFC 8785 text of a value. Throws `INTEGRITY_VIOLATION` for values that have no such text: NaN,
 * infinities, lone surrogates, `undefined`, functions, class instances, cycles, and values nested deeper than
 * `MAX_JSON_DEPTH`. Also throws this error for values that break the `rules`.
 */
export function canonicalJson(value: Json, rules: JsonRules = {}): string {
  const sorted = inspect(value, rules.outer ?? 0, rules.integers === true);
  const text = sorted ? JSON.stringify(value) : sortingWrite(value);
  if (mayHoldLoneSurrogate(text)) assertWellFormed(value);
  return text;
}

/**
 * Parses a text that is exactly canonical. Throws `INTEGRITY_VIOLATION` for every other text: duplicate keys, spaces,
 * `-0`, `1e21` (canonical: `1e+21`), numbers with more digits than a double keeps, needless escapes, lone surrogates, a
 * byte order mark. Also throws this error for a value that breaks the `rules` or is nested deeper than
 * `MAX_JSON_DEPTH`. Keys that look like integers are sorted as text, and `__proto__` is an ordinary key.
 */
export function parseCanonical(text: string, rules: JsonRules = {}): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (cause) {
    throw new ChronicleError("INTEGRITY_VIOLATION", "not JSON", { cause });
  }
  const fault = canonicalFault(text, value, rules);
  if (fault !== undefined) throw new ChronicleError("INTEGRITY_VIOLATION", fault);
  return value;
}

/**
 * Returns the reason why `text` is not canonical or breaks the rules; `undefined` if the text is valid. `value` must be
 * the parsed `text`.
 */
export function canonicalFault(text: string, value: Json, rules: JsonRules = {}): string | undefined {
  if (!text.isWellFormed()) return "not canonical JSON: it has a lone surrogate";
  try {
    const sorted = inspect(value, rules.outer ?? 0, rules.integers === true);
    if (mayHoldLoneSurrogate(text)) assertWellFormed(value);
    // Compares the texts even if the keys of the parsed value are in order. The given text may have duplicate keys, or
    // another spelling of a value.
    if (sorted && JSON.stringify(value) === text) return undefined;
    return !sorted && sortingWrite(value) === text ? undefined : "not canonical JSON";
  } catch (error) {
    if (error instanceof ChronicleError) return error.message;
    throw error;
  }
}

/**
 * Throws `INTEGRITY_VIOLATION` for a value that `canonicalJson` cannot write, and for a value with a number that is not
 * an integer within ±(2^53−1). Chronicle's own records must pass both checks.
 */
export function assertIntegers(value: Json): void {
  inspect(value, 0, true);
  assertWellFormed(value);
}

/** Checks types, numbers and depth. Returns true if the keys of every object are already in canonical order. */
function inspect(value: unknown, depth: number, integers: boolean): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      if (!Number.isFinite(value)) refuse(`${value} is not a finite number`);
      if (integers && !Number.isSafeInteger(value)) refuse(`${value} is not an integer within ±(2^53−1)`);
      return true;
    case "object":
      if (value === null) return true;
      if (depth === MAX_JSON_DEPTH) refuse(`it is nested deeper than ${MAX_JSON_DEPTH} levels`);
      return Array.isArray(value) ? inspectArray(value, depth, integers) : inspectObject(value, depth, integers);
    default:
      return refuse(`it holds ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}`);
  }
}

function inspectArray(items: readonly unknown[], depth: number, integers: boolean): boolean {
  let sorted = true;
  for (let i = 0; i < items.length; i += 1) {
    if (!inspect(items[i], depth + 1, integers)) sorted = false;
  }
  return sorted;
}

function inspectObject(value: object, depth: number, integers: boolean): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) refuse("it holds an instance of a class");
  const keys = Object.keys(value);
  let sorted = true;
  let previous = "";
  for (let i = 0; i < keys.length; i += 1) {
    const key = keys[i] as string;
    // JavaScript compares strings by UTF-16 code units, which is the order of RFC 8785.
    if (i > 0 && key < previous) sorted = false;
    previous = key;
    if (!inspect((value as Record<string, unknown>)[key], depth + 1, integers)) sorted = false;
  }
  return sorted;
}

function sortingWrite(value: Json): string {
  assertWellFormed(value);
  const text = canonicalize(value);
  return text ?? refuse("nothing was written");
}

/** Returns true if the text may have a lone surrogate. `JSON.stringify` writes a lone surrogate as `\udXXX`. */
function mayHoldLoneSurrogate(text: string): boolean {
  return text.includes("\\ud") || text.includes("\\uD");
}

function assertWellFormed(value: Json): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) refuse("a string holds a lone surrogate");
  } else if (value !== null && typeof value === "object") {
    for (const [key, item] of Object.entries(value)) {
      if (!key.isWellFormed()) refuse("a key holds a lone surrogate");
      assertWellFormed(item as Json);
    }
  }
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The content of a record: any JSON object. */
export type RecordBody = { readonly [key: string]: Json };
