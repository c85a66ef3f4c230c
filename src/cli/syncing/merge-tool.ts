import { randomBytes } from "node:crypto";
import { extname, join } from "node:path";
import type { ConflictShape } from "../../api/conflict-shape.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { Io } from "../../process/io.ts";
import { printable } from "../../process/printable.ts";
import { runUnrecorded } from "../support/run-unrecorded.ts";
import {
  makeEmptyFolder,
  readWholeFile,
  removeEmptyFolder,
  removeUserFile,
  writeWholeFile,
} from "../../process/user-files.ts";

/** The merge program, and where it runs. */
export interface MergeTool {
  /** For a shell: the names of the files are in `$LOCAL`, `$UPSTREAM`, `$BASE` and `$MERGED`. */
  readonly command: string;
  readonly io: Io;
}

/**
 * Runs the user's program to merge both sides of a conflict. `$MERGED` begins with the folder's side; its final content
 * is the result. Throws `REFUSED` if one side is no file, or if the program fails or leaves `$MERGED` untouched.
 */
export async function mergeByTool(
  workspace: Pick<WorkspaceApi, "blob">,
  conflict: ConflictShape,
  { command, io }: MergeTool,
): Promise<Uint8Array> {
  const { path, current_hash: local, undo_hash: upstream, base_hash: base = "" } = conflict;
  if (conflict.current_kind !== "file" || conflict.undo_kind !== "file") {
    throw new ChronicleError("REFUSED", `${printable(path)} is not a file on both sides: there is nothing to merge`, {
      hint: "settle it with --keep-local or --accept-upstream",
    });
  }
  using folder = new ToolFolder(extname(path));
  const sides = { LOCAL: local, UPSTREAM: upstream, BASE: base, MERGED: local };
  const files: Record<string, string> = {};
  for (const [name, hash] of Object.entries(sides)) files[name] = folder.put(name, await contentOf(workspace, hash));
  const merged = files["MERGED"] ?? "";
  const before = stampOf(merged);
  const code = await runUnrecorded(["/bin/sh", "-c", command], { ...io, env: { ...io.env, ...files } });
  if (code !== 0)
    throw new ChronicleError("REFUSED", `the tool failed (${code}): nothing was settled`, { data: { code } });
  if (stampOf(merged) !== before) return readWholeFile(merged);
  throw new ChronicleError("REFUSED", "the tool has not written the merged file: nothing was settled", {
    hint: "have it save what is to be in `$MERGED`; or settle it with --keep-local or --accept-upstream",
  });
}

/** Writes a merged content to a file of its own, which stays. Returns its path. */
export function keepMerged(content: Uint8Array): string {
  const path = join(makeEmptyFolder(`chronicle-merged-${randomBytes(8).toString("hex")}`), "merged");
  writeWholeFile(path, content);
  return path;
}

/** A stamp that changes with each write of a file, even if the content stays the same. */
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

/** A temporary private folder with the files of a merge. */
class ToolFolder implements Disposable {
  readonly #path = makeEmptyFolder(`chronicle-merge-${randomBytes(8).toString("hex")}`);
  readonly #ending: string;

  constructor(ending: string) {
    this.#ending = ending;
  }

  /** Writes a file; its path. */
  put(name: string, bytes: Uint8Array): string {
    const path = join(this.#path, `${name.toLowerCase()}${this.#ending}`);
    writeWholeFile(path, bytes);
    return path;
  }

  /** Removes the files, and those that the tool left beside them. */
  [Symbol.dispose](): void {
    for (const { name } of new NodeDisk().list(this.#path)) {
      try {
        removeUserFile(join(this.#path, name.toString()));
      } catch (error) {
        if (errnoOf(error) === undefined) throw error;
      }
    }
    try {
      removeEmptyFolder(this.#path);
    } catch (error) {
      // The user's program made folders here, so they stay.
      if (errnoOf(error) !== "ENOTEMPTY") throw error;
    }
  }
}
