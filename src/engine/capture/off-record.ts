import { ChronicleError } from "../../core/values/errors.ts";
import { type Change, type Entry, sameEntry } from "../../core/values/entry.ts";
import { type OffRecord, type OffRecordNote, type OffRecordState, sealOf } from "../../core/records/off-record.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import { refuseReadOnly } from "../commit/commit.ts";
import { type Context, refuseHosted } from "../log/context.ts";
import { type OmittedPaths, statOmitted } from "../facts/omitted-changes.ts";
import { declaredPaths, inForce, OffRecordLook } from "../facts/off-record-look.ts";
import { isOwnerAlive, ownerOf } from "../log/owner-process.ts";
import { compare, readDisk, type Reading } from "./read-disk.ts";
import { shownPath } from "../log/shape.ts";

/**
 * Contents that are written off the record exist only on disk. A scan before the work and another scan after the work
 * show which paths the work has changed. These scans store nothing. The changed paths are noted, and no capture takes
 * them until somebody else changes them.
 */

/** Work off the record that has begun, with the scan before it. */
export interface OffRecordWork {
  readonly id: string;
  readonly before: Seen;
}

interface Seen {
  readonly seq: number;
  readonly reading: Reading;
  readonly changes: ReadonlyMap<WorkspacePath, Change>;
  readonly ignored: OmittedPaths;
}

/**
 * Begins work off the record. Until the work ends, changes are recorded only at paths that tools declare. Throws
 * `REFUSED` for a hosted workspace, and `READ_ONLY` if the workspace was opened for reading only.
 */
export async function beginOffRecord(context: Context): Promise<OffRecordWork> {
  refuseHosted(context, "work off the record");
  refuseReadOnly(context);
  const id = context.newId();
  const started = new Date(context.now()).toISOString();
  await change(context, (state) => ({
    ...state,
    going: [...state.going, { id, ...ownerOf(context), started }],
  }));
  try {
    return { id, before: await look(context) };
  } catch (error) {
    unnoted.add(id);
    await change(context, (state) => ended(state, new Set([id]), []));
    unnoted.delete(id);
    throw error;
  }
}

/** The ids of work off the record that this process has ended, but whose end could not be noted. */
const unnoted = new Set<string>();

/** Replaces the fields that name the process of the work, once the work is over. */
const OVER = { pid: 0 } as const;

/**
 * Ends the work, and notes the paths that it has changed. Throws if the paths cannot be noted. In that case, a later
 * capture notes the paths, as for work whose process is gone.
 */
export async function endOffRecord(context: Context, work: OffRecordWork): Promise<void> {
  const { id } = work;
  try {
    await noteEnd(context, work);
  } catch (error) {
    unnoted.add(id);
    await change(context, (state) => ({
      ...state,
      going: state.going.map((one) => (one.id === id ? { id, started: one.started, ...OVER } : one)),
    })).catch((trouble: unknown) => {
      // If this change fails, too, other processes treat the work as running until this process ends.
      if (!(trouble instanceof ChronicleError)) throw trouble;
    });
    throw notNoted(error);
  }
}

async function noteEnd(context: Context, { id, before }: OffRecordWork): Promise<void> {
  const after = await look(context);
  await change(context, async (state) => ended(state, new Set([id]), await notesOf(context, state, { before, after })));
}

function notNoted(error: unknown): unknown {
  if (!(error instanceof ChronicleError)) return error;
  const message = `the files that the work off the record has changed could not be noted: ${error.message}`;
  return new ChronicleError(error.code, message, {
    hint: "the next command that records changes notes them; until then, only paths that tools declare are recorded",
    data: error.data,
    cause: error,
  });
}

function isOver(context: Context, one: OffRecord["going"][number]): boolean {
  return one.pid === OVER.pid || unnoted.has(one.id) || !isOwnerAlive(context, one);
}

/**
 * Ends work whose process is gone, or whose end could not be noted. All unrecorded changes are noted, because each of
 * them may belong to that work. Only changes at paths that open actions have declared are not noted.
 */
export async function endDeadOffRecord(context: Context): Promise<void> {
  const dead = context.offRecord.read()?.going.filter((one) => isOver(context, one)) ?? [];
  if (dead.length === 0) return;
  const after = await look(context);
  const ids = new Set(dead.map(({ id }) => id));
  await change(context, async (state) =>
    state.going.some(({ id }) => ids.has(id)) ? ended(state, ids, await notesOf(context, state, { after })) : state,
  );
  for (const id of ids) unnoted.delete(id);
}

/** Drops the notes of these recorded paths, and the notes that are no longer in force. The caller holds the lock. */
export async function dropNotes(context: Context, recorded: ReadonlySet<WorkspacePath>): Promise<void> {
  const state = context.offRecord.read();
  if (state === undefined) return;
  const notes = (await inForce(context, state.notes)).filter(({ path }) => !recorded.has(path));
  if (notes.length < state.notes.length) context.offRecord.write(withoutEmpty({ ...state, notes }));
}

/**
 * Maps those of `paths` that still have the state that was written off the record to the reason why the path is left
 * alone.
 */
export async function offRecordAmong(
  context: Context,
  paths: readonly WorkspacePath[],
): Promise<ReadonlyMap<WorkspacePath, string>> {
  const found = await OffRecordLook.of(context, { pastCommands: true });
  return found === undefined ? new Map() : found.heldAmong(paths);
}

/**
 * Maps all paths that still have the state that was written off the record to the reason why the path is left alone.
 */
export async function allOffRecord(context: Context): Promise<ReadonlyMap<WorkspacePath, string>> {
  const found = await OffRecordLook.of(context, { pastCommands: true });
  return found === undefined ? new Map() : found.heldNow();
}

const MOST_PATHS = 5;

/**
 * Returns notes on work off the record that has not ended, or whose end is not noted yet. Also returns a note on those
 * omitted paths of a scan that are off the record.
 */
export function offRecordNotes(context: Context, omitted: readonly Omission[]): string[] {
  const notes = (context.offRecord.read()?.going ?? []).map((one) =>
    isOver(context, one)
      ? "work off the record is over, but the files that it changed are not noted yet: `chronicle snapshot` notes them; until then, only paths that tools declare are recorded"
      : `a command is running off the record (process ${one.pid}): until it ends, only paths that tools declare are recorded`,
  );
  const paths = omitted.filter(({ reason }) => reason === "off-record").map(({ path }) => shownPath(path));
  if (paths.length === 0) return notes;
  const more = paths.length > MOST_PATHS ? ` and ${paths.length - MOST_PATHS} more` : "";
  return [
    ...notes,
    `these paths were changed off the record, and are recorded only once somebody changes them again (or by \`chronicle snapshot --on-record PATH\`): ${paths.slice(0, MOST_PATHS).join(", ")}${more}`,
  ];
}

async function change(context: Context, make: (state: OffRecord) => OffRecord | Promise<OffRecord>): Promise<void> {
  using _held = await context.lock.exclusive(context.waitMs);
  const state = context.offRecord.read() ?? { salt: context.newId(), going: [], notes: [] };
  const made = await make(state);
  if (made !== state) context.offRecord.write(withoutEmpty(made));
}

function withoutEmpty(state: OffRecord): OffRecord | undefined {
  return state.going.length === 0 && state.notes.length === 0 ? undefined : state;
}

function ended(state: OffRecord, ids: ReadonlySet<string>, notes: readonly OffRecordNote[]): OffRecord {
  const noted = new Set(notes.map(({ path }) => path));
  return {
    ...state,
    going: state.going.filter(({ id }) => !ids.has(id)),
    notes: [...state.notes.filter(({ path }) => !noted.has(path)), ...notes],
  };
}

async function look(context: Context): Promise<Seen> {
  const reading = await readDisk(context, { hashOnly: true, pastCommands: true });
  const { changes, seq } = await compare(context, reading);
  const ignored = reading.omitted.filter(({ reason }) => reason === "excluded");
  return {
    seq,
    reading,
    changes: new Map(changes.map((one) => [one.path, one])),
    ignored: await statOmitted(context, { omitted: ignored }),
  };
}

interface Looks {
  /**
   * The scan before the work. `undefined` if a later capture notes the end, because the result of the earlier scan is
   * lost by then.
   */
  readonly before?: Seen;
  readonly after: Seen;
}

/**
 * Returns the notes of the paths that the work has changed. Leaves out paths that open actions have declared, because
 * captures record the changes at these paths.
 */
async function notesOf(context: Context, state: OffRecord, { before, after }: Looks): Promise<OffRecordNote[]> {
  const { seq, changes, reading } = after;
  const declared = await declaredPaths(context);
  const wanted = new Map<WorkspacePath, Entry | undefined>();
  for (const [path, { after: entry }] of changes) {
    if (declared.some((one) => isWithin(path, one))) continue;
    const known = before?.changes.get(path);
    if (known === undefined || !sameEntry(known.after, entry)) wanted.set(path, entry);
  }
  const notes: OffRecordNote[] = [];
  for (const { entry, stat } of reading.present.sortedValues()) {
    if (wanted.delete(entry.path)) notes.push({ path: entry.path, seq, state: stateOf(state, entry, stat) });
  }
  for (const path of wanted.keys()) notes.push({ path, seq, state: undefined });
  return [...notes, ...(await notesOfIgnored(context, state, { before, after, declared }))];
}

/**
 * Returns the notes of files that the rules leave out. Without a note, runs and actions would keep such a file aside.
 * Returns no notes if there was no scan before the work. Only a comparison with that scan shows which files the work
 * has changed.
 */
async function notesOfIgnored(
  context: Context,
  state: OffRecord,
  { before, after, declared }: LooksAt,
): Promise<OffRecordNote[]> {
  const notes: OffRecordNote[] = [];
  for (const [path, { stat }] of before === undefined ? [] : after.ignored) {
    const known = before?.ignored.get(path)?.stat;
    if (stat.kind === "dir" || stat.kind === "special" || declared.some((one) => isWithin(path, one))) continue;
    if (known?.mtimeNs === stat.mtimeNs && known.size === stat.size && known.ino === stat.ino) continue;
    const entry = await context.worktree.inspect(path);
    const [now] = await context.worktree.stats([path]);
    if (entry === undefined || typeof now !== "object") continue;
    notes.push({ path, seq: after.seq, state: stateOf(state, entry, now) });
  }
  return notes;
}

interface LooksAt {
  readonly before: Seen | undefined;
  readonly after: Seen;
  readonly declared: readonly WorkspacePath[];
}

function stateOf(state: OffRecord, { kind, hash }: Entry, stat: FileStat): OffRecordState {
  const { size, mtimeNs, ctimeNs, ino, dev } = stat;
  return { kind, size, mtimeNs, ctimeNs, ino, dev, seal: hash === undefined ? undefined : sealOf(state, hash) };
}
