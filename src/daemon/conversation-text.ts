import type { Disk } from "../disk/disk.ts";
import { filePieces } from "../disk/file-pieces.ts";
import { orNothing } from "./agent-process.ts";

/** A longer conversation is not read, so that no tool waits for it, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Returns the text of an agent's file with a conversation; `undefined` if it is missing, cannot be read or is too long.
 */
export function conversationText(disk: Disk, path: string): string | undefined {
  return orNothing(() => {
    if ((disk.lstat(path)?.size ?? 0) > MAX_BYTES) return undefined;
    return Buffer.concat([...filePieces(disk, path)]).toString("utf8");
  });
}
