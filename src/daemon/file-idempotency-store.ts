import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably, writeFully } from "../disk/write-fully.ts";
import { type BookEntry, MemoryIdempotencyStore } from "../server/answers/memory-idempotency-store.ts";
import type { KeptReply, IdempotencyStore, Standing } from "../server/answers/idempotent.ts";
import { readSmall } from "./run-folder.ts";

/**
 * Above this size in bytes, the file is rewritten with only the keys that are still remembered. If the rewritten file
 * has more than half of this size, the next limit is twice the size of that file.
 */
const MOST_BYTES = 16 * 1024 ** 2;

/**
 * A line of the file. It records the beginning of a change (`print` and `at`), its end (`reply` or `nothing`), or both.
 * `print` is the fingerprint of the request. `at` is in epoch milliseconds. `nothing` means that the change was not
 * made, so that the key can be used again.
 */
interface Line {
  readonly key: string;
  readonly print?: string;
  readonly at?: number;
  readonly reply?: KeptReply;
  readonly nothing?: true;
}

/**
 * Stores the replies to changes, by their idempotency keys, in a file of JSON lines. The line for the beginning of a
 * change is synced before the change is made. The line for the end of the change need not be synced. If this line is
 * lost, the change is still known as begun, and is not made again.
 */
export class FileIdempotencyStore implements IdempotencyStore {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #memory = new MemoryIdempotencyStore();
  #size: number;
  #mostBytes = MOST_BYTES;
  /** True if a line or the whole file could not be written. The next line then rewrites the file. */
  #isDamaged = false;

  /** `path`: an absolute path in a folder that only this user can enter. */
  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
    const text = readSmall(disk, path) ?? "";
    for (const line of text.split("\n")) this.#take(lineIn(line));
    this.#size = this.#begunAnew() ?? Buffer.byteLength(text);
  }

  standing(key: string, print: string, now: number): Standing {
    return this.#memory.standing(key, print, now);
  }

  begin(key: string, print: string, now: number): Standing {
    const standing = this.#memory.begin(key, print, now);
    if (standing.kind !== "new") return standing;
    try {
      this.#note({ key, print, at: now }, true);
    } catch (error) {
      // The key may be used again, because the request was not begun.
      this.#memory.end(key, "nothing");
      throw error;
    }
    return standing;
  }

  end(key: string, how: KeptReply | "nothing" | "unknown"): void {
    this.#memory.end(key, how);
    if (how === "unknown") return;
    try {
      this.#note(how === "nothing" ? { key, nothing: true } : { key, reply: how }, false);
    } catch {
      // The error is ignored, because the change was done or refused and the client must get the answer. The next line
      // rewrites the file, which then includes this end.
    }
  }

  #note(line: Line, isSynced: boolean): void {
    if (this.#isDamaged || this.#size > this.#mostBytes) {
      // The rewritten file includes this line, because the change is already in memory.
      this.#isDamaged = true;
      this.#size = this.#writeAnew();
      this.#isDamaged = false;
      return;
    }
    this.#isDamaged = true;
    this.#append(line, isSynced);
    this.#isDamaged = false;
  }

  /**
   * Rewrites the file when the process starts. Returns the size of the file in bytes; `undefined` after a system error,
   * because a full disk must not stop the server. After an error, the next line rewrites the file.
   */
  #begunAnew(): number | undefined {
    try {
      return this.#writeAnew();
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      this.#isDamaged = true;
      return undefined;
    }
  }

  #take(line: Line | undefined): void {
    if (line === undefined) return;
    const { key, print, at, reply, nothing } = line;
    if (print !== undefined && at !== undefined)
      this.#memory.put(key, { print, at, going: false, ...withReply(reply) });
    else if (nothing === true) this.#memory.end(key, "nothing");
    else if (reply !== undefined) this.#memory.end(key, reply);
  }

  #append(line: Line, isSynced: boolean): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    const fd = this.#disk.open(this.#path, "append");
    try {
      writeFully(this.#disk, fd, bytes, null);
      if (isSynced) this.#disk.sync(fd);
    } finally {
      this.#disk.close(fd);
    }
    this.#size += bytes.length;
  }

  #writeAnew(): number {
    const lines = [...this.#memory.entries()].map(([key, entry]) => `${JSON.stringify(whole(key, entry))}\n`);
    const bytes = Buffer.from(lines.join(""));
    writeFileDurably(this.#disk, this.#path, bytes, { mark: `.${process.pid}` });
    this.#mostBytes = Math.max(MOST_BYTES, 2 * bytes.length);
    return bytes.length;
  }
}

function whole(key: string, { print, at, reply }: BookEntry): Line {
  return { key, print, at, ...withReply(reply) };
}

function withReply(reply: KeptReply | undefined): { readonly reply?: KeptReply } {
  return reply === undefined ? {} : { reply };
}

/**
 * Parses a line. Returns `undefined` for a torn line, which can only be the last one. If the torn line was meant to
 * record the beginning of a change, the change was never made. If it was meant to record the end of a change, the
 * change counts as begun.
 */
function lineIn(text: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null && "key" in line ? (line as Line) : undefined;
  } catch {
    return undefined;
  }
}
