/**
 * Globs as git reads them (`wildmatch.c`): `*`, `?`, `[…]` with ranges, negation and `[:class:]`, `\` escapes and, in
 * patterns for paths, `**`. Compiled to steps and run as a set of positions, so that time is bounded by the product of
 * the lengths of pattern and text, whatever the pattern.
 */

/** Longest pattern that is compiled, in characters; a longer one never matches. */
export const MAX_PATTERN_LENGTH = 4096;

/** Ranges of code points (pairs of first and last), or everything but them. */
interface CharClass {
  readonly negated: boolean;
  readonly ranges: readonly number[];
}

/** A compiled glob. A step is a code point, one of the marks below, or a class (`FIRST_CLASS - index`). */
export interface Glob {
  readonly steps: readonly number[];
  readonly classes: readonly CharClass[];
  /** A name with fewer characters cannot match. */
  readonly minLength: number;
  /** Text that every match begins and ends with. */
  readonly prefix: string;
  readonly suffix: string;
}

/** The positions that a glob may be at after some text. Empty: it can no longer match. */
export type GlobState = readonly number[];

const SLASH = 0x2f;
const ANY = -1;
const STAR = -2;
/** `**` between slashes: anything, slashes too. */
const GLOBSTAR = -3;
/** Takes nothing. Stands before a `**` with a plain `/` after it, and may leave both out: `a/**` + `/b` matches `a/b`. */
const MAYBE = -4;
const FIRST_CLASS = -16;

/** Has the text none of the characters that are special in a glob? */
export function isLiteral(pattern: string): boolean {
  return literalLength(pattern) === pattern.length;
}

/** How many characters at the start of the pattern are not special. */
export function literalLength(pattern: string): number {
  const at = pattern.search(/[*?[\\]/);
  return at < 0 ? pattern.length : at;
}

/**
 * Compile a glob; `undefined` when it can never match (an open `[`, a lone `\` at the end, too long).
 * `paths`: `**` crosses slashes. Otherwise `**` is `*`: the text is one name.
 */
export function compileGlob(pattern: string, paths: boolean): Glob | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return undefined;
  const steps: number[] = [];
  const classes: CharClass[] = [];
  // git cuts the plain text at the start off before it matches, so `**` directly after it counts as standing alone.
  const wildFrom = literalLength(pattern);
  for (let at = 0; at < pattern.length;) {
    const c = pattern.codePointAt(at) ?? 0;
    const width = c > 0xffff ? 2 : 1;
    if (c === 0x2a) {
      const end = endOfStars(pattern, at);
      const stars = end - at > 1 && paths ? starsBetweenSlashes(pattern, at, end, wildFrom) : STAR;
      if (stars === MAYBE) steps.push(MAYBE, GLOBSTAR);
      else if (stars === GLOBSTAR || steps.at(-1) !== STAR) steps.push(stars);
      at = end;
    } else if (c === 0x3f) {
      steps.push(ANY);
      at += 1;
    } else if (c === 0x5b) {
      const parsed = parseClass(pattern, at);
      if (parsed === undefined) return undefined;
      steps.push(FIRST_CLASS - classes.length);
      classes.push(parsed.charClass);
      at = parsed.end;
    } else if (c === 0x5c) {
      const escaped = pattern.codePointAt(at + 1);
      if (escaped === undefined) return undefined;
      steps.push(escaped);
      at += escaped > 0xffff ? 3 : 2;
    } else {
      steps.push(c);
      at += width;
    }
  }
  return { steps, classes, ...boundsOf(steps) };
}

function boundsOf(steps: readonly number[]): { minLength: number; prefix: string; suffix: string } {
  const first = steps.findIndex((step) => step < 0);
  const last = steps.findLastIndex((step) => step < 0);
  // The slash after a `**` may be left out, so it is no part of what must be there.
  const suffixFrom = last + (steps[last - 1] === MAYBE ? 2 : 1);
  return {
    minLength: steps.filter((step) => step !== STAR).length,
    prefix: textOf(first < 0 ? steps : steps.slice(0, first)),
    suffix: textOf(steps.slice(suffixFrom)),
  };
}

function textOf(steps: readonly number[]): string {
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

/** ASCII only, as git has them: the locale plays no part. */
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

/** Reads a class the way `dowild` walks over it, odd cases included (`[]a]`, `[a-]`, `[[:x]`). */
class ClassReader {
  readonly #pattern: string;
  #at: number;
  readonly ranges: number[] = [];

  constructor(pattern: string, at: number) {
    this.#pattern = pattern;
    this.#at = at;
  }

  /** Reads up to the closing `]`; the position after it, or `undefined` when the class is malformed. */
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
    if (c !== undefined) this.#at += c > 0xffff ? 2 : 1;
    return c;
  }

  #takeEscaped(c: number | undefined): number | undefined {
    return c === 0x5c ? this.#take() : c;
  }

  /** One member; what a following `-` would start from (0: nothing). */
  #member(previous: number): number | undefined {
    const start = this.#at;
    const c = this.#take();
    if (c === undefined) return undefined;
    const after = this.#pattern[this.#at];
    if (c === 0x2d && previous !== 0 && after !== undefined && after !== "]") {
      const last = this.#takeEscaped(this.#take());
      if (last === undefined) return undefined;
      this.ranges.push(previous, last);
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
    this.ranges.push(...ranges);
    this.#at = close + 1;
    return 0;
  }
}

function parseClass(pattern: string, at: number): { charClass: CharClass; end: number } | undefined {
  const mark = pattern[at + 1];
  const negated = mark === "!" || mark === "^";
  const reader = new ClassReader(pattern, at + (negated ? 2 : 1));
  const end = reader.read();
  return end === undefined ? undefined : { charClass: { negated, ranges: reader.ranges }, end };
}

function classHolds(glob: Glob, step: number, c: number): boolean {
  const found = glob.classes[FIRST_CLASS - step];
  if (found === undefined) return false;
  const { ranges, negated } = found;
  for (let i = 0; i < ranges.length; i += 2) {
    if (c >= (ranges[i] ?? 0) && c <= (ranges[i + 1] ?? -1)) return !negated;
  }
  return negated;
}

function stepTakes(glob: Glob, step: number, c: number): boolean {
  if (step >= 0) return step === c;
  if (c === SLASH) return false;
  return step === ANY || classHolds(glob, step, c);
}

/** Does the glob match the whole name? The name has no `/`, the glob no `**`. */
export function matchName(glob: Glob, name: string): boolean {
  if (name.length < glob.minLength || !name.startsWith(glob.prefix) || !name.endsWith(glob.suffix)) return false;
  const { steps } = glob;
  let step = 0;
  let at = 0;
  // Where to go on when a later part fails: only the last star need ever take more.
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const c = name.codePointAt(at) ?? 0;
    const wanted = steps[step];
    if (wanted === STAR) {
      star = step;
      starAt = at;
      step += 1;
    } else if (wanted !== undefined && stepTakes(glob, wanted, c)) {
      step += 1;
      at += c > 0xffff ? 2 : 1;
    } else if (star >= 0) {
      starAt += (name.codePointAt(starAt) ?? 0) > 0xffff ? 2 : 1;
      at = starAt;
      step = star + 1;
    } else {
      return false;
    }
  }
  while (steps[step] === STAR) step += 1;
  return step === steps.length;
}

/** The state before any text. */
export function startState(glob: Glob): GlobState {
  return stateAt(glob, 0);
}

/** The state at one step. */
export function stateAt(glob: Glob, step: number): GlobState {
  const state: number[] = [];
  addStep(glob, step, state);
  return state;
}

/** `seen` has one flag per step, for long patterns; short states are looked through. */
function addStep(glob: Glob, step: number, state: number[], seen?: Uint8Array): void {
  if (seen === undefined ? state.includes(step) : seen[step] === 1) return;
  if (seen !== undefined) seen[step] = 1;
  state.push(step);
  const mark = glob.steps[step];
  if (mark !== STAR && mark !== GLOBSTAR && mark !== MAYBE) return;
  addStep(glob, step + 1, state, seen);
  if (mark === MAYBE) addStep(glob, step + 3, state, seen);
}

/** The state after more text. */
export function advance(glob: Glob, from: GlobState, text: string): GlobState {
  let state = from;
  for (let at = 0; at < text.length && state.length > 0;) {
    const c = text.codePointAt(at) ?? 0;
    state = advanceOne(glob, state, c);
    at += c > 0xffff ? 2 : 1;
  }
  return state;
}

function advanceOne(glob: Glob, state: GlobState, c: number): GlobState {
  const next: number[] = [];
  const seen = state.length > 32 ? new Uint8Array(glob.steps.length + 2) : undefined;
  for (const step of state) {
    const mark = glob.steps[step];
    if (mark === undefined || mark === MAYBE) continue;
    if (mark === GLOBSTAR || (mark === STAR && c !== SLASH)) addStep(glob, step, next, seen);
    else if (mark !== STAR && stepTakes(glob, mark, c)) addStep(glob, step + 1, next, seen);
  }
  return next;
}

/** Is the text so far a whole match? */
export function accepts(glob: Glob, state: GlobState): boolean {
  return state.includes(glob.steps.length);
}

/**
 * What the next component must be, if there is only one possibility: its name, and the state after the `/` that follows
 * it (`undefined` when the glob ends there). `undefined`: there is a wildcard in it.
 */
export function literalComponent(
  glob: Glob,
  state: GlobState,
): { name: string; after: GlobState | undefined } | undefined {
  const [start] = state;
  if (start === undefined || state.length !== 1) return undefined;
  let end = start;
  for (let step = glob.steps[end]; step !== undefined && step !== SLASH; step = glob.steps[end]) {
    if (step < 0) return undefined;
    end += 1;
  }
  const name = textOf(glob.steps.slice(start, end));
  return { name, after: end === glob.steps.length ? undefined : stateAt(glob, end + 1) };
}
