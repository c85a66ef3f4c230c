import type { GitRepositoryShape, SigningShape, StatusShape } from "../../api/shapes.ts";
import type { ProgressOptions } from "../../api/workspace-api.ts";
import type { Change, Entry } from "../../core/values/entry.ts";
import { type ClockJump, notableJumps } from "../../core/values/clock-jumps.ts";
import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { coverageOf, reasonsWith } from "../../core/records/coverage.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isSharedFileSystem, lackedBy, readsAll, type FolderTraits } from "../../core/tree/folder-traits.ts";
import { pathInRoot, ROOT } from "../../core/values/path.ts";
import { quoteCommand } from "../../core/shell/quote-command.ts";
import { latestActions, type LoggedAction, type Session } from "../facts/actions.ts";
import { compareHashed, readDisk, type Reading } from "../capture/read-disk.ts";
import { catchUp } from "../log/catch-up.ts";
import { openConflicts } from "../facts/open-conflicts.ts";
import { budgetNotes } from "../facts/private-use.ts";
import { type Context, foldersOf } from "../log/context.ts";
import { type Loser, lossNotes } from "../facts/omitted-changes.ts";
import { offRecordNotes } from "../capture/off-record.ts";
import { mayKeep } from "../capture/keep-aside.ts";
import { openIntents } from "../capture/operate.ts";
import { lossNote, lostInCrash } from "../capture/put-back.ts";
import { signingShape } from "../log/signing.ts";
import { toldProtectedFiles } from "../state/protected.ts";
import { archivedSince } from "../commit/commit.ts";
import { provedRoot } from "../state/root-to-state.ts";
import { listSessions, abandonedNote } from "../actions/session.ts";
import { coverageShape, exactPath, shownPath } from "../log/shape.ts";
import { detailedShapes } from "./change-details.ts";
import { type FollowState, recordingOf } from "./recording.ts";
import { latestSnapshot, type Snapshot } from "./snapshot.ts";
import type { ScanReport, TrackedRoot } from "../../worktree/worktree.ts";
import { addAll } from "../../util/long-lists.ts";
import { openNotes, orphanNotes } from "../facts/transactions.ts";
import { optional } from "../../util/optional.ts";

/**
 * Returns the status of the workspace. Scans the folders, but records nothing. `follow`: see `recordingOf`. If the log
 * is damaged, this function does not throw. The parts of the answer that cannot be read are then empty or 0, and the
 * notes say so.
 */
export async function statusOf(
  context: Context,
  options: ProgressOptions = {},
  follow?: FollowState,
): Promise<StatusShape> {
  const { head, damage } = await catchUp(context, { recover: false });
  const reading = await readDisk(context, { hashOnly: true, ...options });
  const { changes, latest, notes } = await recordedParts(context, reading, damage);
  const lost = damage === undefined ? lossNote(await lostInCrash(context, reading)) : [];
  const signing = await signingShape(context, damage);
  const folders = foldersWithTraits(context);
  return {
    workspace: context.workspaceId,
    path: context.worktree.roots[0]?.folder ?? "",
    roots: folders.map(({ root, lacks, traits }) => ({
      id: root.id ?? null,
      path: root.folder,
      ...optional({ only: root.only }),
      ...(lacks.length === 0 ? {} : { file_system: traits.fileSystem, lacks }),
    })),
    root: damage === undefined ? await provedRoot(context, head.seq) : "",
    seq: head.seq,
    head: { seq: head.seq, hash: head.hash },
    changes: await detailedShapes(context, changes ?? []),
    coverage: coverageShape(coverageOf(reading.omitted, reading.report.unapplied)),
    snapshots: latest === undefined ? 0 : latest.number + 1,
    latest_snapshot: latest?.number ?? null,
    ...(changes === undefined
      ? { entries: 0, bytes: 0 }
      : await recordedSize(context, reading, { changes, seq: head.seq })),
    ...optional({ git: await gitShapes(context) }),
    protected: await toldProtectedFiles(context, damage),
    read_only: damage !== undefined,
    signing,
    recording: await recordingOf(context, follow, damage),
    notes: [
      ...signingNotes(signing),
      ...notes,
      ...folders.flatMap((one) => folderNotes(one, reading.report)),
      ...offRecordNotes(context, reading.omitted),
      ...lost,
    ],
  };
}

/** Returns the git repositories in the folders; `undefined` if there are none. */
async function gitShapes(context: Context): Promise<GitRepositoryShape[] | undefined> {
  const all = context.git.look();
  if (all.length === 0) return undefined;
  const off = (await mayKeep(context)) ? undefined : KEEPS_NOTHING;
  return all.map(({ path, head, problem }) => ({
    path: shownPath(path),
    ...exactPath(path),
    ...optional({ head, not_recorded: problem?.toWellFormed() ?? off }),
  }));
}

const KEEPS_NOTHING = "keepAside is off: `chronicle config keepAside true`";

interface FolderWithTraits {
  readonly root: TrackedRoot;
  readonly traits: FolderTraits;
  readonly lacks: string[];
}

function foldersWithTraits({ worktree }: Context): FolderWithTraits[] {
  return foldersOf(worktree.roots).map((root) => {
    const traits = worktree.traitsOf(pathInRoot(root.id, ROOT));
    return { root, traits, lacks: lackedBy(traits) };
  });
}

/**
 * Returns notes on a folder:
 *
 * - whether other machines may change the folder;
 * - what the disk of the folder cannot hold;
 * - whether a scan may miss edits that change neither size nor time of a file, because the folder is too large to read
 *   each time.
 */
function folderNotes(folder: FolderWithTraits, size: ScanReport): string[] {
  return [...sharedNotes(folder), ...lackNotes(folder, size)];
}

function sharedNotes({ root, traits: { fileSystem } }: FolderWithTraits): string[] {
  if (!isSharedFileSystem(fileSystem)) return [];
  return [
    `other machines may change ${root.folder} (${fileSystem}) without notifying this machine, so every command scans the whole folder`,
  ];
}

function lackNotes({ root, traits, lacks }: FolderWithTraits, size: ScanReport): string[] {
  if (lacks.length === 0) return [];
  const held = `${root.folder} is on ${traits.fileSystem}, which cannot hold ${lacks.join(", ")}: these do not count as changed, and are not restored`;
  if (traits.ctime || readsAll(traits, size)) return [held];
  const weak = `an edit in ${root.folder} that keeps a file's size and time may be missed: the disk keeps no change times, and the folder is too large to be read each time`;
  return [held, weak];
}

/**
 * Returns the number and the total size of the recorded paths, computed from the scan and the unrecorded changes. If
 * the scan omitted paths that may be recorded, counts all recorded paths in the history instead, which takes longer.
 */
async function recordedSize(
  context: Context,
  { report, omitted }: Reading,
  { changes, seq }: { readonly changes: readonly Change[]; readonly seq: number },
): Promise<Pick<StatusShape, "entries" | "bytes">> {
  if (omitted.some(({ reason }) => !BY_RULE.has(reason))) return countedSize(context, seq);
  let { entries, bytes } = report;
  for (const { before, after } of changes) {
    entries += Number(before !== undefined) - Number(after !== undefined);
    bytes += sizeOf(before) - sizeOf(after);
  }
  return { entries, bytes };
}

/**
 * The omission reasons for which a path is not recorded at all. For any other reason, an earlier state of the path may
 * be recorded.
 */
const BY_RULE = reasonsWith("isByRule");

async function countedSize(context: Context, seq: number): Promise<Pick<StatusShape, "entries" | "bytes">> {
  let [entries, bytes] = [0, 0];
  for await (const rows of context.index.entriesAt(seq)) {
    entries += rows.length;
    for (const { entry } of rows) bytes += sizeOf(entry);
  }
  return { entries, bytes };
}

function sizeOf(entry: Entry | undefined): number {
  return entry?.kind === "file" ? entry.size : 0;
}

interface RecordedParts {
  /** The unrecorded changes; `undefined` if the recorded state is unknown. */
  readonly changes: readonly Change[] | undefined;
  readonly latest: Snapshot | undefined;
  readonly notes: readonly string[];
}

/**
 * Reads the parts of the status that come from the history. If the log is damaged, some parts may be unknown, and the
 * notes say so.
 */
async function recordedParts(
  context: Context,
  reading: Reading,
  damage: ChronicleError | undefined,
): Promise<RecordedParts> {
  const failures = new Set<string>();
  const known = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (damage === undefined || !(error instanceof ChronicleError) || error.code !== "LOG_DAMAGED") throw error;
      failures.add(`a part of the history cannot be read: ${error.message}`);
      return undefined;
    }
  };
  const compared = await known(() => compareHashed(context, reading));
  const latest = await known(() => latestSnapshot(context));
  const notes = (await known(() => notesOf(context))) ?? [];
  return { changes: compared?.changes, latest, notes: [...notes, ...failures] };
}

/** Returns the notes on signing. In the answer, these notes come before all others. */
function signingNotes({ state, detail, hint }: SigningShape): string[] {
  if (detail === null) return [];
  const what = state === "unsigned" ? `what is recorded is not signed: ${detail}` : detail;
  return [hint === null ? what : `${what}; ${hint}`];
}

/**
 * Returns notes on open conflicts. The conflicts of the folder's sync have a separate note, because another command
 * lists them.
 */
function conflictNotes(conflicts: readonly IdentifiedConflict[]): string[] {
  const ofSync = conflicts.filter(({ record }) => record.sync !== undefined).length;
  const ofUndo = conflicts.length - ofSync;
  const notes: string[] = [];
  if (ofUndo > 0) {
    const what = ofUndo === 1 ? "1 conflict of an undo waits" : `${ofUndo} conflicts of undos wait`;
    notes.push(`${what} for a decision: \`chronicle conflicts\` shows both sides`);
  }
  if (ofSync > 0) {
    const what =
      ofSync === 1 ? "1 conflict of this folder's sync waits" : `${ofSync} conflicts of this folder's sync wait`;
    notes.push(`${what} for a decision: \`chronicle sync conflicts\` shows both sides`);
  }
  return notes;
}

async function notesOf(context: Context): Promise<string[]> {
  const notes: string[] = [];
  const archived = await archivedSince(context);
  if (archived !== undefined) {
    notes.push(`archived since ${archived}: the workspace can only be read until \`chronicle workspaces unarchive\``);
  }
  for (const { intent } of await openIntents(context)) {
    notes.push(
      `an operation was interrupted: ${intent.summary} (${intent.paths} paths); some of the present changes may be a part of this operation; the next command that changes something finishes the operation`,
    );
  }
  addAll(notes, clockNotes(notableJumps(await context.index.clockJumps())));
  addAll(notes, [...(await openNotes(context)), ...(await orphanNotes(context))]);
  addAll(notes, conflictNotes(await openConflicts(context)));
  addAll(notes, await budgetNotes(context));
  const sessions = await listSessions(context);
  const losers = [...(await latestActions(context, MOST_ACTIONS)).map(loserOfAction), ...sessions.map(loserOf)];
  addAll(notes, await lossNotes(context, losers.toSorted(byEnd)));
  for (const session of sessions) {
    if (session.unclosed === true) notes.push(abandonedNote(session));
    if (session.state !== "running") continue;
    if (session.kind === "agent") notes.push(`an agent's session is open: ${session.id} (${session.actor})`);
  }
  return notes;
}

function clockNotes(jumps: readonly ClockJump[]): string[] {
  const last = jumps.at(-1);
  if (last === undefined) return [];
  const times = jumps.length === 1 ? "" : `${jumps.length} times, last `;
  return [
    `the clock went back ${times}at event ${last.seq}, from ${last.before} to ${last.ts}: the times of earlier events may be wrong. ` +
      "A moment that is given as a time skips events that were recorded while the clock ran ahead; `seq:N` names a state without a time",
  ];
}

function loserOf({ id, kind, command, ended, omittedChanges }: Session): Loser {
  const what = command.length === 0 ? "" : ` (${quoteCommand(command)})`;
  return { name: `${kind} ${id.slice(0, 8)}${what}`, ended, omittedChanges };
}

/** The number of newest actions that are searched for lost files. */
const MOST_ACTIONS = 50;

function loserOfAction({ id, summary, ended, omittedChanges }: LoggedAction): Loser {
  return { name: `action ${id.slice(0, 8)} (${summary})`, ended, omittedChanges };
}

function byEnd(a: Loser, b: Loser): number {
  return (a.ended ?? "") < (b.ended ?? "") ? -1 : 1;
}
