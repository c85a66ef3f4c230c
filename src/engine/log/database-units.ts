import type { Change, Entry } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import {
  databaseOf,
  isSqliteDatabase,
  oneUnitWith,
  SHARED_MEMORY_SUFFIX,
  unitDatabaseOf,
  unitOf,
} from "../../core/tree/sqlite-unit.ts";
import type { LiveDatabase } from "../../worktree/live-databases.ts";
import type { CheckReport } from "../../worktree/worktree.ts";
import type { Context } from "./context.ts";
import { shownPath } from "./shape.ts";

/**
 * An SQLite database and the files beside it form a unit (`core/tree/sqlite-unit.ts`). An operation changes a unit as a
 * whole or not at all.
 */
export interface DatabaseUnits {
  /** The paths of each unit, the database first. */
  readonly units: readonly (readonly WorkspacePath[])[];
  /**
   * The unchanged files of these units. Each file is listed as a change from its state to the same state, so that
   * `apply` checks that the disk has this state. Any other state would not fit the changed files.
   */
  readonly still: readonly Change[];
}

export const NO_UNITS: DatabaseUnits = { units: [], still: [] };

/**
 * Returns the units of the databases among some changes. `unrecorded` has the changes on disk that are not recorded.
 */
export async function databaseUnits(
  context: Context,
  changes: readonly Change[],
  unrecorded: readonly Change[] = [],
): Promise<DatabaseUnits> {
  const byPath = new Map(changes.map((change) => [change.path, change]));
  const pending = new Map(unrecorded.map((change) => [change.path, change]));
  const units: WorkspacePath[][] = [];
  const still: Change[] = [];
  const { seq } = await context.index.head();
  for (const database of new Set(changes.flatMap(candidatesOf))) {
    if (!(await isDatabase(context, database, byPath))) continue;
    const unit = unitOf(database);
    units.push(unit);
    for (const path of unit.filter((one) => !byPath.has(one))) {
      const seen = pending.get(path);
      const entry = seen === undefined ? (await context.index.iterationAt(path, seq))?.entry : seen.after;
      if (entry === undefined || entry.kind === "file") still.push({ path, before: entry, after: entry });
    }
  }
  return { units, still };
}

/** Returns the units to which at least one changed path belongs, and the unchanged files of these units. */
export function unitsAmong({ units, still }: DatabaseUnits, changes: readonly Change[]): DatabaseUnits {
  // Most workspaces have no database, and a step can have many changes.
  if (units.length === 0) return { units, still: [] };
  const changed = new Set(changes.map(({ path }) => path));
  const meant = units.filter((unit) => unit.some((path) => changed.has(path)));
  const paths = new Set(meant.flat());
  return { units: meant, still: still.filter(({ path }) => paths.has(path) && !changed.has(path)) };
}

/** Returns the report without the unchanged files of databases. */
export function withoutStill<R extends CheckReport>(report: R, { still }: DatabaseUnits): R {
  const paths = new Set(still.map(({ path }) => path));
  if (paths.size === 0) return report;
  return {
    ...report,
    applied: report.applied.filter((path) => !paths.has(path)),
    blocked: report.blocked.filter(({ path }) => !paths.has(path)),
  };
}

function candidatesOf({ path, before, after }: Change): WorkspacePath[] {
  const database = unitDatabaseOf(path);
  const beside = database === undefined ? [] : [database];
  return [before, after].some(mayBeDatabase) ? [path, ...beside] : beside;
}

/** The smallest page of a database, in bytes. */
const PAGE_BYTES = 512;

/**
 * True if the size of a file is a whole number of pages, as the size of every database is. Most files that are no
 * database are thus ruled out without reading their contents.
 */
function mayBeDatabase(entry: Entry | undefined): boolean {
  return entry?.kind === "file" && entry.size > 0 && entry.size % PAGE_BYTES === 0;
}

interface Left {
  readonly path: WorkspacePath;
  readonly reason: string;
  readonly detail: string;
}

/**
 * Leaves each unit alone as a whole: if `left` has a path of the unit, the other changed paths of the unit move from
 * `changes` to `left`. Returns the resulting `changes` and `left`.
 */
export function leaveUnits<L extends Left>(
  { units }: DatabaseUnits,
  changes: readonly Change[],
  left: readonly L[],
): { readonly changes: readonly Change[]; readonly left: readonly L[] } {
  // If only the mode bits of a path cannot be set, the other files of its unit are not left out, because they do not
  // depend on these bits.
  const causes = new Map(left.filter(({ reason }) => reason !== "special-bits").map((one) => [one.path, one]));
  const changed = new Set(changes.map(({ path }) => path));
  const more = units.flatMap((unit) => {
    const cause = unit.map((path) => causes.get(path)).find((one) => one !== undefined);
    if (cause === undefined) return [];
    const others = unit.filter((path) => changed.has(path) && !causes.has(path));
    return others.map((path): L => ({ ...cause, path, detail: oneUnitWith(cause.path, cause.detail) }));
  });
  const stays = new Set([...causes.keys(), ...more.map(({ path }) => path)]);
  return {
    changes: more.length === 0 ? changes : changes.filter(({ path }) => !stays.has(path)),
    left: [...left, ...more],
  };
}

/** Returns the changes of the chosen paths, and of paths that form a unit with a chosen path. */
export async function wholeUnits(
  context: Context,
  changes: readonly Change[],
  isChosen: (path: WorkspacePath) => boolean,
): Promise<Change[]> {
  const byPath = new Map(changes.map((change) => [change.path, change]));
  const taken: Change[] = [];
  for (const change of changes) {
    const database = databaseOf(change.path) ?? change.path;
    const isMate = !isChosen(change.path) && unitOf(database).some(isChosen);
    if (isChosen(change.path) || (isMate && (await isDatabase(context, database, byPath)))) taken.push(change);
  }
  return taken;
}

/** Returns the path and all other paths of its unit. A path without a unit is returned alone. */
export async function unitWith(context: Context, path: WorkspacePath): Promise<readonly WorkspacePath[]> {
  for (const database of [path, databaseOf(path)])
    if (database !== undefined && (await isDatabase(context, database, new Map()))) return unitOf(database);
  return [path];
}

/** Returns those of the changed paths that lie beside a database and belong to its unit. */
export async function besideDatabases(
  context: Context,
  changes: readonly Change[],
): Promise<ReadonlySet<WorkspacePath>> {
  const byPath = new Map(changes.map((change) => [change.path, change]));
  const found = new Set<WorkspacePath>();
  for (const { path } of changes) {
    const database = databaseOf(path);
    if (database !== undefined && (await isDatabase(context, database, byPath))) found.add(path);
  }
  return found;
}

/** True if SQLite derives this file from a recorded database. */
export async function isDerived(context: Context, path: WorkspacePath): Promise<boolean> {
  const database = path.endsWith(SHARED_MEMORY_SUFFIX) ? databaseOf(path) : undefined;
  return database !== undefined && (await isDatabase(context, database, new Map()));
}

/**
 * Returns the changed databases that a process has open. Returns none if `context` cannot warn anybody. Must be called
 * before the databases are replaced.
 */
export function openDatabases(context: Context, changes: readonly Change[]): readonly LiveDatabase[] {
  if (context.tell === undefined) return [];
  const paths = new Set(
    changes.filter(({ before }) => before?.kind === "file").map(({ path }) => databaseOf(path) ?? path),
  );
  return context.worktree.databases([...paths]).filter(({ processes }) => processes.length > 0);
}

export function warnOfOpenDatabases(
  { tell }: Context,
  open: readonly LiveDatabase[],
  applied: readonly WorkspacePath[],
): void {
  const replaced = new Set(open.length === 0 ? [] : applied.map((path) => databaseOf(path) ?? path));
  for (const { path, processes } of open) {
    if (!replaced.has(path)) continue;
    const who = processes.length === 1 ? `process ${processes[0]} has` : `processes ${processes.join(", ")} have`;
    tell?.(`${who} the earlier state of ${shownPath(path)} open: writes are lost until the database is opened again`);
  }
}

/** Removes the files that SQLite derived from replaced databases, because they are stale. */
export function dropDerived(
  context: Context,
  applied: readonly WorkspacePath[],
  { units }: DatabaseUnits = NO_UNITS,
): void {
  const done = new Set(applied);
  const replaced = units.filter((unit) => unit.some((path) => done.has(path))).flatMap(([database]) => database ?? []);
  const databases = new Set([...replaced, ...applied.flatMap((path) => databaseOf(path) ?? [])]);
  if (databases.size > 0) context.worktree.dropDerived([...databases]);
}

/** The number of bytes that are read to recognise a database. */
const START_BYTES = 64;

/**
 * True if the path is an SQLite database before or after its change. For a path without a change, the last state in
 * which the path existed counts.
 */
async function isDatabase(
  context: Context,
  path: WorkspacePath,
  changes: ReadonlyMap<WorkspacePath, Change>,
): Promise<boolean> {
  const change = changes.get(path);
  const last = change === undefined ? await lastState(context, path) : undefined;
  for (const state of change === undefined ? [last] : [change.before, change.after]) {
    if (state?.kind === "file" && state.hash !== undefined && (await beginsAsDatabase(context, state.hash)))
      return true;
  }
  return false;
}

async function lastState(context: Context, path: WorkspacePath): Promise<Entry | undefined> {
  const { seq } = await context.index.head();
  const row = await context.index.iterationAt(path, seq);
  if (row === undefined || row.entry !== undefined) return row?.entry;
  return (await context.index.iterationAt(path, row.seq - 1))?.entry;
}

async function beginsAsDatabase({ blobs }: Context, hash: Hash): Promise<boolean> {
  const reader = await blobs.open(hash);
  if (reader === undefined || reader.size < START_BYTES) return false;
  for await (const piece of reader.pieces({ start: 0, end: START_BYTES })) return isSqliteDatabase(piece);
  return false;
}
