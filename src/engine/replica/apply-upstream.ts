import type { Progress } from "../../api/workspace-api.ts";
import { conflictDraft, type IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import { replicaDraft, type ReplicaRecord } from "../../core/records/replica-record.ts";
import type { UpstreamChange } from "../../core/tree/upstream-change.ts";
import type { ApplyReport, BlockedPath } from "../../worktree/worktree.ts";
import { capture } from "../capture/capture.ts";
import type { Commit } from "../commit/commit.ts";
import { untilSettled } from "../undo/before-change.ts";
import type { Context } from "../log/context.ts";
import { settable } from "../capture/never-set.ts";
import { perform, todoOf, withSettledCommit } from "../capture/operate.ts";
import { noteRemembered } from "../capture/remember-recorded.ts";
import { optional } from "../../util/optional.ts";

export interface UpstreamStep {
  /** The replica's progress after the step, with the new `applied` and the latest known `settled`. */
  readonly record: ReplicaRecord;
  /** Changes to make in the folder. Their contents are in the store. */
  readonly changes: readonly UpstreamChange[];
  /**
   * Paths whose present states are to be proposed to the origin once more. The proposals are based on the origin's
   * state that the step applies.
   */
  readonly proposals?: readonly WorkspacePath[];
  readonly conflicts?: readonly IdentifiedConflict[];
  /** Contents that a merge made for the changes. No event of the origin names these contents. The store has them. */
  readonly contents?: readonly Hash[];
  /**
   * The basis of the plan. `seq` is the last event of this folder's log that the plan took into account. `looked` has
   * paths that the plan depends on but does not change. The step is not carried out if an event after `seq` changed a
   * path in `looked`, a path of the step, or a path in a folder that the step removes. Default: the step is carried out
   * if each path of `changes` still has its state `before`.
   */
  readonly planned?: { readonly seq: number; readonly looked: ReadonlySet<WorkspacePath> };
  /**
   * Describes a person's decision. With `decision`, the step is an operation that can be undone. Such a step is done as
   * a whole or not at all, except that folders with untracked files stay. Without `decision`, the step takes over
   * changes of the origin.
   */
  readonly decision?: string;
}

export interface UpstreamReport {
  /** The seq of the head before the events of the step. */
  readonly from: number;
  /** The seq of the head after the step. */
  readonly seq: number;
  readonly applied: readonly WorkspacePath[];
  /**
   * Paths whose states differ from the plan. If there are any, the step was not carried out. The present states of the
   * step's paths were captured, so that the caller can plan anew.
   */
  readonly moved: readonly WorkspacePath[];
  /**
   * Paths that were left alone, because they could not be written or were changed while the step ran. For each of these
   * paths, the step recorded an open conflict with the reason `blocked`. A later step that tries the path again must
   * settle this conflict.
   */
  readonly blocked: readonly BlockedPath[];
  /** Files that somebody wrote while the step ran, and that were kept under other names. */
  readonly copies: readonly { readonly path: WorkspacePath; readonly keptAt: WorkspacePath }[];
}

export interface ApplyUpstreamOptions {
  readonly keepMtime?: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

/** The maximum number of conflicts in an intent or in one append. */
const MOST_CONFLICTS = 1_000;
/** The number of paths above which a capture of everything is cheaper than a capture of only these paths. */
const MOST_NAMED = 2_000;

/**
 * Brings the origin's changes into the folder, and records how far the replica has come, as one operation. Captures the
 * paths first, then records the intent, changes the files, and makes one commit. After a crash, `settle` finishes the
 * operation. A step that only records progress is one append. Throws `IO`, and changes no file, if the disk has no room
 * for the origin's changes. Also throws the errors of a capture.
 */
export async function applyUpstream(
  context: Context,
  step: UpstreamStep,
  options: ApplyUpstreamOptions = {},
): Promise<UpstreamReport> {
  using _lease = await context.blobs.lease();
  const changes = makeableChanges(step.changes);
  return await untilSettled(context, async () => {
    if (changes.length > 0) await captureFirst(context, changes, options);
    return withSettledCommit(context, (commit) => underLock(context, commit, { step, changes, options }));
  });
}

/**
 * Returns the changes in the form in which they can be made on disk (see `settable`). Leaves out those that change
 * nothing in this form.
 */
function makeableChanges(changes: readonly UpstreamChange[]): UpstreamChange[] {
  return changes.flatMap((change) => {
    const after = settable(change.after);
    if (sameEntry(change.before, after)) return [];
    return after === change.after ? change : { ...change, after };
  });
}

/**
 * Captures the state at each path of the changes, unless the rules of this workspace leave the path out. A file that
 * the rules leave out is neither recorded nor proposed to the origin, and blocks the origin's file of the same name. A
 * folder that the origin has made, and that the rules leave out here, is recorded without its contents. Untracked files
 * in a folder that is to be deleted are not captured, and the folder stays. Captures nothing if the disk is certainly
 * in the state that the changes expect.
 */
async function captureFirst(
  context: Context,
  changes: readonly UpstreamChange[],
  { onProgress }: ApplyUpstreamOptions,
): Promise<void> {
  const told = onProgress === undefined ? {} : { onProgress };
  const how = { cause: "capture", reserve: true, ...told } as const;
  if (await areCertain(context, changes)) return;
  if (changes.length > MOST_NAMED) {
    await capture(context, how);
    return;
  }
  const isFolder = ({ before }: UpstreamChange): boolean => before?.kind === "dir";
  const folders = changes.filter(isFolder).map((one) => one.path);
  const isNewFolder = ({ before, after }: UpstreamChange): boolean => before === undefined && after?.kind === "dir";
  const made = changes.filter(isNewFolder).map((one) => one.path);
  const others = changes.filter((one) => !isFolder(one) && !isNewFolder(one)).map((one) => one.path);
  if (folders.length > 0) await capture(context, { ...how, only: folders });
  if (made.length > 0) await capture(context, { ...how, only: made, named: true, alone: true });
  if (others.length > 0) await capture(context, { ...how, only: others, exact: true });
}

/** True if every change has an entry `before`, and all these entries are certainly still on disk. */
async function areCertain({ worktree }: Context, changes: readonly UpstreamChange[]): Promise<boolean> {
  const entries = changes.flatMap(({ before }) => before ?? []);
  return entries.length === changes.length && (await worktree.areStill(entries));
}

interface Stepping {
  readonly step: UpstreamStep;
  readonly changes: readonly UpstreamChange[];
  readonly options: ApplyUpstreamOptions;
}

async function underLock(
  context: Context,
  commit: Commit,
  { step, changes, options }: Stepping,
): Promise<UpstreamReport> {
  const { seq: from } = await commit.head();
  const moved = await movedPaths(context, { step, changes, seq: from });
  if (moved.length > 0) return { ...NOTHING, from, seq: from, moved };
  const rest = { ...step, conflicts: await openAhead(commit, step.conflicts ?? []) };
  const report = isOneEvent(rest, changes)
    ? await appendOnly(commit, rest)
    : await performStep(context, commit, { step: rest, changes, options });
  const { seq } = await commit.head();
  // The stats of the applied states are remembered, so that the next scan need not read these files.
  if (report.blocked.length === 0) noteRemembered(context, { from, to: seq });
  return { from, seq, applied: report.applied, moved: [], blocked: report.blocked, copies: report.conflicts };
}

/**
 * Returns the conflicts that the intent is to record. If there are more than `MOST_CONFLICTS`, appends the open ones
 * before the intent and returns the settled ones. A crash between two appends does no harm, because each conflict names
 * the states on which it is based.
 */
async function openAhead(
  commit: Commit,
  conflicts: readonly IdentifiedConflict[],
): Promise<readonly IdentifiedConflict[]> {
  if (conflicts.length <= MOST_CONFLICTS) return conflicts;
  const open = conflicts.filter(({ record }) => record.state === "open").map(conflictDraft);
  for (let at = 0; at < open.length; at += MOST_CONFLICTS) await commit.append(open.slice(at, at + MOST_CONFLICTS));
  return conflicts.filter(({ record }) => record.state !== "open");
}

const NOTHING = { applied: [], blocked: [], copies: [] } as const;

/**
 * True if the step records only its progress, as one event. Several events need an intent, because without an intent, a
 * crash could leave only the first of these events.
 */
function isOneEvent({ proposals = [], conflicts = [] }: UpstreamStep, changes: readonly UpstreamChange[]): boolean {
  return changes.length + proposals.length + conflicts.length === 0;
}

async function appendOnly(commit: Commit, { record }: UpstreamStep): Promise<ApplyReport> {
  await commit.append([replicaDraft(record)]);
  return { applied: [], blocked: [], conflicts: [] };
}

async function performStep(
  context: Context,
  commit: Commit,
  { step, changes, options }: Stepping,
): Promise<ApplyReport> {
  const { record, proposals = [], conflicts = [], contents = [], decision } = step;
  const { seq } = await commit.head();
  const intent: IntentRecord = {
    kind: decision === undefined ? "replica" : "resolve",
    state: "open",
    summary: (decision ?? `sync with ${record.url}`).toWellFormed(),
    actor: context.caller.actor,
    started: new Date(context.now()).toISOString(),
    ...(await todoOf(context, changes)),
    paths: changes.length,
    fromSeq: seq,
    replica: record,
    ...(contents.length === 0 ? {} : { contents }),
    ...(proposals.length === 0 ? {} : { proposals }),
    ...(conflicts.length === 0 ? {} : { conflicts }),
  };
  const { keepMtime, onProgress } = options;
  const done = await perform(context, commit, {
    // All steps of one origin share an intent record, so that years of syncing do not pile up records.
    id: decision === undefined ? record.origin : context.newId(),
    intent,
    operation: {
      changes,
      // A decision is done as a whole. A step that follows from the origin leaves out paths that cannot be written.
      onBlocked: decision === undefined ? "skip" : "fail",
      ...optional({ keepMtime, onProgress }),
    },
  });
  if (done.id === undefined && decision === undefined) throw noRoom(done.blocked);
  return done;
}

function noRoom(blocked: readonly BlockedPath[]): ChronicleError {
  const [first] = blocked;
  return new ChronicleError("IO", `there is not enough space for the origin's files: ${first?.detail ?? ""}`, {
    hint: "free some space on the disk of the folder; nothing was changed",
    data: { paths: blocked.length, errno: "ENOSPC" },
  });
}

/** Returns the paths that prevent the step, because their states differ from the plan (see `UpstreamStep.planned`). */
async function movedPaths(
  context: Context,
  { step, changes, seq }: Pick<Stepping, "step" | "changes"> & { readonly seq: number },
): Promise<WorkspacePath[]> {
  const { planned, proposals = [], conflicts = [] } = step;
  // Without an event after the plan, no path can have changed.
  if (planned?.seq === seq) return [];
  const moved = new Set<WorkspacePath>();
  const rows = await context.index.iterationsAt(
    changes.map((one) => one.path),
    seq,
  );
  changes.forEach(({ path, before }, i) => {
    if (!sameEntry(rows[i]?.entry, before)) moved.add(path);
  });
  if (planned === undefined) return [...moved];
  const named = new Set([...proposals, ...conflicts.map((one) => one.record.path)]);
  const cleared = new Set(changes.filter(isCleared).map((one) => one.path));
  for (const path of await context.index.touched(planned.seq, seq)) {
    if (planned.looked.has(path) || named.has(path) || liesIn(path, cleared)) moved.add(path);
  }
  return [...moved];
}

/** True if the change deletes a folder and everything beneath it, or puts a file or link in the place of a folder. */
function isCleared({ before, after }: UpstreamChange): boolean {
  return before?.kind === "dir" && after?.kind !== "dir";
}

function liesIn(path: WorkspacePath, folders: ReadonlySet<WorkspacePath>): boolean {
  if (folders.size === 0) return false;
  for (const at of foldersAbove(path)) if (folders.has(at)) return true;
  return false;
}
