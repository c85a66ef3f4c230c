import { ChronicleError } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { readDiskFile } from "../../disk/read-disk-file.ts";
import { writeFileDurably } from "../../disk/write-fully.ts";
import type { Timers } from "../../util/timers.ts";
import { type KeptReplica, MemoryReplicaCursors, type ReplicaCursors } from "./replica-cursors.ts";
import { optional } from "../../util/optional.ts";

/**
 * The first line of the file. Each further line is `<replica> <sequence>`, or `<replica> <sequence> <holder>` if the
 * replica has a holder. The holder is percent-encoded.
 */
const MAGIC = "chronicle replica cursors 2";
/** The first line of the earlier format, which had no holders. */
const MAGIC_BEFORE = "chronicle replica cursors 1";
const LINE = /^([A-Za-z0-9][A-Za-z0-9._-]{0,127}) (\d{1,16})(?: (\S{1,4096}))?$/;

export interface CursorDelay {
  readonly timers: Timers;
  readonly ms: number;
}

/** The time between a failed write and the next attempt, as a multiple of `CursorDelay.ms`. */
const RETRY_DELAYS = 10;

export interface FileCursorOptions {
  /** Default: moved cursors are written at once. */
  readonly delay?: CursorDelay;
  /** Called when a delayed write fails. Not called again until a write has succeeded. Default: no report. */
  readonly onFailed?: (error: unknown) => void;
  /**
   * Called when a replica of a holder is dropped for the first time, because the holder has too many replicas. Called
   * only once for each holder. Default: no report.
   */
  readonly onDropped?: (holder: string) => void;
}

/**
 * Stores the replicas' cursors in one small file, which each write replaces. Only the process that serves the replicas
 * may use the file. If the file has another format, it is refused with `LOG_DAMAGED`, and never overwritten.
 *
 * Hundreds of replicas may acknowledge each event. With a delay, one write therefore stores all cursors that have moved
 * since the last write. Disposal writes the moved cursors at once. A stored cursor that is too low does no harm,
 * because each replica names its last event when it connects.
 */
export class FileReplicaCursors implements ReplicaCursors, Disposable {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #delay: CursorDelay | undefined;
  readonly #onFailed: (error: unknown) => void;
  readonly #onDropped: (holder: string) => void;
  readonly #told = new Set<string>();
  #cursors: MemoryReplicaCursors;
  #pending: Disposable | undefined;
  #hasFailed = false;

  constructor(disk: Disk, path: string, options: FileCursorOptions = {}) {
    const { delay, onFailed = () => undefined, onDropped = () => undefined } = options;
    this.#disk = disk;
    this.#path = path;
    this.#delay = delay;
    this.#onFailed = onFailed;
    this.#onDropped = onDropped;
    this.#cursors = new MemoryReplicaCursors(parse(readDiskFile(disk, path), path));
  }

  get(replica: string): number | undefined {
    return this.#cursors.get(replica);
  }

  advance(replica: string, sequence: number): void {
    const before = this.#cursors.get(replica);
    // If the cursor does not move, only the order of the replicas changes, which need not be written.
    if (before !== undefined && sequence <= before) return this.#cursors.advance(replica, sequence);
    if (this.#delay === undefined) return this.#change((cursors) => cursors.advance(replica, sequence));
    this.#cursors.advance(replica, sequence);
    this.#writeSoon(this.#delay, this.#delay.ms);
  }

  holder(replica: string): string | undefined {
    return this.#cursors.holder(replica);
  }

  hold(replica: string, holder: string): void {
    if (this.#cursors.holder(replica) === holder) return;
    const isNew = this.#cursors.get(replica) === undefined;
    const before = this.#cursors.list().length;
    this.#change((cursors) => cursors.hold(replica, holder));
    if (this.#cursors.list().length < before + (isNew ? 1 : 0)) this.#tellDropped(holder);
  }

  /** Writes the cursors that are not written yet. Throws `IO` if the write fails. */
  [Symbol.dispose](): void {
    if (this.#pending === undefined) return;
    this.#pending[Symbol.dispose]();
    this.#pending = undefined;
    this.#write(this.#cursors.list());
  }

  list(): readonly (readonly [string, KeptReplica])[] {
    return this.#cursors.list();
  }

  #writeSoon(delay: CursorDelay, ms: number): void {
    this.#pending ??= delay.timers.after(ms, () => this.#writeLate(delay));
  }

  /**
   * Writes the cursors. If the write fails, tries again later, because the disk may have room again by then. Each write
   * replaces the whole file.
   */
  #writeLate(delay: CursorDelay): void {
    this.#pending = undefined;
    try {
      this.#write(this.#cursors.list());
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#onFailed(error);
      this.#hasFailed = true;
      this.#writeSoon(delay, RETRY_DELAYS * delay.ms);
    }
  }

  /** Makes a change and writes it. `get`, `holder` and `list` show the change only after it is durable. */
  #change(change: (cursors: MemoryReplicaCursors) => void): void {
    const next = new MemoryReplicaCursors(this.#cursors.list());
    change(next);
    this.#write(next.list());
    this.#cursors = next;
  }

  #tellDropped(holder: string): void {
    if (this.#told.has(holder)) return;
    this.#told.add(holder);
    this.#onDropped(holder);
  }

  #write(replicas: Iterable<readonly [string, KeptReplica]>): void {
    const lines = [MAGIC, ...[...replicas].map(([name, kept]) => lineOf(name, kept))];
    writeFileDurably(this.#disk, this.#path, Buffer.from(`${lines.join("\n")}\n`));
  }
}

function lineOf(replica: string, { sequence, holder }: KeptReplica): string {
  return `${replica} ${sequence}${holder === undefined ? "" : ` ${encodeURIComponent(holder)}`}`;
}

function* parse(bytes: Buffer | undefined, path: string): Generator<readonly [string, KeptReplica]> {
  if (bytes === undefined) return;
  const [magic, ...lines] = bytes.toString("utf8").split("\n");
  if ((magic !== MAGIC && magic !== MAGIC_BEFORE) || lines.pop() !== "") throw damaged(path);
  for (const line of lines) {
    const [, replica, sequence, encoded] = LINE.exec(line) ?? [];
    const holder = encoded === undefined ? undefined : decoded(encoded);
    if (replica === undefined || !Number.isSafeInteger(Number(sequence)) || holder === null) throw damaged(path);
    yield [replica, { sequence: Number(sequence), ...optional({ holder }) }];
  }
}

/** Returns the decoded text; `null` if the encoding is invalid. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function damaged(path: string): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `${path} is not a list of replicas`, {
    hint: "move that file away: each replica then says itself which event it has last, and belongs to the token that presents it next",
  });
}
