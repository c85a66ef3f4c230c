import { dirname } from "node:path";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { writeFileDurably } from "../../disk/write-fully.ts";
import { readDiskFile } from "../../disk/read-disk-file.ts";

/** A contradiction that a replica has witnessed: the origin told another history than before. */
export interface WitnessNote {
  readonly workspace: string;
  /** The event at which the two histories differ, or after which one of them ends. */
  readonly sequence: number;
  /** The event's hash as this replica holds it. */
  readonly held: string;
  /** The origin's hash of it; `""` if it has no such event. */
  readonly told: string;
  readonly reason: string;
}

/** Keeps the first contradiction. A replica that has one does not connect until a person has looked at it. */
export interface WitnessNotes {
  /** Returns the note, or `undefined`. */
  get(): WitnessNote | undefined;
  /** Stores the first note durably; later ones change nothing. Throws `IO`. */
  keep(note: WitnessNote): void;
  /**
   * Removes the note after a person has looked at it: the replica connects again, and makes a new note if the origin
   * still contradicts. Throws `IO`.
   */
  forget(): void;
}

/** A note that lasts as long as this object. */
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

/** A note in its own JSON file. */
export class FileWitnessNotes implements WitnessNotes {
  readonly #disk: Disk;
  readonly #path: string;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Throws `LOG_DAMAGED` for an invalid file, since it may have been a note. */
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
  return new ChronicleError("LOG_DAMAGED", `${path} is no note of a witness`, { cause });
}

/** Returns the note as an error that says why the replica does not connect. */
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
