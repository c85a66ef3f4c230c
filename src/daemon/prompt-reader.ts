import type { Disk, FileStat } from "../disk/disk.ts";
import type { PromptReader } from "../hooks/answer-hook.ts";
import type { HookPrompt } from "../hooks/hook-call.ts";
import { orNothing } from "./agent-process.ts";

/**
 * The maximum size, in bytes, of a file with a conversation. A longer file is not read, because the agent's tool waits
 * for the read.
 */
const MAX_BYTES = 64 * 1024 * 1024;

/** The maximum number of conversations whose last message is kept in memory. */
const MOST_KNOWN = 64;

interface Known {
  readonly mark: string;
  readonly prompt: HookPrompt;
}

/**
 * Returns a function that reads the last prompt from an agent's file with a conversation. A file that has not changed
 * since it was read is not read again. The function does not read a link, a file that is not regular, or a file longer
 * than `MAX_BYTES`.
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
        // A file without a prompt may be incomplete, because the agent is still writing it. Therefore, such a result is
        // not kept.
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

/**
 * Returns the text of an open file; `undefined` if the file is not regular or is longer than `MAX_BYTES`. A file that
 * grows beyond this size during the read counts as longer.
 */
function textOf(disk: Disk, fd: number, { kind, size }: FileStat): string | undefined {
  if (kind !== "file" || size > MAX_BYTES) return undefined;
  // The buffer has one byte more than the file, so that it need not grow for the read that finds the end of the file.
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
