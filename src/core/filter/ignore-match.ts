import { ANY, FIRST_CLASS, GLOBSTAR, MAYBE, SLASH, STAR, textOf, widthOf } from "./ignore-glob.ts";
import type { Glob } from "./ignore-glob.ts";

/**
 * The indexes of the steps at which a match of a glob can continue after some text. The list is empty if no
 * continuation of the text can match.
 */
export type GlobState = readonly number[];

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

/** Returns true if the glob matches the whole name. The name must have no `/`, and the glob no `**`. */
export function matchName(glob: Glob, name: string): boolean {
  if (name.length < glob.minLength || !name.startsWith(glob.prefix) || !name.endsWith(glob.suffix)) return false;
  const { steps } = glob;
  let step = 0;
  let at = 0;
  // `star` is the step of the last `*`, and `starAt` is the end of the text that this `*` has consumed. When a later
  // step fails, the `*` consumes one more character. Earlier stars never need to consume more text.
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
      at += widthOf(c);
    } else if (star >= 0) {
      starAt += widthOf(name.codePointAt(starAt) ?? 0);
      at = starAt;
      step = star + 1;
    } else {
      return false;
    }
  }
  while (steps[step] === STAR) step += 1;
  return step === steps.length;
}

export function startState(glob: Glob): GlobState {
  return stateAt(glob, 0);
}

function stateAt(glob: Glob, step: number): GlobState {
  const state: number[] = [];
  addStep(glob, step, state);
  return state;
}

/**
 * Adds a step to a state, and also the steps that can be reached from this step without consuming text. `seen` has a 1
 * at the index of each step that the state already has. Without `seen`, the state itself is searched.
 */
function addStep(glob: Glob, step: number, state: number[], seen?: Uint8Array): void {
  if (seen === undefined ? state.includes(step) : seen[step] === 1) return;
  if (seen !== undefined) seen[step] = 1;
  state.push(step);
  const mark = glob.steps[step];
  if (mark !== STAR && mark !== GLOBSTAR && mark !== MAYBE) return;
  addStep(glob, step + 1, state, seen);
  if (mark === MAYBE) addStep(glob, step + 3, state, seen);
}

export function advance(glob: Glob, from: GlobState, text: string): GlobState {
  let state = from;
  for (let at = 0; at < text.length && state.length > 0;) {
    const c = text.codePointAt(at) ?? 0;
    state = advanceOne(glob, state, c);
    at += widthOf(c);
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

export function accepts(glob: Glob, state: GlobState): boolean {
  return state.includes(glob.steps.length);
}

/**
 * Returns the next component of a path if the glob allows only one name for it. `after` is the state after the `/` that
 * follows the component; `undefined` if the glob ends with the component. Returns `undefined` if the component has a
 * wildcard, or if the state does not have exactly one step.
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
