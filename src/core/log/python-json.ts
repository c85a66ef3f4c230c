import { ChronicleError } from "../values/errors.ts";
import type { Json } from "../values/event.ts";

/**
 * JSON as Python's `json` module reads and writes it. This form is needed to check hashes of texts that Python wrote.
 * Numbers are kept as text, because Python distinguishes `1` from `1.0` and has integers of any size.
 */
export type PythonJson =
  | { readonly kind: "object"; readonly members: ReadonlyMap<string, PythonJson> }
  | { readonly kind: "array"; readonly items: readonly PythonJson[] }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "number"; readonly token: string }
  | { readonly kind: "literal"; readonly value: boolean | null };

/** The maximum depth of nesting. Values that are nested deeper are refused, so that the stack is not exhausted. */
const MAX_DEPTH = 300;
const SPACES = /[ \t\n\r]*/y;
const NUMBER = /NaN|-?Infinity|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERALS: readonly (readonly [text: string, value: boolean | null])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/**
 * Parses a text that Python wrote. In addition to JSON, the text may have `NaN`, `Infinity` and `-Infinity`. Throws
 * `INTEGRITY_VIOLATION` for other texts, duplicate keys and lone surrogates, and `REFUSED` for values that are nested
 * too deeply.
 */
export function readPythonJson(text: string): PythonJson {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): PythonJson {
    if (depth > MAX_DEPTH) throw new ChronicleError("REFUSED", `a value is nested deeper than ${MAX_DEPTH} levels`);
    this.#skip(SPACES);
    const first = this.#text[this.#at];
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#array(depth);
    if (first === '"') return { kind: "string", value: this.#string() };
    for (const [word, value] of LITERALS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return { kind: "literal", value };
    }
    const token = this.#skip(NUMBER);
    return token === "" ? this.#refuse("no JSON value") : { kind: "number", token };
  }

  end(): void {
    this.#skip(SPACES);
    if (this.#at < this.#text.length) this.#refuse("further text after the value");
  }

  #object(depth: number): PythonJson {
    const members = new Map<string, PythonJson>();
    this.#at += 1;
    if (this.#takes("}")) return { kind: "object", members };
    do {
      this.#skip(SPACES);
      const key = this.#string();
      if (members.has(key)) this.#refuse(`the key ${JSON.stringify(key)} twice`);
      if (!this.#takes(":")) this.#refuse("no colon after a key");
      members.set(key, this.value(depth + 1));
    } while (this.#takes(","));
    if (!this.#takes("}")) this.#refuse("an object without an end");
    return { kind: "object", members };
  }

  #array(depth: number): PythonJson {
    const items: PythonJson[] = [];
    this.#at += 1;
    if (this.#takes("]")) return { kind: "array", items };
    do items.push(this.value(depth + 1));
    while (this.#takes(","));
    if (!this.#takes("]")) this.#refuse("a list without an end");
    return { kind: "array", items };
  }

  #string(): string {
    const start = this.#at;
    if (this.#text[start] !== '"') this.#refuse("a string is missing");
    for (let at = start + 1; ; at += 1) {
      const unit = this.#text[at];
      if (unit === undefined) return this.#refuse("a text without an end");
      if (unit === "\\") at += 1;
      if (unit !== '"') continue;
      this.#at = at + 1;
      return this.#unescape(this.#text.slice(start, this.#at));
    }
  }

  #unescape(quoted: string): string {
    let value: string;
    try {
      value = JSON.parse(quoted) as string;
    } catch {
      return this.#refuse("a text with an escape or a character that JSON does not know");
    }
    return value.isWellFormed() ? value : this.#refuse("a text with a lone surrogate");
  }

  #takes(char: string): boolean {
    this.#skip(SPACES);
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #refuse(what: string): never {
    throw new ChronicleError("INTEGRITY_VIOLATION", `${what}, at character ${this.#at + 1}`);
  }
}

/**
 * Returns the text that `json.dumps(value, sort_keys=True, ensure_ascii=False)` returns. This text has a space after
 * each comma and colon, keys sorted by code points, and only the escapes that JSON requires.
 */
export function pythonText(value: PythonJson): string {
  switch (value.kind) {
    case "object": {
      const keys = [...value.members.keys()].sort(compareCodePoints);
      const members = keys.map((key) => `${JSON.stringify(key)}: ${pythonText(memberOf(value.members, key))}`);
      return `{${members.join(", ")}}`;
    }
    case "array":
      return `[${value.items.map(pythonText).join(", ")}]`;
    case "string":
      return JSON.stringify(value.value);
    case "number":
      return value.token;
    case "literal":
      return String(value.value);
  }
}

function memberOf(members: ReadonlyMap<string, PythonJson>, key: string): PythonJson {
  return members.get(key) ?? { kind: "literal", value: null };
}

/**
 * Compares two texts by code points, as Python does. In this order, characters beyond U+FFFF come last. In the order of
 * UTF-16 units, the characters from U+E000 to U+FFFF would come last instead.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * A value in the form in which it is stored. `rounded` is the number of its integers that a double cannot represent
 * exactly. These integers are rounded.
 */
export interface PlainValue {
  readonly value: Json;
  readonly rounded: number;
}

/**
 * Converts a value to the form in which it is stored. Rounds and counts the integers that a double cannot represent
 * exactly. Throws `REFUSED` for NaN, for infinities, and for a number beyond the range of a double.
 */
export function plainValue(node: PythonJson): PlainValue {
  let rounded = 0;
  const plain = (one: PythonJson): Json => {
    switch (one.kind) {
      case "object": {
        // For `Object.fromEntries`, `__proto__` is a key like any other. The code that stores the value may still
        // refuse this key.
        const members = [...one.members].map(([key, member]) => [key, plain(member)] as const);
        return Object.fromEntries(members);
      }
      case "array":
        return one.items.map(plain);
      case "number":
        if (!isExact(one.token)) rounded += 1;
        return numberOf(one.token);
      default:
        return one.value;
    }
  };
  return { value: plain(node), rounded };
}

function numberOf(token: string): number {
  const number = Number(token);
  if (Number.isFinite(number)) return number;
  const isNone = /^(?:NaN|-?Infinity)$/.test(token);
  const why = isNone ? `${token}, which is no number of JSON` : `the number ${token.slice(0, 40)}…, which is too great`;
  throw new ChronicleError("REFUSED", `a record holds ${why}`);
}

/**
 * Returns true if a double represents the number exactly. Python writes a float with as many digits as are needed to
 * identify it, so only an integer can be inexact. Also returns true for a number that is not finite, because `numberOf`
 * refuses such a number.
 */
function isExact(token: string): boolean {
  const number = Number(token);
  if (Number.isSafeInteger(number) || !Number.isFinite(number) || /[.eE]/.test(token)) return true;
  return BigInt(number) === BigInt(token);
}
