import { dirname } from "node:path";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { writeFileDurably } from "../../disk/write-fully.ts";
import { readDiskFile } from "../../disk/read-disk-file.ts";
import type { Head } from "../../core/values/event.ts";
import { parseSignedHead, verifySignedHead } from "../../core/log/signed-head.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { UpstreamLines } from "./upstream.ts";

/** A contradiction between what an origin says about its history and what a replica holds of that history. */
interface WitnessNote {
  readonly workspace: string;
  /**
   * The seq of an event that this replica holds and that the origin contradicts. Earlier events may be contradicted,
   * too.
   */
  readonly sequence: number;
  /** The event's hash at this replica. */
  readonly held: string;
  /** The event's hash at the origin; `""` if the origin has no such event, or did not send the hash. */
  readonly told: string;
  readonly reason: string;
}

/**
 * Keeps the note of the first contradiction. A replica with a note does not connect until a person has removed the
 * note.
 */
export interface WitnessNotes {
  get(): WitnessNote | undefined;
  /** Stores a note durably, unless there is one already. Throws `IO` if the write fails. */
  keep(note: WitnessNote): void;
  /**
   * Called for a person who has seen the note. The replica then connects again, and makes a new note if the
   * contradiction persists. Throws `IO` if the removal fails.
   */
  forget(): void;
}

export class MemoryWitnessNotes implements WitnessNotes {
  #note: WitnessNote | undefined;

  get(): WitnessNote | undefined {
    return this.#note;
  }

  keep(note: WitnessNote): void {
    this.#note ??= note;
  }

  forget(): void {
    this.#note = undefined;
  }
}

export class FileWitnessNotes implements WitnessNotes {
  readonly #disk: Disk;
  readonly #path: string;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Throws `LOG_DAMAGED` for an invalid file, because it may have been a note. */
  get(): WitnessNote | undefined {
    const bytes = readDiskFile(this.#disk, this.#path);
    return bytes === undefined ? undefined : parse(bytes, this.#path);
  }

  keep(note: WitnessNote): void {
    if (this.#disk.lstat(this.#path) !== undefined) return;
    writeFileDurably(this.#disk, this.#path, Buffer.from(`${JSON.stringify(note)}\n`));
  }

  forget(): void {
    if (this.#disk.lstat(this.#path) === undefined) return;
    this.#disk.unlink(this.#path);
    this.#disk.syncFolder(dirname(this.#path));
  }
}

function parse(bytes: Buffer, path: string): WitnessNote {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw noNote(path, cause);
  }
  if (!isNote(value)) throw noNote(path);
  return value;
}

function isNote(value: unknown): value is WitnessNote {
  if (value === null || typeof value !== "object") return false;
  const note = value as Readonly<Record<string, unknown>>;
  const texts = ["workspace", "held", "told", "reason"].every((key) => typeof note[key] === "string");
  return texts && Number.isSafeInteger(note["sequence"]);
}

function noNote(path: string, cause?: unknown): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `${path} is not a valid note of a witness`, { cause });
}

/** Returns the error that says why the replica does not connect. */
export function witnessed({ sequence, reason }: WitnessNote): ChronicleError {
  return new ChronicleError(
    "INTEGRITY_VIOLATION",
    `the origin's history contradicts what this replica holds: ${reason}`,
    {
      hint: "one of the two was changed: compare both with `chronicle verify`, then resume the sync",
      data: { sequence },
    },
  );
}

interface WitnessOptions {
  readonly upstream: UpstreamLines;
  readonly notes: WitnessNotes;
  readonly vkey?: string;
}

type Told = MessageOf<"HelloAck">["head"];

/**
 * Compares what the origin says about its history with what this replica holds. If the two contradict each other, each
 * method stores a note and then throws `INTEGRITY_VIOLATION`.
 */
export class Witness {
  readonly #options: WitnessOptions;
  #workspace = "";
  /** A head of the origin that will be compared once this replica holds its event. */
  #ahead: Told | undefined;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  async met(workspace: string, head: Told): Promise<void> {
    this.#workspace = workspace;
    const held = this.#options.upstream.head;
    if (head.sequence < held.seq) this.#contradicts(held, "", `its log ends at event ${head.sequence}`);
    await this.#compare(head);
  }

  /**
   * Throws `INTEGRITY_VIOLATION`, without storing a note, if the message is about another workspace, or disagrees with
   * the signed head that it contains. The same applies if `vkey` is given and the signature is invalid.
   */
  async heard({ workspace, sequence, head_hash, signature }: MessageOf<"HeadWitness">): Promise<void> {
    if (workspace !== this.#workspace) violated("HeadWitness is about another workspace");
    const { vkey } = this.#options;
    if (signature !== undefined) {
      if (vkey !== undefined && !verifySignedHead(signature, vkey))
        violated("a head is not signed by the origin's key");
      const signed = parseSignedHead(signature).content;
      const isSame = signed.workspace === workspace && signed.seq === sequence && signed.hash === head_hash;
      if (!isSame) violated("HeadWitness disagrees with the signed head in it");
    }
    await this.#compare({ sequence, hash: head_hash });
  }

  /** Called when this replica holds more events than before. */
  async grown(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead !== undefined) await this.#compare(ahead);
  }

  /** Called when the origin says that its history lacks the head of this replica. */
  diverged(): never {
    return this.#contradicts(this.#options.upstream.head, "", "its log does not hold that event");
  }

  /**
   * Calls `check`, which checks a line that should follow `tail`. A valid line whose `prev` hash is not the hash of
   * `tail` is a contradiction.
   */
  watch<Result>(tail: Head, check: () => Result): Result {
    try {
      return check();
    } catch (error) {
      const isOther = error instanceof ChronicleError && error.data["kind"] === "bad-prev";
      return isOther
        ? this.#contradicts(tail, "", `what it sends as event ${tail.seq + 1} follows another event`)
        : raise(error);
    }
  }

  async #compare({ sequence, hash }: Told): Promise<void> {
    const { upstream } = this.#options;
    if (sequence > upstream.head.seq) {
      this.#ahead = { sequence, hash };
      return;
    }
    const held = sequence === 0 ? "" : await upstream.hashAt(sequence);
    // A mirror that starts on an anchor does not know the hashes of earlier events.
    if (held === undefined || held === hash) return;
    this.#contradicts({ seq: sequence, hash: held }, hash, `its event ${sequence} is another one`);
  }

  #contradicts({ seq: sequence, hash: held }: Head, told: string, reason: string): never {
    const note = { workspace: this.#workspace, sequence, held, told, reason };
    this.#options.notes.keep(note);
    throw witnessed(note);
  }
}

function raise(error: unknown): never {
  throw error;
}

function violated(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}
