import type { Change } from "../../core/values/entry.ts";
import type { OmittedPath } from "../../core/records/coverage.ts";
import type { FilterSpec } from "../../core/filter/filter.ts";
import { explainPath } from "../../core/filter/ignore.ts";
import { isWithin, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { databaseOf } from "../../core/tree/sqlite-unit.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import { actionById, type LoggedAction } from "../facts/actions.ts";
import { type Context, isHosted } from "../log/context.ts";
import { Coverages, STALE, type StatedCoverage, type Taken } from "../facts/recorded-coverage.ts";
import { reasonAbove, StaleStates } from "../facts/stale-states.ts";
import { besideDatabases } from "../log/database-units.ts";
import { readFilters } from "../log/filters.ts";
import type { FirstEvent } from "../facts/first-event.ts";
import { allOffRecord, offRecordAmong } from "./off-record.ts";
import { BroughtPaths } from "../facts/brought-paths.ts";
import { pathArgument, shownPath } from "../log/shape.ts";

/**
 * An operation that goes back to a moment deletes a path only if a capture shows that the path was absent at that
 * moment. A path that was excluded then, or that could not be captured, may have existed without a record.
 *
 * A sync may have brought a path to the folder after that moment. In that case, the absence in the folder does not
 * suffice, because the origin may already have had the path. Such a path is deleted only under two conditions. At that
 * moment, the folder had already been synced with this origin, but had not yet applied the origin's event that brought
 * the path.
 *
 * An operation that goes back to a moment restores a recorded state only if the path had this state on disk at that
 * moment. If the path could not be captured at that moment, the log has only an older state of the path. The state on
 * disk at that moment is not known.
 */

/** The states to which an operation takes a path back, and facts that make it unnecessary to check these states. */
export interface BackTo {
  /**
   * The seqs of the states to go back to. If the path is to be deleted, captures must show for each of these states
   * that the path was absent.
   */
  readonly seqs: readonly number[];
  /**
   * The id of the action whose change is undone. The scan before this action covered the paths that the action
   * declared, whatever the rules say.
   */
  readonly action?: string | undefined;
  /** True if Chronicle itself wrote the path, right after it had captured the earlier state of the path. */
  readonly isWritten?: boolean | undefined;
  /**
   * True if the caller accepts the last recorded state of the path where the state at the moment to go back to is
   * unknown.
   */
  readonly takesStale?: boolean | undefined;
}

/**
 * Returns the states to go back to: the state before the first undone event, and the state after event `back`, which is
 * the state before the undone work.
 */
export function backTo({ seq, action, isWritten }: FirstEvent, back?: number): BackTo {
  return { seqs: back === undefined || back === seq - 1 ? [seq - 1] : [back, seq - 1], action, isWritten };
}

/**
 * A path that an operation leaves as it is, with the reason. The reasons are those of `BlockedPath`, and:
 * - `unseen`: one of these:
 *   - no capture shows that the path was absent at the moment to go back to;
 *   - the state of the path at that moment could not be recorded;
 *   - the present state of the path could not be recorded.
 * - `changed-meanwhile`: somebody changed the path during the operation.
 * - `special`: there is a pipe, a socket or a device at the path.
 * - `left-out`: there is something else at the path that no capture takes.
 * - `erased`: the content that the path would get was erased.
 * - `special-bits`: the path is as wanted, except that its mode lacks a setuid, setgid or sticky bit. Such a bit is
 *   recorded but never set (`never-set.ts`).
 * - `ambiguous`: no capture takes the path, and work that is not undone may have changed the path.
 */
export interface SkippedPath extends Omit<BlockedPath, "reason"> {
  readonly reason:
    | BlockedPath["reason"]
    | "unseen"
    | "changed-meanwhile"
    | "special"
    | "left-out"
    | "special-bits"
    | "erased"
    | "ambiguous";
}

export interface Guarded {
  readonly changes: Change[];
  readonly unseen: SkippedPath[];
}

/**
 * Separates the changes that may be made (`changes`) from those that are left out (`unseen`). Left out are:
 *
 * - deletions of paths that no capture shows to have been absent at the moment to go back to;
 * - restorations of states that may not have been on disk at that moment;
 * - changes of paths off the record, because there is no copy of their present contents;
 * - deletions of folders that contain paths off the record.
 */
export async function leaveUnseen(
  context: Context,
  changes: readonly Change[],
  backTo: (path: WorkspacePath) => BackTo,
): Promise<Guarded> {
  const seen = new SeenAbsent(context, changes);
  const held = await offRecordAmong(
    context,
    changes.map(({ path }) => path),
  );
  const all = [...(await allOffRecord(context)).keys()];
  const guarded: Guarded = { changes: [], unseen: [] };
  for (const change of changes) {
    const { path } = change;
    const doubt = held.get(path) ?? holding(change, all) ?? (await seen.doubtOf(change, backTo(path)));
    if (doubt === undefined) guarded.changes.push(change);
    else guarded.unseen.push(unseenPath(path, doubt));
  }
  return guarded;
}

/**
 * Returns the reason why a change must not remove a folder: the folder contains a path off the record. Returns
 * `undefined` if the folder contains no such path, or if the change removes no folder.
 */
function holding({ path, before, after }: Change, offRecord: readonly WorkspacePath[]): string | undefined {
  if (before?.kind !== "dir" || after?.kind === "dir") return undefined;
  const held = offRecord.find((one) => one !== path && isWithin(one, path));
  return held === undefined ? undefined : `it holds what was written off the record: ${shownPath(held)}`;
}

export function unseenPath(path: WorkspacePath, detail: string): SkippedPath {
  return { path, reason: "unseen", detail };
}

export interface Asked {
  /** The paths that the caller named. If the list is empty, all paths are meant. */
  readonly named: readonly WorkspacePath[];
  readonly isMeant: (path: WorkspacePath) => boolean;
}

/**
 * Returns the paths that are left alone because their state after event `seq` is not known:
 *
 * - paths that could not be captured at that moment, so that only an older state is recorded. Such paths are returned
 *   even if the operation would not change them;
 * - named paths that could not be captured at that moment and that have no older recorded state. Paths that a capture
 *   shows to have been absent are left out.
 */
export async function unknownThen(
  context: Context,
  { seq, back }: { readonly seq: number; readonly back: (path: WorkspacePath) => BackTo },
  { named, isMeant }: Asked,
): Promise<SkippedPath[]> {
  const stale = await StaleStates.at(context, seq);
  const seen = new SeenAbsent(context);
  const found: SkippedPath[] = [];
  for (const { path, reason } of await stale.all()) {
    if (!isMeant(path) || earlierThan(reason) !== undefined) continue;
    const doubt = await seen.wasStale(path, back(path));
    if (doubt !== undefined) found.push(unseenPath(path, doubt));
  }
  const rows = await context.index.iterationsAt(named, seq);
  for (const [i, path] of named.entries()) {
    if (rows[i]?.entry !== undefined || (await stale.reasonOf(path)) === undefined) continue;
    const doubt = await seen.doubt(path, false, back(path));
    if (doubt !== undefined) found.push(unseenPath(path, doubt));
  }
  return found;
}

/**
 * Finds out, for a moment to go back to, whether captures show that paths were absent, or had their recorded states.
 * `changes`: the planned changes.
 */
export class SeenAbsent {
  readonly #context: Context;
  readonly #changes: ReadonlyMap<WorkspacePath, Change>;
  readonly #coverages: Coverages;
  readonly #looks = new Map<readonly (StatedCoverage | undefined)[], Promise<Looks>>();
  readonly #actions = new Map<string, Promise<LoggedAction | undefined>>();
  readonly #brought: BroughtPaths;

  constructor(context: Context, changes: readonly Change[] = []) {
    this.#context = context;
    this.#brought = new BroughtPaths(context);
    this.#coverages = new Coverages(context);
    this.#changes = new Map(changes.map((change) => [change.path, change]));
  }

  /**
   * Returns an empty change for the path itself. If the path lies beside a database, also returns the planned change of
   * the database.
   */
  #changesAt(path: WorkspacePath): Change[] {
    const database = databaseOf(path);
    const change = database === undefined ? undefined : this.#changes.get(database);
    return [{ path, before: undefined, after: undefined }, ...(change === undefined ? [] : [change])];
  }

  /** Returns the reason why a change cannot take a path back to a moment; `undefined` if there is no such reason. */
  async doubtOf({ path, before, after }: Change, back: BackTo): Promise<string | undefined> {
    if (before !== undefined && after === undefined) return this.doubt(path, before.kind === "dir", back);
    return this.#wasNotRecorded(path, back);
  }

  /**
   * Returns the reason why the recorded state of a path may not have been on disk at the moment to go back to;
   * `undefined` if there is no such reason.
   */
  async #wasNotRecorded(path: WorkspacePath, back: BackTo): Promise<string | undefined> {
    if (isHosted(this.#context.worktree.roots)) return undefined;
    const action = back.action === undefined ? undefined : await this.#action(back.action);
    const told = action?.coverage.omitted ?? [];
    for (const one of told) if (isWithin(path, one.path) && earlierThan(one.reason)) return earlierThan(one.reason);
    for (const seq of back.seqs) {
      for (const { omitted } of (await this.#looksAt(seq)).all) {
        const why = earlierThan(reasonAbove(omitted, path));
        if (why !== undefined) return why;
      }
    }
    return this.wasStale(path, back);
  }

  /**
   * Returns the reason why the recorded state of a path is stale (older than the state on disk at the moment to go back
   * to); `undefined` if the state is not stale.
   */
  async wasStale(path: WorkspacePath, back: BackTo): Promise<string | undefined> {
    // Chronicle overwrites a path only right after it has captured the path, so the recorded state is not stale then.
    if (back.isWritten === true || back.takesStale === true) return undefined;
    const action = back.action === undefined ? undefined : await this.#action(back.action);
    // The result of the scan right before the action decides, because this scan is newer than the last full capture.
    if (action !== undefined && lookOfAction(action, path) === "absent") return undefined;
    const told = action?.coverage.omitted.find((one) => STALE.has(one.reason) && isWithin(path, one.path));
    if (told !== undefined) return staleDetail(this.#context, { path, reason: told.reason }, back.seqs[0] ?? 0);
    for (const seq of lookedAt(back, action)) {
      const reason = await (await this.#looksAt(seq)).stale.reasonOf(path);
      if (reason !== undefined) return staleDetail(this.#context, { path, reason }, seq);
    }
    return undefined;
  }

  /**
   * Returns the reason why a path may have existed at the moment to go back to; `undefined` if captures show that the
   * path was absent.
   */
  async doubt(path: WorkspacePath, isFolder: boolean, back: BackTo): Promise<string | undefined> {
    // In a hosted workspace, all files are recorded.
    if (isHosted(this.#context.worktree.roots)) return undefined;
    for (const seq of back.seqs) {
      const doubt = await this.#brought.doubt(path, seq);
      if (doubt !== undefined) return doubt;
    }
    if (back.isWritten === true) return undefined;
    const action = back.action === undefined ? undefined : await this.#action(back.action);
    const told = action === undefined ? undefined : lookOfAction(action, path);
    if (told !== undefined) return told === "absent" ? undefined : notCaptured();
    // The files beside a database are scanned together with the database, whatever the filter says.
    const isBeside = (await besideDatabases(this.#context, this.#changesAt(path))).has(path);
    for (const seq of lookedAt(back, action)) {
      for (const look of (await this.#looksAt(seq)).all) {
        const doubt = this.#doubtOf(look, path, { isFolder, isBeside });
        if (doubt !== undefined) return doubt;
      }
    }
    return undefined;
  }

  #doubtOf(
    { filters, omitted, isPartial }: Look,
    path: WorkspacePath,
    { isFolder, isBeside }: { readonly isFolder: boolean; readonly isBeside: boolean },
  ): string | undefined {
    const { root, path: inner } = splitRoot(path);
    const at = this.#context.worktree.roots.findIndex((one) => one.id === root);
    const filter = filters?.[at];
    if (filters === undefined) return "it is no longer known what was captured then, so it may have been there";
    if (filter === undefined) return "its root was not tracked then, so it may have been there";
    if (!explainPath(filter, inner, isFolder).tracked && !isBeside)
      return "it was excluded then, so it may have been there";
    const reason = reasonAbove(omitted, path);
    if (reason !== undefined) return notCaptured(reason);
    return isPartial ? "too much could not be captured then, so it may have been there" : undefined;
  }

  async #looksAt(seq: number): Promise<Looks> {
    const coverages = await this.#coverages.at(seq);
    let looks = this.#looks.get(coverages);
    if (looks === undefined) this.#looks.set(coverages, (looks = looksOf(this.#context, seq, coverages)));
    const { all, stale } = await looks;
    return { all, stale: stale.after(seq) };
  }

  #action(id: string): Promise<LoggedAction | undefined> {
    let action = this.#actions.get(id);
    if (action === undefined) this.#actions.set(id, (action = actionById(this.#context, id)));
    return action;
  }
}

const WAS_OFF_RECORD = "what was there then was written off the record, and nobody has a copy of it";

/**
 * Returns a text that says why an omitted path was not in its recorded state. Returns `undefined` if the reason of the
 * omission does not show that.
 */
function earlierThan(reason: OmittedPath["reason"] | undefined): string | undefined {
  if (reason === "off-record") return WAS_OFF_RECORD;
  return reason === "erased" ? "it had a content then that was erased" : undefined;
}

/**
 * Returns the reason why a stale path is left alone. The text includes the command that still restores the last
 * recorded state of the path.
 */
async function staleDetail(context: Context, { path, reason }: OmittedPath, seq: number): Promise<string> {
  // In a command, a seq in the middle of a commit means the end of that commit. Therefore the command gets the seq
  // before the commit.
  const commit = await context.index.commitFrom(seq);
  const moment = commit === undefined || commit.first > seq || commit.last === seq ? seq : commit.first - 1;
  const how = `\`chronicle restore seq:${moment} ${pathArgument(path)} --force\``;
  return `it could not be recorded then (${reason.replaceAll("-", " ")}): ${how} restores the state in which it was last recorded`;
}

function notCaptured(reason?: OmittedPath["reason"]): string {
  if (reason === "off-record") return WAS_OFF_RECORD;
  const why = reason === undefined ? "" : ` (${reason.replaceAll("-", " ")})`;
  return `it could not be captured then${why}, so it may have been there`;
}

interface Look {
  /** One filter for each root. `undefined` if the filters are not known. */
  readonly filters: readonly FilterSpec[] | undefined;
  readonly omitted: ReadonlyMap<WorkspacePath, OmittedPath["reason"]>;
  /** True if more paths were omitted than `omitted` lists. */
  readonly isPartial: boolean;
}

interface Looks {
  /**
   * The coverage of the last full capture before the state. If the state lies in the middle of a capture's events, also
   * the coverage of that capture.
   */
  readonly all: readonly Look[];
  readonly stale: StaleStates;
}

async function looksOf(context: Context, seq: number, found: readonly (StatedCoverage | undefined)[]): Promise<Looks> {
  const compiled = new Map<string, FilterSpec[] | undefined>();
  const all: Look[] = [];
  for (const one of found) {
    if (one !== undefined && !compiled.has(one.filter))
      compiled.set(one.filter, await readFilters(context, one.filter));
    all.push(lookOf(one, one === undefined ? undefined : compiled.get(one.filter)));
  }
  return { all, stale: StaleStates.by(context, seq, found) };
}

function lookOf(taken: Taken | undefined, filters: readonly FilterSpec[] | undefined): Look {
  const { omitted = [], count = 0 } = taken ?? {};
  return {
    filters,
    omitted: new Map(omitted.map((one) => [one.path, one.reason])),
    isPartial: count > omitted.length,
  };
}

/**
 * Returns `omitted` if the scan before an action left a path out. Returns `absent` if that scan covered the path. If
 * the scan covered a path and recorded no state of it, the path was absent. Returns `undefined` for a path that the
 * action did not declare.
 */
function lookOfAction(
  { paths, files, missing, coverage }: LoggedAction,
  path: WorkspacePath,
): "absent" | "omitted" | undefined {
  if (missing.includes(path)) return "absent";
  if (!paths.some((one) => isWithin(path, one))) return undefined;
  const isAside = files.some((one) => !one.absent && one.iteration === 0 && isWithin(path, one.path));
  return isAside || coverage.omitted.some((one) => isWithin(path, one.path)) ? "omitted" : "absent";
}

/**
 * Returns the seqs whose coverage must show that a path was absent. For an action that can change any path, returns no
 * seq after the beginning of the action, because everything was scanned at that time. Rules that were added during the
 * action say nothing about the paths that existed before it.
 */
function lookedAt({ seqs }: BackTo, action: LoggedAction | undefined): readonly number[] {
  if (action?.scope !== "workspace") return seqs;
  return [...new Set(seqs.map((seq) => Math.min(seq, action.fromSeq)))];
}
