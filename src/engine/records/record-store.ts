import type { RecordImportShape, UnverifiedImportShape } from "../../api/record-api.ts";
import { type OriginalLog, readChronomemory } from "../../core/log/chronomemory.ts";
import { ChronicleError, withCode } from "../../core/values/errors.ts";
import type { EventDraft, RecordBody, SealedEvent, LogEvent } from "../../core/values/event.ts";
import { checkedDepth, plainRecord, userRecordId, ownId } from "./check-user-record.ts";
import { optional } from "../../util/optional.ts";
import { canonicalJson } from "../../core/values/canonical-json.ts";
import type { LiveRecord, RecordLedger } from "../log/ledger.ts";
import type * as api from "../../api/record-api.ts";

/** A record store on a ledger, which is either a log in a folder of its own, or the log of a workspace. */
export class RecordStore implements api.RecordStoreApi {
  readonly #ledger: RecordLedger;

  constructor(ledger: RecordLedger) {
    this.#ledger = ledger;
  }

  async upsert(id: string, record: RecordBody, options: api.RecordPut = {}): Promise<api.RecordEventShape> {
    const draft: EventDraft = {
      op: "upsert",
      recordId: userRecordId(id),
      record: plainRecord(record),
      recursionDepth: checkedDepth(options.recursionDepth),
    };
    return withCode(() => this.#ledger.change(async (commit) => onlyShape(await commit.append([draft]))));
  }

  async get(id: string): Promise<RecordBody | undefined> {
    const recordId = userRecordId(id);
    return (await withCode(() => this.#ledger.get(recordId)))?.record;
  }

  async delete(id: string, options: api.RecordPut = {}): Promise<api.RecordEventShape | undefined> {
    const recordId = userRecordId(id);
    const recursionDepth = checkedDepth(options.recursionDepth);
    const draft: EventDraft = { op: "delete", recordId, record: {}, recursionDepth };
    return withCode(() =>
      this.#ledger.change(async (commit) =>
        (await commit.get(recordId)) === undefined ? undefined : onlyShape(await commit.append([draft])),
      ),
    );
  }

  async all(): Promise<readonly (readonly [string, RecordBody])[]> {
    return (await this.#live()).map(({ recordId, record }) => [ownId(recordId), record]);
  }

  async *replay(from = 1): AsyncIterable<api.RecordEventShape> {
    if (!Number.isSafeInteger(from) || from < 0) {
      throw new ChronicleError("USAGE", `a replay cannot begin at ${String(from)}`, { hint: "give a seq: 1, 2, 3 …" });
    }
    for await (const event of this.#ledger.events(Math.max(1, from))) yield shapeOf(event);
  }

  migrate(change: (record: RecordBody, id: string) => RecordBody): Promise<number> {
    return withCode(() =>
      this.#ledger.change(async (commit) => {
        const drafts = (await commit.live()).map(({ recordId, record }): EventDraft => ({
          op: "migrate",
          recordId,
          record: plainRecord(change(record, ownId(recordId))),
        }));
        return (await commit.append(drafts)).length;
      }),
    );
  }

  backup(folder: string): Promise<string> {
    return withCode(() => this.#ledger.backup(folder));
  }

  async *export(): AsyncIterable<string> {
    for (const { recordId, record } of await this.#live()) yield canonicalJson({ id: ownId(recordId), record });
  }

  compact(): Promise<number> {
    return withCode(() => this.#ledger.compact());
  }

  async chainValid(): Promise<boolean> {
    return (await this.verify()).ok;
  }

  verify(): Promise<api.RecordVerifyShape> {
    return withCode(() => this.#ledger.verify());
  }

  async importChronomemory(log: Uint8Array, options: api.ImportOptions = {}): Promise<api.RecordImportShape> {
    const original = readChronomemory(log, { ...options, roundNumbers: options.roundNumbers === true });
    const drafts = importDrafts(original, this.#ledger.newId());
    return withCode(() => this.#ledger.change(async (commit) => importShape(original, await commit.append(drafts))));
  }

  close(): Promise<void> {
    return withCode(() => this.#ledger.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Begins to close the store, and does not wait until it is closed. Pending work is finished first. */
  [Symbol.dispose](): void {
    void this.close();
  }

  #live(): Promise<readonly LiveRecord[]> {
    return withCode(() => this.#ledger.live());
  }
}

function onlyShape(events: readonly LogEvent[]): api.RecordEventShape {
  const [event] = events;
  if (event === undefined) throw new ChronicleError("IO", "the event was not appended");
  return shapeOf(event);
}

function shapeOf(event: LogEvent): api.RecordEventShape {
  return {
    seq: event.seq,
    ts: event.ts,
    op: event.op as api.RecordEventShape["op"],
    record_id: ownId(event.recordId),
    record: event.record,
    prev_hash: event.prevHash,
    hash: event.hash,
    recursion_depth: event.recursionDepth,
  };
}

/**
 * Returns the drafts for the import of an original log, which is a log that chronomemory wrote:
 *
 * 1. An `import:` record with data that the imported events have no fields for: the original's times, seqs and head,
 *    the hash of its file, and the parts of it that could not be verified.
 * 2. The records of the original's checkpoint, if there is a checkpoint.
 * 3. One event for each event of the original, except its compactions.
 *
 * Records are copied unchanged, with two exceptions: numbers may be rounded, and the record of a deletion becomes `{}`.
 */
function importDrafts(original: OriginalLog, importId: string): EventDraft[] {
  const { events, checkpoint } = original;
  const about: EventDraft = { op: "upsert", recordId: `import:${importId}`, record: aboutImport(original) };
  const taken = (checkpoint?.records ?? []).map((one) =>
    keptDraft({ ...one, op: "upsert" }, `the record ${JSON.stringify(one.id)} of the checkpoint`),
  );
  return [about, ...taken, ...events.map((event) => keptDraft(event, `line ${event.line}`, { line: event.line }))];
}

function aboutImport(original: OriginalLog): RecordBody {
  const { events, head, file, rounded } = original;
  const unverified = unverifiedIn(original);
  return {
    source: "chronomemory",
    file_sha256: file,
    head_seq: head.seq,
    head_hash: head.hash,
    events: events.length,
    rounded,
    // The n-th time and seq are those of the n-th imported event. Records of a checkpoint are not counted.
    seqs: events.map((event) => event.seq),
    times: events.map((event) => event.ts),
    ...(unverified === undefined ? {} : { unverified: { ...unverified } }),
  };
}

function unverifiedIn({ checkpoint, tear }: OriginalLog): UnverifiedImportShape | undefined {
  if (checkpoint === undefined && tear === undefined) return undefined;
  const taken = checkpoint && { file_sha256: checkpoint.file, seq: checkpoint.seq, records: checkpoint.records.length };
  return {
    ...optional({ checkpoint: taken }),
    ...(tear === undefined ? {} : { tear: { ...tear } }),
  };
}

interface Kept {
  readonly op: "upsert" | "delete" | "migrate";
  readonly id: string;
  readonly record: RecordBody;
  readonly recursionDepth: number;
}

function keptDraft(
  { op, id, record, recursionDepth }: Kept,
  where: string,
  data: { readonly line?: number } = {},
): EventDraft {
  try {
    const plain = op === "delete" ? {} : plainRecord(record);
    return { op, recordId: userRecordId(id), record: plain, recursionDepth: checkedDepth(recursionDepth) };
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    throw new ChronicleError("REFUSED", `${where} cannot be kept here: ${error.message}`, {
      hint: "nothing was imported",
      data,
      cause: error,
    });
  }
}

function importShape(original: OriginalLog, sealed: readonly SealedEvent[]): RecordImportShape {
  const live = new Set(original.checkpoint?.records.map(({ id }) => id));
  const unverified = unverifiedIn(original);
  for (const { op, id } of original.events) {
    if (op === "delete") live.delete(id);
    else live.add(id);
  }
  return {
    source: "chronomemory",
    events: original.events.length,
    records: live.size,
    rounded: original.rounded,
    seqs: [sealed[0]?.seq ?? 0, sealed.at(-1)?.seq ?? 0],
    head: { ...original.head },
    ...optional({ unverified }),
  };
}
