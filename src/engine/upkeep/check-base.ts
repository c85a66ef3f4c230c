import { BaseTreeCheck, decodeBase, type BaseBatch, type BaseEntry, type BaseRecord } from "../../core/log/base.ts";
import { canonicalJson } from "../../core/values/canonical-json.ts";
import { sameRecorded } from "../../core/values/entry.ts";
import { pathOfRecordId } from "../../core/values/file-record.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { displayPath } from "../../core/values/path.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import type { EventRow, IndexStore } from "../../storage/index-store.ts";
import { Breather } from "../../util/yield-to-event-loop.ts";
import { addAll } from "../../util/long-lists.ts";

export interface BaseFault {
  readonly where: string;
  readonly detail: string;
}

export interface BaseCheckOptions {
  /** The Merkle root that the base must state. */
  readonly root?: Hash;
  /** An index whose state at its head must agree with every row of the base. */
  readonly against?: IndexStore;
  /** Reads events from the log. With `against`, every record of the base must equal the record of its event. */
  readonly eventOf?: (row: EventRow) => Promise<LogEvent>;
  readonly onRows?: (batch: BaseBatch) => void;
}

/**
 * Recomputes the hashes of a base, and compares the base with `options`. Returns the faults; `undefined` if the base is
 * not in the store. Throws `INTEGRITY_VIOLATION` if the bytes are not a base, and `BLOB_CORRUPT` if the bytes are
 * damaged.
 */
export async function checkBase(
  blobs: BlobStore,
  base: Hash,
  options: BaseCheckOptions = {},
): Promise<readonly BaseFault[] | undefined> {
  const reader = await blobs.open(base);
  if (reader === undefined) return undefined;
  const faults: BaseFault[] = [];
  const comparison =
    options.against === undefined ? undefined : await Comparison.begin(options.against, options.eventOf);
  let tree: BaseTreeCheck | undefined;
  const breather = new Breather();
  for await (const batch of decodeBase(reader.pieces())) {
    if (batch.header !== undefined) {
      tree = new BaseTreeCheck(batch.header);
      if (options.root !== undefined && batch.header.root !== options.root) {
        faults.push({ where: "root", detail: `states ${batch.header.root}, not ${options.root}` });
      }
    }
    tree?.add(batch.entries ?? []);
    addAll(faults, (await comparison?.take(batch)) ?? []);
    options.onRows?.(batch);
    await breather.after(rowsIn(batch));
  }
  for (const { path, stored, computed } of tree?.finish() ?? []) {
    faults.push({ where: displayPath(path), detail: `stored ${stored ?? "nothing"}, computed ${computed}` });
  }
  return [...faults, ...(comparison?.finish() ?? [])];
}

function rowsIn({ entries = [], records = [] }: BaseBatch): number {
  return entries.length + records.length;
}

class Comparison {
  readonly #index: IndexStore;
  readonly #seq: number;
  readonly #records: Map<string, EventRow>;
  readonly #eventOf: BaseCheckOptions["eventOf"];
  #missing: number;

  private constructor(
    index: IndexStore,
    given: { seq: number; paths: number; records: readonly EventRow[]; eventOf: BaseCheckOptions["eventOf"] },
  ) {
    this.#index = index;
    this.#eventOf = given.eventOf;
    this.#seq = given.seq;
    this.#missing = given.paths;
    this.#records = new Map(given.records.map((row) => [row.recordId, row]));
  }

  static async begin(index: IndexStore, eventOf: BaseCheckOptions["eventOf"]): Promise<Comparison> {
    const { seq } = await index.head();
    const paths = (await index.touched(0, seq)).length;
    return new Comparison(index, { seq, paths, records: await liveRecords(index), eventOf });
  }

  async take({ entries = [], records = [] }: BaseBatch): Promise<BaseFault[]> {
    const faults = await this.#compareEntries(entries);
    for (const one of records) {
      const { recordId, seq, ts, op } = one;
      const row = this.#records.get(recordId);
      this.#records.delete(recordId);
      if (row === undefined || row.seq !== seq || row.ts !== ts || row.op !== op) {
        faults.push({
          where: recordId,
          detail: `is in the base as of event ${seq}; the log has ${row?.seq ?? "none"}`,
        });
      } else if (!(await this.#isOfLog(row, one))) {
        faults.push({ where: recordId, detail: `differs from the record of event ${seq}` });
      }
    }
    return faults;
  }

  /**
   * True if the record of the base equals the record of its event in the log. Bases of earlier versions of Chronicle
   * lack the recursion depth, so a missing depth is not compared.
   */
  async #isOfLog(row: EventRow, { record, recursionDepth }: BaseRecord): Promise<boolean> {
    if (this.#eventOf === undefined) return true;
    const event = await this.#eventOf(row);
    const isSameDepth = recursionDepth === undefined || recursionDepth === event.recursionDepth;
    return isSameDepth && canonicalJson(event.record) === canonicalJson(record);
  }

  finish(): BaseFault[] {
    const faults = [...this.#records.keys()].map((where) => ({ where, detail: "is not in the base" }));
    if (this.#missing > 0) faults.push({ where: "entries", detail: `${this.#missing} paths are not in the base` });
    return faults;
  }

  async #compareEntries(entries: readonly BaseEntry[]): Promise<BaseFault[]> {
    const faults: BaseFault[] = [];
    const rows = await this.#index.iterationsAt(
      entries.map((one) => one.path),
      this.#seq,
    );
    this.#missing -= entries.length;
    entries.forEach((one, i) => {
      const row = rows[i];
      if (row?.iteration === one.iteration && row.seq === one.seq && sameRecorded(row.entry, one.entry)) return;
      const known = row === undefined ? "nothing" : `iteration ${row.iteration} of event ${row.seq}`;
      const where = displayPath(one.path);
      faults.push({
        where,
        detail: `is in the base as iteration ${one.iteration} of event ${one.seq}; the log has ${known}`,
      });
    });
    return faults;
  }
}

/** Returns the last event of each live record, except the records of paths and of compactions. */
export async function liveRecords(index: IndexStore): Promise<readonly EventRow[]> {
  const rows = await index.records("");
  return rows.filter(({ recordId, op }) => op !== "compact" && pathOfRecordId(recordId) === undefined);
}
