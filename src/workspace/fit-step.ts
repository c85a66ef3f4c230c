import type { Change } from "../core/change.ts";
import type { WorkspacePath } from "../core/path.ts";
import { comparePaths } from "../core/path.ts";
import type { Context } from "./context.ts";
import { fitFolders, type Target } from "./fit-folders.ts";
import type { LoggedOperation } from "./logged-operation.ts";
import { makeable } from "./operate.ts";
import { changesOfOperation } from "./operations.ts";

/** What a step does beside the changes of its operation. */
export interface StepFolders {
  /** What is on disk and not recorded: a dry run looks only. */
  readonly unrecorded: readonly Change[];
  /** Folders that the undo has brought back for its files, and that a redo takes away with them. */
  readonly brought: readonly Change[];
}

/**
 * The changes of a step, and of the folders around what comes back: where somebody has removed them, they come back as
 * well. Of the folders that are to go with it, those stay that hold what stays.
 */
export async function withFolders(
  context: Context,
  changes: readonly Change[],
  { unrecorded, brought }: StepFolders,
): Promise<Change[]> {
  const own = new Set(changes.map((change) => change.path));
  const extra = brought.filter((change) => !own.has(change.path));
  const targets = new Map<WorkspacePath, Target>();
  for (const { path, before, after } of [...changes, ...extra]) targets.set(path, { present: before, target: after });
  const pending = new Map(unrecorded.map((change) => [change.path, change]));
  await fitFolders(context, { targets, unmerged: new Map(), pending });
  const folders = [...targets].flatMap(([path, { present, target }]): Change[] => {
    const isMade = present === undefined && target?.kind === "dir";
    const isGone = present?.kind === "dir" && target === undefined;
    return !own.has(path) && (isMade || isGone) ? [{ path, before: present, after: target }] : [];
  });
  return [...changes, ...makeable(folders)].sort((a, b) => comparePaths(a.path, b.path));
}

/** The folders that the last undo of an operation has made beside what the operation itself had changed. */
export async function foldersBrought(
  context: Context,
  operation: LoggedOperation,
  { operations, own }: { readonly operations: readonly LoggedOperation[]; readonly own: readonly Change[] },
): Promise<Change[]> {
  const undo = operations.findLast(
    ({ kind, target, selective }) => kind === "undo" && target === operation.id && selective === undefined,
  );
  if (undo === undefined) return [];
  const known = new Set(own.map((change) => change.path));
  const made = (await changesOfOperation(context, undo)).filter(({ path, before, after }) => {
    return before === undefined && after?.kind === "dir" && !known.has(path);
  });
  const { seq } = await context.index.head();
  const rows = await context.index.iterationsAt(
    made.map((change) => change.path),
    seq,
  );
  // One that is gone by now, or is something else, is somebody else's.
  return made.flatMap(({ path }, i) => {
    const present = rows[i]?.entry;
    return present?.kind === "dir" ? [{ path, before: present, after: undefined }] : [];
  });
}
