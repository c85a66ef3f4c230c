import type { Change } from "../../core/values/change.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { besideDatabase, databaseOf, isSqliteDatabase, UNIT_SUFFIXES } from "../../core/tree/sqlite-unit.ts";
import type { Context } from "./context.ts";
import { shownPath } from "./shape.ts";

/** SQLite databases in operations: a database and the files beside it are one unit (`core/tree/sqlite-unit.ts`). */

/** Returns the changes of the chosen paths, and of those that are one unit with one of them. */
export async function wholeUnits(
  context: Context,
  changes: readonly Change[],
  isChosen: (path: WorkspacePath) => boolean,
): Promise<Change[]> {
  const taken: Change[] = [];
  for (const change of changes) {
    const database = databaseOf(change.path) ?? change.path;
    const isMate = !isChosen(change.path) && unitOf(database).some(isChosen);
    if (isChosen(change.path) || (isMate && (await isDatabase(context, database, changes)))) taken.push(change);
  }
  return taken;
}

/** Returns those of the changed paths that lie beside a database and are one unit with it. */
export async function besideDatabases(
  context: Context,
  changes: readonly Change[],
): Promise<ReadonlySet<WorkspacePath>> {
  const found = new Set<WorkspacePath>();
  for (const { path } of changes) {
    const database = databaseOf(path);
    if (database !== undefined && (await isDatabase(context, database, changes))) found.add(path);
  }
  return found;
}

/** Warns people, before databases are replaced, of those that some process has open. */
export function warnOfOpenDatabases(context: Context, changes: readonly Change[]): void {
  if (context.tell === undefined) return;
  const paths = new Set(
    changes.filter(({ before }) => before?.kind === "file").map(({ path }) => databaseOf(path) ?? path),
  );
  for (const { path, processes } of context.worktree.databases([...paths])) {
    if (processes.length === 0) continue;
    const who = processes.length === 1 ? `process ${processes[0]} has` : `processes ${processes.join(", ")} have`;
    context.tell(
      `${who} ${shownPath(path)} open, and goes on with the database as it was: what it writes there is lost, and it has to open the database anew`,
    );
  }
}

/** Removes the files that SQLite had derived from the replaced database: they are stale. */
export function dropDerived(context: Context, applied: readonly WorkspacePath[]): void {
  const databases = new Set(applied.flatMap((path) => databaseOf(path) ?? []));
  if (databases.size > 0) context.worktree.dropDerived([...databases]);
}

function unitOf(database: WorkspacePath): WorkspacePath[] {
  return [database, ...UNIT_SUFFIXES.map((suffix) => besideDatabase(database, suffix))];
}

const START_BYTES = 64;

/** True if the recorded state of this path, or a state of its change, is an SQLite database. */
async function isDatabase(context: Context, path: WorkspacePath, changes: readonly Change[]): Promise<boolean> {
  const change = changes.find((one) => one.path === path);
  const { seq } = await context.index.head();
  const states =
    change === undefined ? [(await context.index.iterationAt(path, seq))?.entry] : [change.before, change.after];
  for (const state of states) {
    if (state?.kind === "file" && state.hash !== undefined && (await beginsAsDatabase(context, state.hash)))
      return true;
  }
  return false;
}

async function beginsAsDatabase({ blobs }: Context, hash: Hash): Promise<boolean> {
  const reader = await blobs.open(hash);
  if (reader === undefined || reader.size < START_BYTES) return false;
  for await (const piece of reader.pieces({ start: 0, end: START_BYTES })) return isSqliteDatabase(piece);
  return false;
}
