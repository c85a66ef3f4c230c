import { canonicalJson } from "../core/values/canonical-json.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { RecordBody } from "../core/values/json.ts";
import type { RecordEventShape, RecordPut, RecordStoreApi } from "../api/record-api.ts";
import * as calls from "../api/routes/calls/record-calls.ts";
import { compact } from "../api/routes/calls/upkeep-calls.ts";
import { type Requests, requesting } from "./requests.ts";

const REQUESTS = { verify: calls.verifyRecords, importChronomemory: calls.importRecords };

/** The records of users in a workspace of a server. Replies hold JSON: `RecordBody`. */
export class RemoteRecords extends requesting(REQUESTS) implements RecordStoreApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    super(requests);
    this.#requests = requests;
  }

  async upsert(id: string, record: RecordBody, options?: RecordPut): Promise<RecordEventShape> {
    return (await this.#requests.one(calls.putRecord, id, record, options)) as RecordEventShape;
  }

  async get(id: string): Promise<RecordBody | undefined> {
    const found = await this.#requests.one(calls.getRecord, id);
    return found === null ? undefined : (found.record as RecordBody);
  }

  async delete(id: string, options?: RecordPut): Promise<RecordEventShape | undefined> {
    return ((await this.#requests.one(calls.deleteRecord, id, options)) as RecordEventShape | null) ?? undefined;
  }

  async all(): Promise<readonly (readonly [string, RecordBody])[]> {
    const records = await this.#requests.all(calls.listRecords);
    return records.map(({ id, record }) => [id, record as RecordBody]);
  }

  replay(from?: number): AsyncIterable<RecordEventShape> {
    return this.#requests.each(calls.recordEvents, from) as AsyncIterable<RecordEventShape>;
  }

  /**
   * Reads the records, changes them here, and writes them in one request. Throws `PRECONDITION_FAILED` if somebody
   * wrote one meanwhile.
   */
  async migrate(change: (record: RecordBody, id: string) => RecordBody): Promise<number> {
    const rewrites = (await this.all()).map(([id, before]) => ({
      id,
      before,
      record: change(structuredClone(before) as RecordBody, id),
    }));
    return (await this.#requests.one(calls.migrateRecords, rewrites)).records;
  }

  backup(): Promise<string> {
    const error = new ChronicleError("USAGE", "a backup is made in a folder of the server's own machine", {
      hint: "run `chronicle records backup` there, or `export` here",
    });
    return Promise.reject(error);
  }

  async *export(): AsyncIterable<string> {
    for await (const { id, record } of this.#requests.each(calls.listRecords)) {
      yield canonicalJson({ id, record: record as RecordBody });
    }
  }

  async compact(): Promise<number> {
    return (await this.#requests.one(compact)).events_archived;
  }

  async chainValid(): Promise<boolean> {
    return (await this.verify()).ok;
  }

  /** Does nothing: the workspace is closed instead. */
  async close(): Promise<void> {
    await Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  [Symbol.dispose](): void {}
}
