import { ChronicleError } from "../../core/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { readDiskFile } from "../read-disk-file.ts";
import { writeFileDurably } from "../../disk/write-fully.ts";
import { MemoryReplicaCursors, type ReplicaCursors } from "./replica-cursors.ts";

/** `<replica> <sequence>` in each line, after the first one. */
const MAGIC = "chronicle replica cursors 1";
const LINE = /^([A-Za-z0-9][A-Za-z0-9._-]{0,127}) (\d{1,16})$/;

/**
 * Cursors in one small file, rewritten whole. One process at a time: the one that serves the replicas. A file that is no
 * such file is refused with `LOG_DAMAGED`, never overwritten.
 */
export class FileReplicaCursors implements ReplicaCursors {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #cursors: MemoryReplicaCursors;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
    this.#cursors = new MemoryReplicaCursors(parse(readDiskFile(disk, path), path));
  }

  get(replica: string): number | undefined {
    return this.#cursors.get(replica);
  }

  advance(replica: string, sequence: number): void {
    const before = this.#cursors.get(replica);
    if (before !== undefined && sequence <= before) return;
    const next = new Map([...this.#cursors.list(), [replica, sequence] as const]);
    const lines = [MAGIC, ...[...next].map(([name, seq]) => `${name} ${seq}`)];
    writeFileDurably(this.#disk, this.#path, Buffer.from(`${lines.join("\n")}\n`));
    this.#cursors.advance(replica, sequence);
  }

  list(): readonly (readonly [string, number])[] {
    return this.#cursors.list();
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
