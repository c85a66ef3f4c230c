import type { FilterSpec } from "../../core/filter/filter.ts";
import { explainPath } from "../../core/filter/ignore.ts";
import { type OmittedChange, decodeOmittedList } from "../../core/records/omitted-change.ts";
import { nameOf, splitRoot, type WorkspacePath, foldersAbove, isWithin } from "../../core/values/path.ts";
import type { Capture } from "./capture.ts";
import type { Context } from "../log/context.ts";
import { isDerived } from "../log/database-units.ts";
import { type OmittedPaths, unrecordedSince } from "../facts/omitted-changes.ts";
import type { Aside } from "../../core/records/aside.ts";
import type { Change, Entry } from "../../core/values/entry.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import { decodeSession } from "../../core/records/records.ts";
import type { LoggedAction } from "../facts/actions.ts";
import { coverageAt } from "../facts/recorded-coverage.ts";
import { readFilters } from "../log/filters.ts";
import { GIT_STATE, gitByName, gitPathsAmong, isGitState, outermost } from "./git-state.ts";
import { changesAside, isIgnoredByGit, stillKept } from "./keep-aside.ts";
import { lostGit, type LostGitFolders, lostUnseen, NOTHING_LOST } from "./lost-git.ts";
import { personalRules } from "./kept-trees.ts";
import { readEvent } from "../log/read-events.ts";
import { optional } from "../../util/optional.ts";

/**
 * At the end of an action, the paths that no capture takes are compared with their states at the beginning of the
 * action. The comparison finds the paths that the action has changed. The comparison also finds new paths that are left
 * out only by rules from the same session.
 */

/** The changes of omitted paths that the end of an action reports, and the contents that stay kept aside. */
export interface EndOfOmitted {
  readonly changes?: readonly OmittedChange[];
  readonly aside?: Aside;
}

interface Looked {
  readonly omitted: readonly Omission[];
}

interface EndLook extends Looked {
  /** True if the action cannot end again, so that unchanged paths need not be kept any longer. */
  readonly isFinal: boolean;
  /** The git folders that the action has removed. Default: none. */
  readonly lost?: LostGitFolders;
}

/**
 * Compares the present states of omitted paths with their states at the beginning of an action that is about to be
 * closed. The action can have been closed before, as denied or abandoned. Contents are durable when the promise
 * resolves. Until the action's record is durable as well, the caller must hold a lease of the blob store, which
 * protects new contents from the collector.
 */
export async function endOfOmitted(
  context: Context,
  action: LoggedAction,
  { omitted, isFinal, lost = NOTHING_LOST }: EndLook,
): Promise<EndOfOmitted> {
  const recorded = await recordedAside(context, action);
  const entries = new Map(recorded.flatMap(({ path, before }) => (before === undefined ? [] : [[path, before]])));
  for (const [path, entry] of lost.entries) entries.set(path, entry);
  const list = await omittedBefore(context, action);
  const before = list ?? new Map();
  const made = await madeBy(context, action, omitted);
  const trees = [...(await treesOf(context, action, { entries, before })), ...made.filter((one) => !isByPerson(one))];
  const isIts = ({ path }: Omission): boolean =>
    action.scope === "workspace" || action.paths.some((one) => isWithin(path, one));
  const unrecorded = await unrecordedSince(context, before, omitted.filter(isIts));
  if (action.scope !== "workspace" && before.size + made.length + trees.length + unrecorded.length === 0) return {};
  const isInTree = ({ path }: Pick<Omission, "path">): boolean => trees.some((one) => isWithin(path, one.path));
  // A kept tree lacks the paths in it that a person excluded. Therefore, these paths are compared on their own.
  const known = new Map([...before].filter(([, { omission }]) => !isInTree(omission) || isByPerson(omission)));
  const looked = action.scope === "workspace" ? await hiddenBy(context, action, { before, omitted }) : [];
  const named = made.filter(isByPerson).map((one) => ({ ...one, type: "created", kept: false, lost: false }) as const);
  const hidden = [...looked.filter((one) => !isInTree(one)), ...named, ...unrecorded];
  const isCompared = ({ path }: Change): boolean => known.has(path) || isInTree({ path });
  const unchanged = recorded.flatMap((one) => {
    if (!isCompared(one)) return [one];
    return isFinal ? [] : [{ ...one, after: one.before }];
  });
  const also = [...unchanged, ...(await foldersAround(context, action, made))];
  const { changes, aside } = await changesAside(
    context,
    { id: action.id, omitted: known, entries, also },
    hidden,
    trees,
  );
  const told = list === undefined ? stillTold(action, changes) : [];
  // A freed plan is still named, because its `until` says how long the reported paths were kept.
  const kept = aside ?? (told.length > 0 ? action.aside : undefined);
  return { changes: [...told, ...changes], ...optional({ aside: kept }) };
}

/** Returns true if the path is not ignored by git, and is not git's own state. */
function isByPerson(one: Omission): boolean {
  return !isIgnoredByGit(one) && !isGitState(one);
}

/**
 * Returns the declared paths that were absent when the action began, and that exist now. Returns only paths that are
 * left out by a rule or as git's own state. New paths in a tree that was kept for the action are not found here, but by
 * a comparison of the tree.
 */
async function madeBy(context: Context, { files }: LoggedAction, omitted: readonly Omission[]): Promise<Omission[]> {
  const absent = files.filter((one) => one.absent).map(({ path }) => path);
  const stats = await context.worktree.stats(absent);
  const there = absent.filter((_, i) => stats[i] !== undefined);
  const git = new Set(await gitPathsAmong(context, there));
  const excluded = new Map(omitted.filter(({ reason }) => reason === "excluded").map((one) => [one.path, one]));
  const byPerson = personalRules(context);
  const made: Omission[] = [];
  for (const path of there) {
    const rule = [path, ...foldersAbove(path)].map((one) => excluded.get(one)).find((one) => one !== undefined);
    if (git.has(path)) made.push({ path, ...GIT_STATE });
    else if (rule !== undefined && !(await context.worktree.explain(path)).tracked) {
      const detail = byPerson(path, false) ?? rule.detail;
      made.push({ path, reason: rule.reason, ...optional({ detail }) });
    }
  }
  return made;
}

/** Returns the folders that the action has made around ignored paths, and that no capture takes. */
async function foldersAround(
  context: Context,
  { missing }: LoggedAction,
  made: readonly Omission[],
): Promise<Change[]> {
  const changes: Change[] = [];
  for (const path of missing) {
    if (!made.some((one) => isIgnoredByGit(one) && isWithin(one.path, path))) continue;
    if ((await context.worktree.explain(path)).tracked) continue;
    const after = await context.worktree.inspect(path);
    if (after?.kind === "dir") changes.push({ path, before: undefined, after });
  }
  return changes;
}

/**
 * Returns the changes that an earlier end of the action has reported and that are not found now. Leaves out created
 * paths, because a scan finds them again. Also leaves out git's own state.
 */
function stillTold({ omittedChanges }: LoggedAction, now: readonly OmittedChange[]): OmittedChange[] {
  const known = new Set(now.map(({ path }) => path));
  return omittedChanges.filter((one) => one.type !== "created" && !isGitState(one) && !known.has(one.path));
}

/**
 * Returns the `.gitignore` files that appeared during these actions and that only new rules leave out. A new
 * `.gitignore` file may even exclude itself. The caller records these files as changes of the actions, and closes the
 * actions after that.
 */
export async function hiddenRules(
  context: Context,
  actions: readonly LoggedAction[],
  { omitted }: Looked,
): Promise<WorkspacePath[]> {
  const rules = new Set<WorkspacePath>();
  if (!omitted.some(isRuleFile)) return [];
  for (const action of actions) {
    if (action.scope !== "workspace") continue;
    const before = (await omittedBefore(context, action)) ?? new Map();
    for (const one of await hiddenBy(context, action, { before, omitted })) if (isRuleFile(one)) rules.add(one.path);
  }
  return [...rules];
}

async function hiddenBy(
  context: Context,
  action: LoggedAction,
  { before, omitted }: Looked & { readonly before: OmittedPaths },
): Promise<OmittedChange[]> {
  const fresh = omitted.filter(({ path, reason }) => reason === "excluded" && !before.has(path));
  if (fresh.length === 0) return [];
  const known = await coverageAt(context, await beginningOf(context, action));
  const filters = known === undefined ? undefined : await readFilters(context, known.filter);
  if (filters === undefined) return [];
  return hiddenBySession(context, { omitted: before, filters }, { coverage: { complete: true, omitted: fresh } });
}

/** Returns the seq at which the action's session began, or at which the action began if the action has no session. */
async function beginningOf(context: Context, { session, fromSeq }: LoggedAction): Promise<number> {
  const row = session === undefined ? undefined : await context.index.record(`session:${session}`);
  if (row === undefined) return fromSeq;
  return Math.min(fromSeq, decodeSession((await readEvent(context, row)).record).fromSeq);
}

/**
 * Returns the paths that were omitted when the action began. Returns `undefined` if the action has no list of these
 * paths, or if the list was freed.
 */
async function omittedBefore(
  context: Context,
  { omittedBefore: list }: LoggedAction,
): Promise<OmittedPaths | undefined> {
  const bytes = list === undefined ? undefined : await context.blobs.get(list);
  if (bytes === undefined) return undefined;
  return new Map(decodeOmittedList(bytes).map((row) => [row.omission.path, row]));
}

const IGNORED = { reason: "excluded", detail: "gitignore" } as const;

/**
 * Returns the trees that were kept aside when the action began. Older records also name small files that were kept
 * aside and are in the list of omitted paths. These files are not trees.
 */
async function treesOf(
  context: Context,
  { paths }: LoggedAction,
  { entries, before }: { readonly entries: ReadonlyMap<WorkspacePath, Entry>; readonly before: OmittedPaths },
): Promise<Omission[]> {
  const git = new Set(gitByName(context, [...entries.keys()]));
  const isTree = ({ path, kind }: Entry): boolean =>
    kind === "dir" || git.has(path) || paths.some((one) => isWithin(path, one));
  const tops = outermost([...entries.values()].filter(isTree).map(({ path }) => path));
  return tops.map((path) => {
    const { reason, detail } = before.get(path)?.omission ?? (git.has(path) ? GIT_STATE : IGNORED);
    return { path, reason, ...optional({ detail }) };
  });
}

/** Returns the git folders that an action has removed or replaced and that were not kept aside before the action. */
export async function lostOfAction(context: Context, action: LoggedAction): Promise<LostGitFolders> {
  if (action.git === undefined) return NOTHING_LOST;
  const recorded = await recordedAside(context, action);
  return lostGit(context, action.git, (path) => recorded.some((one) => isWithin(one.path, path)));
}

/**
 * Returns the end of an action whose end was not observed and after which omitted paths were not scanned. If git
 * folders have disappeared since the action began, this end has the changes in the action's record and the removal of
 * these folders. Otherwise returns `undefined`.
 */
export async function endOfLost(context: Context, action: LoggedAction): Promise<EndOfOmitted | undefined> {
  const { id, omittedChanges } = action;
  const { entries, trees, notes } = await lostUnseen(context, action);
  for (const note of notes) context.tell?.(note);
  if (trees.length === 0) return undefined;
  const also = await recordedAside(context, action);
  const { changes, aside } = await changesAside(context, { id, omitted: new Map(), entries, also }, [], trees);
  return { changes: [...omittedChanges, ...changes], ...optional({ aside }) };
}

/** Returns the changes in the action's recorded plan whose earlier states are still kept. */
async function recordedAside(context: Context, { aside }: LoggedAction): Promise<Change[]> {
  const bytes = aside === undefined ? undefined : await context.blobs.get(aside.plan);
  const changes: Change[] = bytes === undefined ? [] : decodePlan(bytes);
  const entries = new Map(changes.flatMap(({ path, before }) => (before === undefined ? [] : [[path, before]])));
  const kept = await stillKept(context, entries, aside);
  return changes.filter(({ path }) => kept.has(path));
}

export interface BeforeSession {
  readonly omitted: OmittedPaths;
  /** The filters in force, one per root. */
  readonly filters: readonly FilterSpec[];
}

/**
 * Returns the paths that appeared during a session and that only rules from the same session leave out. The rules
 * before the session would have let a capture record these paths.
 */
export async function hiddenBySession(
  context: Context,
  { omitted: known, filters }: BeforeSession,
  { coverage }: Pick<Capture, "coverage">,
): Promise<OmittedChange[]> {
  const left = coverage.omitted.filter(
    ({ path, reason, detail = "" }) => reason === "excluded" && detail.startsWith("gitignore") && !known.has(path),
  );
  const fresh: typeof left = [];
  for (const one of left) if (!(await isDerived(context, one.path))) fresh.push(one);
  const stats = await context.worktree.stats(fresh.map(({ path }) => path));
  return fresh.flatMap(({ path, reason, detail }, i) => {
    const stat = stats[i];
    const spec = filterOf(context, filters, path);
    if (typeof stat !== "object" || spec === undefined) return [];
    if (!explainPath(spec, splitRoot(path).path, stat.kind === "dir").tracked) return [];
    const why = detail === undefined ? {} : { detail };
    return [{ path, type: "created", reason, ...why, kept: false, lost: false } as const];
  });
}

function filterOf({ worktree }: Context, filters: readonly FilterSpec[], path: WorkspacePath): FilterSpec | undefined {
  const { root } = splitRoot(path);
  return filters[worktree.roots.findIndex((one) => one.id === root)];
}

/** Returns true for a `.gitignore` file. Such a file is recorded even if it excludes itself. */
export function isRuleFile({ path }: Pick<OmittedChange, "path">): boolean {
  return nameOf(splitRoot(path).path) === ".gitignore";
}
