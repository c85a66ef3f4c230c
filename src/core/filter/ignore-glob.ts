import { addAll } from "../../util/long-lists.ts";

/**
 * Globs as git reads them (`wildmatch.c`): `*`, `?`, `[…]` with ranges, negation and `[:class:]`, `\` escapes and, in
 * patterns for paths, `**`. A glob is compiled to steps. A match tracks the set of all possible positions in the steps.
 * Therefore, the time of a match is at most proportional to the product of the lengths of pattern and text.
 */

/** The maximum length, in characters, of a pattern that is compiled. A longer pattern never matches. */
const MAX_PATTERN_LENGTH = 4096;

/**
 * A set of code points. `ranges` has pairs of a first and a last code point. The set has the code points in these
 * ranges or, if `negated` is true, all other code points.
 */
interface CharClass {
  readonly negated: boolean;
  readonly ranges: readonly number[];
}

/**
 * A compiled glob. A step is a code point, one of the negative constants below, or the number of a class (`FIRST_CLASS`
 * minus the index of the class).
 */
export interface Glob {
  readonly steps: readonly number[];
  readonly classes: readonly CharClass[];
  /**
   * The minimum length of a name that can match. This length must not be used for globs that may have a `**` between
   * slashes.
   */
  readonly minLength: number;
  /** The text with which every match begins, and the text with which it ends. */
  readonly prefix: string;
  readonly suffix: string;
}

export const SLASH = 0x2f;
/** `?` */
export const ANY = -1;
export const STAR = -2;
/** `**` between slashes, which matches any text, including slashes. */
export const GLOBSTAR = -3;
// A step that consumes no text, before a `**` that is followed by a plain `/`. The step lets a match skip the `**`
// together with the `/`, so that `a/**/b` matches `a/b`.
export const MAYBE = -4;
/** The distance from a capital ASCII letter to its small letter. */
const TO_SMALL = 0x20;
/** Steps of this value and below are classes. */
export const FIRST_CLASS = -16;

export function isLiteral(pattern: string): boolean {
  return literalLength(pattern) === pattern.length;
}

/** Returns the number of characters before the first special character (`*`, `?`, `[` or `\`). */
export function literalLength(pattern: string): number {
  const at = pattern.search(/[*?[\\]/);
  return at < 0 ? pattern.length : at;
}

/**
 * Compiles a glob. Returns `undefined` if the pattern can never match: it has an open `[`, ends with a lone `\`, or is
 * too long. If `paths` is true, `**` crosses slashes. Otherwise, `**` means the same as `*`, because the text is one
 * name. If `ignoreCase` is true, the glob matches as git does with `WM_CASEFOLD`, against text in small letters. In
 * that case, a capital after a `\`, or alone in a class, matches nothing.
 */
export function compileGlob(pattern: string, paths: boolean, ignoreCase = false): Glob | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return undefined;
  const compiler = new GlobCompiler(pattern, paths, ignoreCase);
  for (let at: number | undefined = 0; at !== pattern.length; at = compiler.step(at)) {
    if (at === undefined) return undefined;
  }
  const { steps, classes } = compiler;
  return { steps, classes, ...boundsOf(steps) };
}

class GlobCompiler {
  readonly steps: number[] = [];
  readonly classes: CharClass[] = [];
  readonly #pattern: string;
  readonly #paths: boolean;
  /**
   * The end of the literal prefix. git removes the prefix before matching. Therefore, git treats a `**` directly after
   * the prefix as if a slash preceded it.
   */
  readonly #wildFrom: number;

  readonly #ignoreCase: boolean;

  constructor(pattern: string, paths: boolean, ignoreCase: boolean) {
    this.#pattern = pattern;
    this.#paths = paths;
    this.#ignoreCase = ignoreCase;
    this.#wildFrom = literalLength(pattern);
  }

  /**
   * Compiles the element at a position. Returns the position after the element; `undefined` if the element is
   * malformed.
   */
  step(at: number): number | undefined {
    const c = this.#pattern.codePointAt(at) ?? 0;
    if (c === 0x2a) return this.#stars(at);
    if (c === 0x5b) return this.#charClass(at);
    if (c === 0x5c) return this.#escaped(at);
    const isCapital = this.#ignoreCase && c >= 0x41 && c <= 0x5a;
    this.steps.push(c === 0x3f ? ANY : isCapital ? c + TO_SMALL : c);
    return at + widthOf(c);
  }

  #stars(at: number): number {
    const end = endOfStars(this.#pattern, at);
    const stars = end - at > 1 && this.#paths ? starsBetweenSlashes(this.#pattern, at, end, this.#wildFrom) : STAR;
    if (stars === MAYBE) this.steps.push(MAYBE, GLOBSTAR);
    else if (stars === GLOBSTAR || this.steps.at(-1) !== STAR) this.steps.push(stars);
    return end;
  }

  #charClass(at: number): number | undefined {
    const parsed = parseClass(this.#pattern, at, this.#ignoreCase);
    if (parsed === undefined) return undefined;
    this.steps.push(FIRST_CLASS - this.classes.length);
    this.classes.push(parsed.charClass);
    return parsed.end;
  }

  #escaped(at: number): number | undefined {
    const c = this.#pattern.codePointAt(at + 1);
    if (c === undefined) return undefined;
    this.steps.push(c);
    return at + 1 + widthOf(c);
  }
}

/** Returns the number of UTF-16 units of the code point. */
export function widthOf(c: number): number {
  return c > 0xffff ? 2 : 1;
}

function boundsOf(steps: readonly number[]): { minLength: number; prefix: string; suffix: string } {
  const first = steps.findIndex((step) => step < 0);
  const last = steps.findLastIndex((step) => step < 0);
  // The slash after a `**` may be skipped, so it is not part of the suffix.
  const suffixFrom = last + (steps[last - 1] === MAYBE ? 2 : 1);
  return {
    minLength: steps.filter((step) => step !== STAR).length,
    prefix: textOf(first < 0 ? steps : steps.slice(0, first)),
    suffix: textOf(steps.slice(suffixFrom)),
  };
}

export function textOf(steps: readonly number[]): string {
  let text = "";
  for (const step of steps) text += String.fromCodePoint(step);
  return text;
}

function endOfStars(pattern: string, at: number): number {
  let end = at;
  while (pattern.charCodeAt(end) === 0x2a) end += 1;
  return end;
}

function starsBetweenSlashes(pattern: string, at: number, end: number, wildFrom: number): number {
  const opens = at === wildFrom || pattern.charCodeAt(at - 1) === SLASH;
  if (!opens) return STAR;
  if (end === pattern.length) return GLOBSTAR;
  if (pattern.charCodeAt(end) === SLASH) return MAYBE;
  return pattern.startsWith("\\/", end) ? GLOBSTAR : STAR;
}

/** The classes are ASCII only, as in git, so the locale does not matter. */
const NAMED_CLASSES: Readonly<Record<string, readonly number[]>> = {
  alnum: [0x30, 0x39, 0x41, 0x5a, 0x61, 0x7a],
  alpha: [0x41, 0x5a, 0x61, 0x7a],
  blank: [0x09, 0x09, 0x20, 0x20],
  cntrl: [0x00, 0x1f, 0x7f, 0x7f],
  digit: [0x30, 0x39],
  graph: [0x21, 0x7e],
  lower: [0x61, 0x7a],
  print: [0x20, 0x7e],
  punct: [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e],
  space: [0x09, 0x0a, 0x0d, 0x0d, 0x20, 0x20],
  upper: [0x41, 0x5a],
  xdigit: [0x30, 0x39, 0x41, 0x46, 0x61, 0x66],
};

/** Reads a class as `dowild` does, including odd cases (`[]a]`, `[a-]`, `[[:x]`). */
class ClassReader {
  readonly #pattern: string;
  #at: number;
  readonly #ignoreCase: boolean;
  readonly ranges: number[] = [];

  constructor(pattern: string, at: number, ignoreCase: boolean) {
    this.#pattern = pattern;
    this.#at = at;
    this.#ignoreCase = ignoreCase;
  }

  /** Reads up to the closing `]`. Returns the position after the `]`; `undefined` if the class is malformed. */
  read(): number | undefined {
    let previous = 0;
    do {
      const next = this.#member(previous);
      if (next === undefined) return undefined;
      previous = next;
    } while (this.#pattern[this.#at] !== "]");
    return this.#at + 1;
  }

  #take(): number | undefined {
    const c = this.#pattern.codePointAt(this.#at);
    if (c !== undefined) this.#at += widthOf(c);
    return c;
  }

  #takeEscaped(c: number | undefined): number | undefined {
    return c === 0x5c ? this.#take() : c;
  }

  /**
   * Reads one member of the class. Returns the first code point of the range that a following `-` would make. Returns 0
   * if a following `-` makes no range, and `undefined` if the class is malformed.
   */
  #member(previous: number): number | undefined {
    const start = this.#at;
    const c = this.#take();
    if (c === undefined) return undefined;
    const after = this.#pattern[this.#at];
    if (c === 0x2d && previous !== 0 && after !== undefined && after !== "]") {
      const last = this.#takeEscaped(this.#take());
      if (last === undefined) return undefined;
      this.#range(previous, last);
      return 0;
    }
    if (c === 0x5b && after === ":") return this.#named(start);
    const literal = this.#takeEscaped(c);
    if (literal !== undefined) this.ranges.push(literal, literal);
    return literal;
  }

  #named(start: number): number | undefined {
    const close = this.#pattern.indexOf("]", start + 2);
    if (close < 0) return undefined;
    if (close < start + 3 || this.#pattern[close - 1] !== ":") {
      this.ranges.push(0x5b, 0x5b);
      this.#at = start + 1;
      return 0x5b;
    }
    const name = this.#pattern.slice(start + 2, close - 1);
    const ranges = Object.hasOwn(NAMED_CLASSES, name) ? NAMED_CLASSES[name] : undefined;
    if (ranges === undefined) return undefined;
    addAll(this.ranges, ranges);
    if (name === "upper") this.#range(0x41, 0x5a);
    this.#at = close + 1;
    return 0;
  }

  /**
   * Adds a range. If the case is ignored, also adds the small letters of the range's capitals, because the compared
   * text has only small letters.
   */
  #range(first: number, last: number): void {
    this.ranges.push(first, last);
    if (!this.#ignoreCase) return;
    const from = Math.max(first, 0x41);
    const to = Math.min(last, 0x5a);
    if (from <= to) this.ranges.push(from + TO_SMALL, to + TO_SMALL);
  }
}

function parseClass(
  pattern: string,
  at: number,
  ignoreCase: boolean,
): { charClass: CharClass; end: number } | undefined {
  const mark = pattern[at + 1];
  const negated = mark === "!" || mark === "^";
  const reader = new ClassReader(pattern, at + (negated ? 2 : 1), ignoreCase);
  const end = reader.read();
  return end === undefined ? undefined : { charClass: { negated, ranges: reader.ranges }, end };
}
