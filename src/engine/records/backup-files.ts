import { encodeCheckpoint, encodeRecordBase } from "../../core/records/record-checkpoint.ts";
import type { EventLog, RawLine } from "../../storage/event-log.ts";
import type { BackupFile } from "../log/ledger.ts";
import type { Loaded } from "./load-state.ts";
import { encodeKeptEnd, type RecordFiles } from "./record-files.ts";
import { decodeRecordSentinel } from "../../core/records/record-sentinel.ts";
import { soundEvent } from "./follow-log.ts";

const NEWLINE = Buffer.from("\n");

/** Returns the files of a log, byte for byte: the files of the archive, and `events.wal` up to its last whole line. */
export async function logFiles(log: EventLog): Promise<BackupFile[]> {
  const sealed = (await log.archived()).map((one) => ({
    name: `archive/${one.name}`,
    pieces: () => bytesOf(one.read()),
  }));
  return [...sealed, { name: "events.wal", pieces: () => bytesOf(log.read()) }];
}

async function* bytesOf(lines: AsyncIterable<readonly RawLine[]>): AsyncGenerator<Uint8Array> {
  for await (const batch of lines) yield Buffer.concat(batch.flatMap((line) => [line.bytes, NEWLINE]));
}

/**
 * Returns the files of a backup. A folder with copies of these files is itself a record store. For a damaged or an
 * empty store, returns only the files of the log.
 */
export async function backupFiles(log: EventLog, files: RecordFiles, loaded: Loaded): Promise<BackupFile[]> {
  const copies = await logFiles(log);
  const { state, offset, damage } = loaded;
  const { storeId: store, head } = state;
  if (damage !== undefined || store === undefined || head.hash === "") return copies;
  copies.push(file("snapshot.json", () => encodeCheckpoint(state, store, offset)));
  copies.push(file("head.json", () => Buffer.from(encodeKeptEnd({ seq: head.seq, hash: head.hash, store }))));
  const base = await presentBase(log);
  const bytes = base === undefined ? undefined : files.readBase(base);
  if (base !== undefined && bytes !== undefined) copies.push(file(`bases/${base}.json`, () => bytes));
  return copies;
}

/**
 * Returns the hash of the base on which the present log (`events.wal`) starts; `undefined` if the log does not start on
 * a base.
 */
async function presentBase(log: EventLog): Promise<ReturnType<typeof encodeRecordBase>["hash"] | undefined> {
  for await (const [line] of log.read()) {
    const event = line === undefined ? undefined : soundEvent(line);
    return event?.op === "compact" ? decodeRecordSentinel(event).base : undefined;
  }
  return undefined;
}

/** Returns a file of a backup. `bytes` is called when the file is read. */
export function file(name: string, bytes: () => Uint8Array): BackupFile {
  return {
    name,
    async *pieces() {
      yield bytes();
    },
  };
}
