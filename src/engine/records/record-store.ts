import type * as api from "../../api/record-api.ts";
import { canonicalJson } from "../../core/values/canonical-json.ts";
import { ChronicleError, withCode } from "../../core/values/errors.ts";
import type { EventDraft, LogEvent, RecordBody } from "../../core/values/event.ts";
import { readChronomemory } from "../../core/log/chronomemory.ts";
import { checkedDepth, ownId, plainRecord, userRecordId } from "./check-record.ts";
import { importDrafts, importShape } from "./import-drafts.ts";
import type { LiveRecord, RecordLedger } from "../log/ledger.ts";

/** The store of users' records on a given log. */
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

  /** Begins to close; pending work is finished first. */
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
