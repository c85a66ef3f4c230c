import { randomBytes } from "node:crypto";
import { extname, join } from "node:path";
import type { ConflictShape } from "../../api/conflict-shape.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { NOT_EMPTY } from "../../core/values/errno.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { Io } from "../../process/io.ts";
import { printable } from "../../process/printable.ts";
import {
  makeEmptyFolder,
  readWholeFile,
  removeEmptyFolder,
  removeUserFile,
  statBehindLink,
  writeWholeFile,
} from "../../process/user-files.ts";
import { runUnrecorded } from "../support/run-unrecorded.ts";

/**
 * The maximum length, in bytes, of the file extension that the tool's files get. With a longer extension, the names of
 * these files could be too long.
 */
const LONGEST_ENDING = 64;

interface MergeTool {
  /**
   * The command line of the tool, for a shell. The variables `$LOCAL`, `$UPSTREAM`, `$BASE` and `$MERGED` contain the
   * paths of the files.
   */
  readonly command: string;
  readonly io: Io;
}

/**
 * Runs a merge tool on a conflict, and returns the content of `$MERGED` after the tool has ended. At the start,
 * `$MERGED` has the content of the folder's side. Throws `REFUSED` if one side is not a file, if the tool fails, if the
 * tool has not written `$MERGED`, or if `$MERGED` is no longer a file.
 */
export async function mergeByTool(
  workspace: Pick<WorkspaceApi, "blob">,
  conflict: ConflictShape,
  { command, io }: MergeTool,
): Promise<Uint8Array> {
  const { path, current_hash: local, undo_hash: upstream, base_hash: base = "" } = conflict;
  if (conflict.current_kind !== "file" || conflict.undo_kind !== "file") {
    throw new ChronicleError("REFUSED", `${printable(path)} is not a file on both sides: there is nothing to merge`, {
      hint: "settle the conflict with --keep-local or --accept-upstream",
    });
  }
  const ending = extname(path);
  using folder = new ToolFolder(Buffer.byteLength(ending) > LONGEST_ENDING ? "" : ending);
  const sides = { LOCAL: local, UPSTREAM: upstream, BASE: base, MERGED: local };
  const files: Record<string, string> = {};
  for (const [name, hash] of Object.entries(sides)) files[name] = folder.put(name, await contentOf(workspace, hash));
  const merged = files["MERGED"] ?? "";
  const before = stampOf(merged);
  const code = await runUnrecorded(["/bin/sh", "-c", command], { ...io, env: { ...io.env, ...files } });
  if (code !== 0)
    throw new ChronicleError("REFUSED", `the tool failed (${code}): nothing was settled`, { data: { code } });
  const isWritten = statBehindLink(merged)?.kind === "file" && stampOf(merged) !== before;
  if (isWritten) return readWholeFile(merged);
  throw new ChronicleError("REFUSED", "the tool has not written the merged file: nothing was settled", {
    hint: "have the tool save the result in `$MERGED`, or settle the conflict with --keep-local or --accept-upstream",
  });
}

/** Returns a mark that changes with each write of a file, even if its content stays the same. */
function stampOf(path: string): string {
  const stat = new NodeDisk().lstat(path);
  return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
}

async function contentOf(workspace: Pick<WorkspaceApi, "blob">, hash: string): Promise<Uint8Array> {
  if (hash === "") return new Uint8Array();
  const pieces: Uint8Array[] = [];
  for await (const piece of (await workspace.blob(hash)).pieces()) pieces.push(piece);
  return Buffer.concat(pieces);
}

class ToolFolder implements Disposable {
  readonly #path = makeEmptyFolder(`chronicle-merge-${randomBytes(8).toString("hex")}`);
  readonly #ending: string;

  constructor(ending: string) {
    this.#ending = ending;
  }

  put(name: string, bytes: Uint8Array): string {
    const path = join(this.#path, `${name.toLowerCase()}${this.#ending}`);
    writeWholeFile(path, bytes);
    return path;
  }

  /** Removes the folder and all files in it, including files that the tool has made. */
  [Symbol.dispose](): void {
    const disk = new NodeDisk();
    // The tool may have removed the folder, or put a link in its place.
    if (disk.lstat(this.#path)?.kind !== "dir") return;
    for (const { name } of disk.list(this.#path)) {
      try {
        removeUserFile(join(this.#path, name.toString()));
      } catch (error) {
        if (errnoOf(error) === undefined) throw error;
      }
    }
    try {
      removeEmptyFolder(this.#path);
    } catch (error) {
      // If the tool has made folders in this folder, they stay.
      if (!NOT_EMPTY.has(errnoOf(error) ?? "")) throw error;
    }
  }
}
