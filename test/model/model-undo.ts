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

/** What is known of the steps between the own ones, and what is there after the undo. */
interface Between {
  /** Was it undone, or written by an undo that still holds? */
  readonly isVoid: (step: Step) => boolean;
  readonly left: Tree;
}

/**
 * Takes the own steps back, from the newest to the oldest, each merged with what is there then. Own steps count as one
 * where all between them is void and leads back to where it began. Void steps around them may count as theirs, and the
 * undo may have taken them one by one, since an undo whose work reaches further is not passed over: `left` tells, where the
 * usual way does not explain what is there.
 */
export function takeBack(
  history: readonly Step[],
  isOwn: (step: Step) => boolean,
  present: Tree,
  between?: Between,
): Outcome {
  const chosen = new Map<string, Folded>();
  const ways = new Map<string, readonly Folded[]>();
  for (const path of new Set(history.filter(isOwn).map((step) => step.path))) {
    const steps = history.filter((step) => step.path === path);
    const isVoid = between?.isVoid ?? ((): boolean => false);
    const groups = [groupsOf(steps, isOwn, isVoid), groupsOf(steps, isOwn, () => false), runsOf(steps, isOwn, isVoid)];
    const [joined, apart, around] = groups.map((some) => ({
      ours: fold(some, present.get(path), "ours"),
      theirs: fold(some, present.get(path), "theirs"),
    })) as [Folded, Folded, Folded];
    const isApart = joined.ours.clash && !apart.ours.clash;
    chosen.set(path, isApart ? apart : joined);
    ways.set(path, [joined, apart, around]);
  }
  let outcome = outcomeOf(present, chosen);
  // What is in a folder comes before it: a folder may be there only because of that.
  for (const path of [...ways.keys()].sort().toReversed()) {
    const left = between?.left.get(path);
    const asLeft = ways.get(path)?.find((one) => one.ours.state === left);
    if (between === undefined || asLeft === undefined || outcome.tree.get(path) === left) continue;
    chosen.set(path, asLeft);
    outcome = outcomeOf(present, chosen);
  }
  return outcome;
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

function groupsOf(steps: readonly Step[], isOwn: (step: Step) => boolean, isVoid: (step: Step) => boolean): Group[] {
  const groups: Group[] = [];
  let isVoidSince = false;
  for (const step of steps) {
    const last = groups.at(-1);
    if (!isOwn(step)) {
      isVoidSince &&= isVoid(step);
      continue;
    }
    if (last !== undefined && isVoidSince && last.after === step.before) last.after = step.after;
    else groups.push({ before: step.before, after: step.after });
    isVoidSince = true;
  }
  return groups;
}

/** As `groupsOf`, and the void steps right before and after own ones count as theirs. */
function runsOf(steps: readonly Step[], isOwn: (step: Step) => boolean, isVoid: (step: Step) => boolean): Group[] {
  const runs: Step[][] = [[]];
  for (const step of steps) {
    if (isOwn(step) || isVoid(step)) runs.at(-1)?.push(step);
    else runs.push([]);
  }
  return runs.flatMap((run) => {
    const [first, last] = [run[0], run.at(-1)];
    return first === undefined || last === undefined || !run.some(isOwn)
      ? []
      : [{ before: first.before, after: last.after }];
  });
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
