import { FORMAT_VERSION, refuseOtherFormat } from "../core/records/workspace-record.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { readText } from "./file-head-keeper.ts";

/** Returns the text of `workspace.json` (docs/format.md): the format's version and the workspace's id, nothing else. */

function textOf(id: string): string {
  return `${JSON.stringify({ format: FORMAT_VERSION, id })}\n`;
}

/** Writes `workspace.json` durably. */
export function writeWorkspaceFile(disk: Disk, path: string, id: string): void {
  writeFileDurably(disk, path, Buffer.from(textOf(id)));
}

/** Returns the file's fault, for people; `undefined`: none. */
export function faultOfWorkspaceFile(disk: Disk, path: string, id: string): string | undefined {
  const text = readText(disk, path);
  if (text === undefined) return "it is not there";
  return text === textOf(id) ? undefined : `it does not say format ${FORMAT_VERSION} and workspace ${id}`;
}

/**
 * Throws `FORMAT_UNSUPPORTED` for another format, older or newer. A file that is damaged or gone is no reason to
 * refuse: the log has the same facts, and `verify` reports it.
 */
export function refuseOtherWorkspace(disk: Disk, path: string): void {
  const format = /^\{"format": *(\d{1,9})[,}]/.exec(readText(disk, path) ?? "")?.[1];
  if (format !== undefined) refuseOtherFormat(Number(format), `the workspace of ${path}`);
}
