import type { FileShape, FileWriteShape } from "../../api/file-api.ts";
import type { Change } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { ApplyReport } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { doneRequest, usedBefore } from "../facts/taken-ids.ts";
import { fileShape, isPresent } from "../state/file-shape.ts";
import { ownChanges } from "../facts/own-changes.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { changeShape, conflictShape, skippedShape } from "../log/shape.ts";
import type { PathState } from "./write-state.ts";

/** The data from which the answer to a write is made (`writeShape`). */
export interface WriteDone {
  /** The seq of the last event of the write. If the write recorded nothing, the seq of the state that it found. */
  readonly seq: number;
  /** The state at the path after the write; for a move, the state at the new path. */
  readonly now: PathState;
  readonly changes: readonly Change[];
  /** The id of the write, by which it can be undone. It is `undefined` if nothing was changed. */
  readonly id: string | undefined;
  readonly conflicts?: ApplyReport["conflicts"];
  /** The folders that a move or a deletion has left in place. Default: none. */
  readonly staying?: readonly WorkspacePath[];
}

/** Returns the path at which a write leaves its result. */
export function targetOf(write: ReadyWrite): WorkspacePath {
  return write.kind === "move" ? write.to : write.path;
}

export function writeShape(
  write: ReadyWrite,
  { seq, now, changes, id, conflicts = [], staying = [] }: WriteDone,
): FileWriteShape {
  return {
    seq,
    file: shapeAt(targetOf(write), now),
    changes: changes.map(changeShape),
    undo_id: id ?? null,
    ...(conflicts.length === 0 ? {} : { conflicts: conflicts.map(conflictShape) }),
    ...(staying.length === 0 ? {} : { skipped: staying.map((path) => skippedShape({ path, ...STAYS })) }),
  };
}

const STAYS = { reason: "not-empty", detail: "it holds files that are not recorded" };

/**
 * Returns the folders that a move or a deletion has left in place. These are the entries at or beneath the write's path
 * that are still recorded after `seq`, the last event of the write.
 */
export async function stayingFolders({ index }: Context, write: ReadyWrite, seq: number): Promise<WorkspacePath[]> {
  const paths: WorkspacePath[] = [];
  if (write.kind !== "move" && write.kind !== "delete") return paths;
  for await (const rows of index.entriesAt(seq, write.path))
    for (const { path, entry } of rows) if (entry !== undefined) paths.push(path);
  return paths;
}

function shapeAt(path: WorkspacePath, now: PathState): FileShape | null {
  const row = { path, ...now };
  return isPresent(row) ? fileShape(row) : null;
}

/**
 * Returns the answer to a request that was done before (without its conflicts). Returns
 * `undefined` if the request was not done yet. Throws `USAGE` if a different request had the same id.
 */
export async function answerAgain(
  context: Context,
  id: string,
  write: ReadyWrite,
): Promise<FileWriteShape | undefined> {
  const done = await doneRequest(context, id);
  if (done === undefined) return undefined;
  const { intent, row } = done;
  if (intent.asked !== write.asked) throw usedBefore(intent.request ?? "");
  const span = { fromSeq: intent.fromSeq, toSeq: row.seq };
  const { changes } =
    intent.paths === 0 ? { changes: [] } : await ownChanges(context, span, { isOwn: (record) => record.intent === id });
  const at = await context.index.iterationAt(targetOf(write), row.seq);
  const now = at ?? { entry: undefined, iteration: 0, seq: 0 };
  const staying = (intent.skipped ?? 0) === 0 ? [] : await stayingFolders(context, write, row.seq);
  return writeShape(write, { seq: row.seq, now, changes, id: intent.paths === 0 ? undefined : id, staying });
}
