import type { Disk, FileStat } from "../disk/disk.ts";
import type { PromptReader } from "../hooks/answer-hook.ts";
import type { HookPrompt } from "../hooks/hook-call.ts";
import { orNothing } from "./agent-process.ts";

/** A longer conversation is not read, so that no tool waits for it, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The number of conversations whose last message is remembered. */
const MOST_KNOWN = 64;

interface Known {
  readonly mark: string;
  readonly prompt: HookPrompt;
}

/**
 * Makes a reader of agents' files with conversations. A file that has not changed since is not read again. A link, a
 * file that is no regular one, and a longer file than `MAX_BYTES` are not read.
 */
export function promptReader(disk: Disk): PromptReader {
  const known = new Map<string, Known>();
  return (path, form) =>
    orNothing(() => {
      const fd = disk.open(path, "read");
      try {
        const stat = disk.fstat(fd);
        const mark = markOf(stat);
        const seen = known.get(path);
        if (seen?.mark === mark) return seen.prompt;
        const text = textOf(disk, fd, stat);
        const prompt = text === undefined ? undefined : form.lastPrompt(text);
        known.delete(path);
        // Without a message, the file may be one that is being written.
        if (prompt !== undefined) known.set(path, { mark, prompt });
        for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest);
        return prompt;
      } finally {
        disk.close(fd);
      }
    });
}

/** Returns a text that changes with the content of a file. */
function markOf({ dev, ino, size, mtimeNs, ctimeNs }: FileStat): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
}

/** Returns the text of an open file; `undefined` if it is longer than `MAX_BYTES`, also if it grows while it is read. */
function textOf(disk: Disk, fd: number, { kind, size }: FileStat): string | undefined {
  if (kind !== "file" || size > MAX_BYTES) return undefined;
  // One more byte, so that the end of the file is seen without another read.
  let bytes = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (;;) {
    const count = disk.read(fd, bytes.subarray(length), null);
    if (count === 0) return bytes.toString("utf8", 0, length);
    length += count;
    if (length > MAX_BYTES) return undefined;
    if (length === bytes.length) bytes = Buffer.concat([bytes], 2 * bytes.length);
  }
}
