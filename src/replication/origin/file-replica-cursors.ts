import { ChronicleError } from "../../core/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { readDiskFile } from "../read-disk-file.ts";
import { writeFileDurably } from "../../disk/write-fully.ts";
import type { Timers } from "../timers.ts";
import { MemoryReplicaCursors, type ReplicaCursors } from "./replica-cursors.ts";

/** `<replica> <sequence>` in each line, after the first one. */
const MAGIC = "chronicle replica cursors 1";
const LINE = /^([A-Za-z0-9][A-Za-z0-9._-]{0,127}) (\d{1,16})$/;

/** When a cursor that has moved is written. */
export interface CursorDelay {
  readonly timers: Timers;
  readonly ms: number;
}

/**
 * Cursors in one small file, rewritten whole. One process at a time: the one that serves the replicas. A file that is no
 * such file is refused with `LOG_DAMAGED`, never overwritten.
 *
 * With a delay, what has moved is written together a moment later, and on disposal: hundreds of replicas acknowledge each
 * event, and one that is not believed to be as far as it is costs nothing, since it says so itself.
 */
export class FileReplicaCursors implements ReplicaCursors, Disposable {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #delay: CursorDelay | undefined;
  readonly #cursors: MemoryReplicaCursors;
  #pending: Disposable | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(disk: Disk, path: string, delay?: CursorDelay) {
    this.#disk = disk;
    this.#path = path;
    this.#delay = delay;
    this.#cursors = new MemoryReplicaCursors(parse(readDiskFile(disk, path), path));
  }

  get(replica: string): number | undefined {
    return this.#cursors.get(replica);
  }

  advance(replica: string, sequence: number): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    const before = this.#cursors.get(replica);
    if (before !== undefined && sequence <= before) return;
    if (this.#delay === undefined) {
      this.#write(new Map([...this.#cursors.list(), [replica, sequence] as const]));
    }
    this.#cursors.advance(replica, sequence);
    if (this.#delay !== undefined) this.#pending ??= this.#delay.timers.after(this.#delay.ms, () => this.#writeLate());
  }

  /** Writes what has moved and was not written. Throws `IO`. */
  [Symbol.dispose](): void {
    if (this.#pending === undefined) return;
    this.#pending[Symbol.dispose]();
    this.#pending = undefined;
    this.#write(this.#cursors.list());
  }

  list(): readonly (readonly [string, number])[] {
    return this.#cursors.list();
  }

  /** Nobody waits for it: who moves a cursor next is told if it failed. */
  #writeLate(): void {
    this.#pending = undefined;
    try {
      this.#write(this.#cursors.list());
    } catch (error) {
      this.#failure = { error };
    }
  }

  #write(cursors: Iterable<readonly [string, number]>): void {
    const lines = [MAGIC, ...[...cursors].map(([name, seq]) => `${name} ${seq}`)];
    writeFileDurably(this.#disk, this.#path, Buffer.from(`${lines.join("\n")}\n`));
  }
}

function* parse(bytes: Buffer | undefined, path: string): Generator<readonly [string, number]> {
  if (bytes === undefined) return;
  const [magic, ...lines] = bytes.toString("utf8").split("\n");
  if (magic !== MAGIC || lines.pop() !== "") throw damaged(path);
  for (const line of lines) {
    const [, replica, sequence] = LINE.exec(line) ?? [];
    if (replica === undefined || !Number.isSafeInteger(Number(sequence))) throw damaged(path);
    yield [replica, Number(sequence)];
  }
}

function damaged(path: string): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `${path} is no list of replicas`, {
    hint: "move it away: replicas say themselves how far they are when they connect",
  });
}
