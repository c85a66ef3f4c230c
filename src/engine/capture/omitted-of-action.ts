import type { Aside } from "../../core/records/aside.ts";
import type { Change } from "../../core/values/change.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { Entry } from "../../core/values/entry.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import { decodeOmittedList } from "../../core/records/omitted-list.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { decodeSession } from "../../core/records/records.ts";
import type { LoggedAction } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import { erasedSince } from "../facts/erased-look.ts";
import { coverageAt } from "../facts/recorded-coverage.ts";
import { readFilters } from "../log/filters.ts";
import { gitAmongKept, gitPathsAmong, isGitState, outermost } from "./git-state.ts";
import { hiddenBySession, isRuleFile } from "./hidden-by-session.ts";
import { changesAside, stillKept } from "./keep-aside.ts";
import type { OmittedPaths } from "../facts/omitted-changes.ts";
import { readEvent } from "../log/read-events.ts";
import { optional } from "../../util/optional.ts";

/**
 * The paths that no capture takes, at the end of an action that may have touched anything: those that it changed, and those
 * that came to be in it and only rules leave out which came to be in its session.
 */

/** The changes of an action to omitted paths, and the contents that are kept aside of them. */
export interface EndOfOmitted {
  readonly changes?: readonly OmittedChange[];
  readonly aside?: Aside;
}

/** The omissions of a full scan. */
interface Looked {
  readonly omitted: readonly Omission[];
}

/** The scan at the end of an action. */
interface EndLook extends Looked {
  /** No other end can come: what has not changed need not be kept any longer. */
  readonly isFinal: boolean;
}

/**
 * Looks at the omitted paths of an action that is about to be closed. It may have been closed before, as denied or abandoned: the
 * state at its beginning is what counts. Contents are durable when it resolves: the caller holds a lease of the blob store until the
 * action's record is.
 */
export async function endOfOmitted(
  context: Context,
  action: LoggedAction,
  { omitted, isFinal }: EndLook,
): Promise<EndOfOmitted> {
  const recorded = await recordedAside(context, action);
  const entries = new Map(recorded.flatMap(({ path, before }) => (before === undefined ? [] : [[path, before]])));
  const git = await gitOf(context, action, entries);
  const list = await omittedBefore(context, action);
  const before = list ?? new Map();
  const isIts = ({ path }: Omission): boolean =>
    action.scope === "workspace" || action.paths.some((one) => isWithin(path, one));
  const erased = await erasedSince(context, before, omitted.filter(isIts));
  if (action.scope !== "workspace" && git.length + erased.length === 0) return {};
  // A path that it named was kept with it, and is told among its changes; git's own state is told by itself.
  const isNamed = (omitted: Pick<Omission, "path" | "reason" | "detail">): boolean =>
    git.some((one) => isWithin(omitted.path, one)) ||
    (!isGitState(omitted) && action.paths.some((one) => isWithin(omitted.path, one)));
  const known = new Map([...before].filter(([, { omission }]) => !isNamed(omission)));
  const looked = action.scope === "workspace" ? await hiddenBy(context, action, { before, omitted }) : [];
  const hidden = [...looked.filter((one) => !isNamed(one)), ...erased];
  const isCompared = ({ path }: Change): boolean => known.has(path) || git.some((one) => isWithin(path, one));
  const also = recorded.flatMap((one) => {
    if (!isCompared(one)) return [one];
    return isFinal ? [] : [{ ...one, after: one.before }];
  });
  const { changes, aside } = await changesAside(context, { omitted: known, entries, also }, hidden, git);
  const told = list === undefined ? stillTold(action, changes) : [];
  // A plan that was freed is still named: it says until when what is told was kept.
  const kept = aside ?? (told.length > 0 ? action.aside : undefined);
  return { changes: [...told, ...changes], ...optional({ aside: kept }) };
}

/** Returns what an earlier end reported of paths that can no longer be compared. Created paths are found by a scan. */
function stillTold({ omittedChanges }: LoggedAction, now: readonly OmittedChange[]): OmittedChange[] {
  const known = new Set(now.map(({ path }) => path));
  return omittedChanges.filter((one) => one.type !== "created" && !isGitState(one) && !known.has(one.path));
}

/** The rules that came to be in these actions and leave themselves out: they are to be recorded, as theirs, before they are closed. */
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

/** The event before the action's session, or before the action where it is in none. */
async function beginningOf(context: Context, { session, fromSeq }: LoggedAction): Promise<number> {
  const row = session === undefined ? undefined : await context.index.record(`session:${session}`);
  if (row === undefined) return fromSeq;
  return Math.min(fromSeq, decodeSession((await readEvent(context, row)).record).fromSeq);
}

/** The omitted paths as the action began; `undefined` where there were none, and where the list was freed. */
async function omittedBefore(
  context: Context,
  { omittedBefore: list }: LoggedAction,
): Promise<OmittedPaths | undefined> {
  const bytes = list === undefined ? undefined : await context.blobs.get(list);
  if (bytes === undefined) return undefined;
  return new Map(decodeOmittedList(bytes).map((row) => [row.omission.path, row]));
}

/** The paths of git's own state that were kept aside as it began, and those that it named and that were not there. */
async function gitOf(
  context: Context,
  { files }: LoggedAction,
  entries: ReadonlyMap<WorkspacePath, Entry>,
): Promise<WorkspacePath[]> {
  const kept = gitAmongKept(context, entries.values());
  const absent = files.filter((one) => one.absent).map(({ path }) => path);
  return outermost([...kept, ...(await gitPathsAmong(context, absent))]);
}

/**
 * The plan of what was kept aside for it, without what was freed or erased: what was there as it began, and what an earlier end has
 * found to have become of it.
 */
async function recordedAside(context: Context, { aside }: LoggedAction): Promise<Change[]> {
  const bytes = aside === undefined ? undefined : await context.blobs.get(aside.plan);
  const changes: Change[] = bytes === undefined ? [] : decodePlan(bytes);
  const entries = new Map(changes.flatMap(({ path, before }) => (before === undefined ? [] : [[path, before]])));
  const kept = await stillKept(context, entries, aside);
  return changes.filter(({ path }) => kept.has(path));
}
