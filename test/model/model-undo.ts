import { placesOf, textOf, type State, type Tree } from "./model-tree.ts";

/** What an undo must leave, from the states alone: an oracle that shares no code with the engine. */

/** One recorded state of a path, and the one before. */
export interface Step {
  readonly path: string;
  readonly seq: number;
  readonly before: State;
  readonly after: State;
}

/** What is to be there, where nothing could be merged, and what stays although it was to go. */
export interface Outcome {
  readonly tree: Map<string, string>;
  readonly unmerged: ReadonlySet<string>;
  /** What the undo would have there: it may be a content that never was anywhere. */
  readonly offered: ReadonlyMap<string, string>;
  readonly stayed: ReadonlySet<string>;
}

type Side = "ours" | "theirs";

/** An undo that holds. */
export interface Undo {
  readonly took: (step: Step) => boolean;
  readonly wrote: (step: Step) => boolean;
  readonly hasConflict: boolean;
}

/** Whose steps an undo is about, and the undos that it passes over; none where it is about everybody's. */
export interface Meant {
  readonly isMeant: (step: Step) => boolean;
  readonly undos: readonly Undo[];
}

/** Takes the own steps back, from the newest to the oldest, each merged with what is there then. `own`: their events. */
export function takeBack(
  history: readonly Step[],
  meant: Meant,
  present: Tree,
): Outcome & { readonly own: readonly number[] } {
  const ways = new Map<string, Folded>();
  const all = new Set<Step>();
  for (const path of new Set(history.filter(meant.isMeant).map((step) => step.path))) {
    const steps = history.filter((step) => step.path === path);
    const { own, passed } = partsOf(steps, meant);
    if (own.size === 0) continue;
    for (const step of own) all.add(step);
    const groups = [
      groupsOf(steps, (step) => own.has(step) || passed.has(step)),
      groupsOf(steps, (step) => own.has(step)),
    ];
    const [joined, apart] = groups.map((some) => ({
      ours: fold(some, present.get(path), "ours"),
      theirs: fold(some, present.get(path), "theirs"),
    })) as [Folded, Folded];
    ways.set(path, joined.ours.clash && !apart.ours.clash ? apart : joined);
  }
  return { ...outcomeOf(present, ways), own: history.filter((step) => all.has(step)).map((step) => step.seq) };
}

/**
 * The own steps of a path, and those beside them that are passed over: what other undos took and wrote, where all of that
 * lies in one run of own and passed steps. Where the undo of a step wrote nothing, because a later step had undone it, the
 * step is own again right before such a run.
 */
function partsOf(
  steps: readonly Step[],
  { isMeant, undos }: Meant,
): { readonly own: ReadonlySet<Step>; readonly passed: ReadonlySet<Step> } {
  const standing: Undo[] = [];
  for (const undo of undos.toReversed())
    if (!steps.some((step) => undo.wrote(step) && standing.some((later) => later.took(step)))) standing.push(undo);
  const isTaken = (step: Step): boolean => undos.some((one) => one.took(step));
  const hasWritten = (one: Undo): boolean => steps.some((step) => one.wrote(step));
  const takers = (step: Step): Undo[] => standing.filter((one) => one.took(step));
  const isVain = (step: Step): boolean => takers(step).length > 0 && !takers(step).some(hasWritten);
  // An undo that only made a folder for others took nothing here, and is no part of any run.
  const hasTaken = (one: Undo): boolean => steps.some((step) => one.took(step));
  let passing = standing.filter((one) => hasWritten(one) && hasTaken(one) && !one.hasConflict);
  for (;;) {
    const isPassed = (step: Step): boolean =>
      passing.some((one) => one.wrote(step)) ||
      (takers(step).some(hasWritten) && takers(step).every((one) => passing.includes(one) || !hasWritten(one)));
    const runs: Step[][] = [];
    let next: Step[] | undefined;
    for (const step of steps.toReversed()) {
      const isOwn = isMeant(step) && (!isTaken(step) || (next !== undefined && isVain(step)));
      if (isOwn || isPassed(step)) {
        if (next === undefined) runs.push((next = []));
        next.push(step);
      } else next = undefined;
    }
    const near = runs.filter((run) => run.some((step) => isMeant(step) && !isTaken(step)));
    const isWhole = (one: Undo): boolean =>
      near.some((run) => steps.every((step) => (!one.took(step) && !one.wrote(step)) || run.includes(step)));
    if (passing.every(isWhole)) {
      const isOwn = (step: Step): boolean => isMeant(step) && (!isTaken(step) || isVain(step));
      const [own, passed] = [near.flat().filter(isOwn), near.flat().filter((step) => !isOwn(step))];
      return { own: new Set(own), passed: new Set(passed) };
    }
    passing = passing.filter(isWhole);
  }
}

function outcomeOf(present: Tree, ways: ReadonlyMap<string, Folded>): Outcome {
  const wanted = new Map<string, State>();
  const unmerged = new Set<string>();
  const offered = new Map<string, string>();
  for (const [path, { ours, theirs }] of ways) {
    wanted.set(path, ours.state);
    if (!ours.clash || ours.state === theirs.state) continue;
    unmerged.add(path);
    if (theirs.state !== undefined) offered.set(path, theirs.state);
  }
  return { ...fit(present, wanted, unmerged), offered };
}

interface Group {
  readonly before: State;
  after: State;
}

/** Steps right after one another count as one. */
function groupsOf(steps: readonly Step[], isPart: (step: Step) => boolean): Group[] {
  const groups: Group[] = [];
  let last: Group | undefined;
  for (const step of steps) {
    if (!isPart(step)) last = undefined;
    else if (last === undefined) groups.push((last = { before: step.before, after: step.after }));
    else last.after = step.after;
  }
  return groups;
}

interface Folded {
  readonly ours: Merged;
  readonly theirs: Merged;
}

interface Merged {
  readonly state: State;
  readonly clash: boolean;
}

function fold(groups: readonly Group[], present: State, prefer: Side): Merged {
  let state = present;
  let clash = false;
  for (const { before, after } of groups.toReversed()) {
    const merged = merge({ base: after, ours: state, theirs: before }, prefer);
    state = merged.state;
    clash ||= merged.clash;
  }
  return { state, clash };
}

interface Sides<T> {
  readonly base: T;
  readonly ours: T;
  readonly theirs: T;
}

/** One thing three ways: who changed it has it; both did, differently: a clash. */
function pick<T>({ base, ours, theirs }: Sides<T>, prefer: Side): { readonly value: T; readonly clash: boolean } {
  if (ours === base) return { value: theirs, clash: false };
  if (theirs === base || ours === theirs) return { value: ours, clash: false };
  return { value: prefer === "ours" ? ours : theirs, clash: true };
}

function merge(sides: Sides<State>, prefer: Side): Merged {
  const whole = pick(sides, prefer);
  const [base, ours, theirs] = [sides.base, sides.ours, sides.theirs].map(fileOf);
  if (!whole.clash || base === undefined || ours === undefined || theirs === undefined)
    return { state: whole.value, clash: whole.clash };
  const mode = pick({ base: base.mode, ours: ours.mode, theirs: theirs.mode }, prefer);
  const text = mergeTexts({ base: base.text, ours: ours.text, theirs: theirs.text }, prefer);
  return { state: `${mode.value} ${text.value}`, clash: mode.clash || text.clash };
}

function mergeTexts(sides: Sides<string>, prefer: Side): { readonly value: string; readonly clash: boolean } {
  const whole = pick(sides, prefer);
  const [base, ours, theirs] = [sides.base, sides.ours, sides.theirs].map(placesOf);
  if (!whole.clash || base === undefined || ours === undefined || theirs === undefined) return whole;
  const places = base.map((place, i) => pick({ base: place, ours: ours[i] ?? "", theirs: theirs[i] ?? "" }, prefer));
  return { value: textOf(places.map((one) => one.value)), clash: places.some((one) => one.clash) };
}

function fileOf(state: State): { readonly mode: string; readonly text: string } | undefined {
  const match = /^(\d+) (.*)$/s.exec(state ?? "");
  return match === null ? undefined : { mode: match[1] ?? "", text: match[2] ?? "" };
}

/** What comes back needs its folders; a folder that holds something stays; nothing lies in what is no folder. */
export function fit(present: Tree, wanted: ReadonlyMap<string, State>, unmerged = new Set<string>()): Outcome {
  const stayed = new Set<string>();
  const now = new Map<string, State>([...present, ...wanted]);
  for (const path of [...wanted.keys()].sort()) {
    if (present.has(path) || now.get(path) === undefined) continue;
    const missing = missingFolders(path, now);
    if (missing === undefined) {
      now.set(path, undefined);
      unmerged.add(path);
    }
    for (const folder of missing ?? []) {
      if (present.get(folder) === "dir") stayed.add(folder);
      now.set(folder, "dir");
    }
  }
  const leaving = [...present.keys()].filter((path) => present.get(path) === "dir" && now.get(path) !== "dir");
  for (const path of leaving.sort().toReversed()) {
    if (![...now].some(([other, state]) => state !== undefined && other.startsWith(`${path}/`))) continue;
    if (now.get(path) === undefined) stayed.add(path);
    else unmerged.add(path);
    now.set(path, "dir");
  }
  const tree = new Map([...now].flatMap(([path, state]) => (state === undefined ? [] : [[path, state] as const])));
  return { tree, unmerged, stayed, offered: new Map() };
}

/** The folders around a path that are not to be there; `undefined`: something else stands in the way. */
function missingFolders(path: string, now: ReadonlyMap<string, State>): string[] | undefined {
  const missing: string[] = [];
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const state = now.get(path.slice(0, end));
    if (state === "dir") break;
    if (state !== undefined) return undefined;
    missing.push(path.slice(0, end));
  }
  return missing;
}
