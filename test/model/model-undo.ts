import { placesOf, textOf, type State, type Tree } from "./model-tree.ts";

/**
 * The result of an undo, computed from the recorded states alone. It is an oracle that shares no code with the engine.
 */

/** A recorded change of a path: the states before and after the event `seq`. */
export interface Step {
  readonly path: string;
  readonly seq: number;
  readonly before: State;
  readonly after: State;
}

/**
 * The result of an undo. `tree`: the files. `unmerged`: the paths that met a conflict. `stayed`: the folders that had
 * to be removed, but stay because they hold something.
 */
export interface Outcome {
  readonly tree: Map<string, string>;
  readonly unmerged: ReadonlySet<string>;
  /** By path with a conflict: the state that the undo would write. It may be a content that existed nowhere before. */
  readonly offered: ReadonlyMap<string, string>;
  readonly stayed: ReadonlySet<string>;
}

/**
 * The side that wins where a merge conflicts: the present state (`ours`), or the state that the undo wants (`theirs`).
 */
type Side = "ours" | "theirs";

/**
 * An earlier undo. `took`: it has undone this step and still holds. `wrote`: it wrote this step. `hasConflict`: it met
 * one.
 */
export interface Undo {
  readonly took: (step: Step) => boolean;
  readonly wrote: (step: Step) => boolean;
  readonly hasConflict: boolean;
}

/**
 * The steps that an undo is to undo, and the earlier undos that it passes over. There are none of these if the undo
 * concerns everybody's steps.
 */
export interface Meant {
  readonly isMeant: (step: Step) => boolean;
  readonly undos: readonly Undo[];
}

/**
 * Computes an undo. Each path is computed separately: its own steps are undone from the newest to the oldest, each by a
 * three-way merge with the state that the path has by then. `own` in the answer: the events of all own steps.
 *
 * Steps that are passed over (see `partsOf`) can be treated in two ways. Usually they are undone together with the own
 * steps beside them, because an undo and what it has undone cancel out. If that conflicts and undoing the own steps
 * alone does not, the own steps are undone alone.
 */
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
 * Divides the steps of a path. `own` are the steps to undo: those that are meant and not yet undone. `passed` are steps
 * beside them that are passed over: those that earlier undos have undone or written.
 *
 * An earlier undo is passed over only if it has undone and written something at this path, without a conflict, and if
 * all of these steps lie in one uninterrupted row of own and passed steps (`runs` in the code) that has an own step. If
 * one undo does not fulfil this, fewer steps are passed over, so the rows are computed again until nothing changes.
 *
 * A step whose undo wrote nothing is "vain" in the code: a later step had already reversed it, so the undo had nothing
 * to write. If such a step comes directly before a row, it is an own step again.
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
  // An undo that only made the folder for another path has undone nothing at this path. It is part of no row.
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

/**
 * Fits the computed states of all paths together. A path has a conflict if the two sides would leave different states.
 */
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

/** Joins adjacent steps into groups. A group has the state before its first step and the state after its last one. */
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

/**
 * Undoes the groups of a path, from the newest to the oldest, starting from its present state. Each is a three-way
 * merge with the state after the group as base.
 */
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

/**
 * Merges one value three ways. If only one side changed it, the value of that side is taken. If both changed it
 * differently, it is a clash, and the preferred side is taken.
 */
function pick<T>({ base, ours, theirs }: Sides<T>, prefer: Side): { readonly value: T; readonly clash: boolean } {
  if (ours === base) return { value: theirs, clash: false };
  if (theirs === base || ours === theirs) return { value: ours, clash: false };
  return { value: prefer === "ours" ? ours : theirs, clash: true };
}

/**
 * Merges the states of a path. If both sides are files and changed differently, mode and text are merged separately.
 */
function merge(sides: Sides<State>, prefer: Side): Merged {
  const whole = pick(sides, prefer);
  const [base, ours, theirs] = [sides.base, sides.ours, sides.theirs].map(fileOf);
  if (!whole.clash || base === undefined || ours === undefined || theirs === undefined)
    return { state: whole.value, clash: whole.clash };
  const mode = pick({ base: base.mode, ours: ours.mode, theirs: theirs.mode }, prefer);
  const text = mergeTexts({ base: base.text, ours: ours.text, theirs: theirs.text }, prefer);
  return { state: `${mode.value} ${text.value}`, clash: mode.clash || text.clash };
}

/** Merges texts place by place. Any other content is merged as a whole. */
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

/**
 * Fits wanted states of paths into the present files, so that the result is a possible tree:
 *
 * - A path that comes back gets its missing folders. If something that is not a folder is in the way, the path does not
 *   come back (`unmerged`).
 * - A folder that still holds something stays (`stayed`). If a file or link was wanted in its place, the path is
 *   `unmerged`.
 */
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

/**
 * Returns the folders above a path that are missing, from the innermost on. `undefined` if something that is not a
 * folder is in the way.
 */
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
