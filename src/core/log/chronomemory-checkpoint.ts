import { ChronicleError } from "../values/errors.ts";
import type { RecordBody } from "../values/event.ts";
import { plainValue, readPythonJson, type PythonJson } from "./python-json.ts";

/**
 * The checkpoint of the original chronomemory (`.chronomemory/snapshot.json`): an object with `seq` and `last_hash` of
 * the last event that it covers, and `records`, each with its `id`. A record with the `status` `tombstone` is deleted.
 * No hash covers the file.
 */

/** A record as stored in a checkpoint. */
export interface CheckpointRecord {
  readonly id: string;
  readonly record: RecordBody;
  readonly recursionDepth: number;
}

/** The lines of a log that continues from a checkpoint. */
export interface LogBehind {
  /** Seqs of its first and last line. */
  readonly first: number;
  readonly last: number;
  readonly hashOf: (seq: number) => string | undefined;
}

type Members = ReadonlyMap<string, PythonJson>;

const TOMBSTONE = "tombstone";

/** A parsed checkpoint. */
export class Checkpoint {
  readonly seq: number;
  readonly #lastHash: string;
  readonly #records: readonly Members[];

  private constructor(seq: number, lastHash: string, records: readonly Members[]) {
    this.seq = seq;
    this.#lastHash = lastHash;
    this.#records = records;
  }

  /** Parses a checkpoint. Throws `REFUSED` if the bytes are not one. */
  static read(bytes: Uint8Array): Checkpoint {
    const members = membersOf(parsed(bytes), "it is not a JSON object");
    const seq = wholeIn(members, "seq") ?? refuse("seq is not a whole number");
    const lastHash = textIn(members, "last_hash") ?? refuse("last_hash is not text");
    const records = members.get("records");
    if (records?.kind !== "array") return refuse("records is not a list");
    const ids = new Set<string>();
    const all = records.items.map((one, i) => {
      const record = membersOf(one, `record ${i + 1} is not an object`);
      const id = textIn(record, "id") ?? refuse(`record ${i + 1} has no id`);
      if (ids.has(id)) refuse(`the record ${JSON.stringify(id)} is there twice`);
      ids.add(id);
      return record;
    });
    return new Checkpoint(seq, lastHash, all);
  }

  /**
   * Throws `REFUSED` if events between the checkpoint and the log are missing, or if the log has another event at the
   * seq where the checkpoint ends.
   */
  checkAgainst({ first, last, hashOf }: LogBehind): void {
    if (this.seq < first - 1) refuse(`it ends with event ${this.seq}, and the log begins with event ${first}`);
    if (this.seq > last) refuse(`it ends with event ${this.seq}, and the log with event ${last}`);
    if (this.seq >= first && hashOf(this.seq) !== this.#lastHash)
      refuse(`its event ${this.seq} has the hash ${this.#lastHash}, that of the log ${hashOf(this.seq) ?? "none"}`);
  }

  /** Returns the live records except those with these ids, and the number of their numbers that were rounded. */
  recordsBut(ids: ReadonlySet<string>): { readonly records: readonly CheckpointRecord[]; readonly rounded: number } {
    let rounded = 0;
    const records: CheckpointRecord[] = [];
    for (const members of this.#records) {
      const id = textIn(members, "id") ?? "";
      if (ids.has(id) || textIn(members, "status") === TOMBSTONE) continue;
      const plain = plainValue({ kind: "object", members });
      rounded += plain.rounded;
      const recursionDepth = wholeIn(members, "recursion_depth") ?? 0;
      records.push({ id, record: plain.value as RecordBody, recursionDepth });
    }
    return { records, rounded };
  }
}

function parsed(bytes: Uint8Array): PythonJson {
  try {
    return readPythonJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof ChronicleError || error instanceof TypeError) return refuse(error.message);
    throw error;
  }
}

function membersOf(value: PythonJson, otherwise: string): Members {
  return value.kind === "object" ? value.members : refuse(otherwise);
}

function textIn(members: Members, name: string): string | undefined {
  const value = members.get(name);
  return value?.kind === "string" ? value.value : undefined;
}

function wholeIn(members: Members, name: string): number | undefined {
  const value = members.get(name);
  const number = value?.kind === "number" && /^\d+$/.test(value.token) ? Number(value.token) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

function refuse(reason: string): never {
  throw new ChronicleError("REFUSED", `the checkpoint of this log cannot be taken: ${reason}`, {
    hint: "nothing was imported; give the snapshot.json that stood beside this log",
  });
}
