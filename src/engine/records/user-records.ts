import type { RecordStoreApi, RecordVerifyShape } from "../../api/record-api.ts";
import type { VerifyShape } from "../../api/shapes.ts";
import { canonicalJson } from "../../core/values/canonical-json.ts";
import { readEventFast } from "../../core/log/chain.ts";
import type { EventDraft, LogEvent, SealedEvent } from "../../core/values/event.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { ChronicleError, codedError } from "../../core/values/errors.ts";
import type { HeldLock } from "../../storage/lock.ts";
import { withCommit, type Commit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { catchUp } from "../log/catch-up.ts";
import { indexedFrom } from "../log/history-start.ts";
import { isInBase } from "../log/read-base.ts";
import { refuseOverQuota } from "../log/quota.ts";
import { readEvent, readRange } from "../log/read-events.ts";
import { file, logFiles } from "./backup-files.ts";
import { isUserRecord, ownId } from "./check-user-record.ts";
import { byRecordId, type LiveRecord, type RecordCommit, type RecordLedger } from "../log/ledger.ts";
import { RecordStore } from "./record-store.ts";

/** Runs work on a workspace's records while the workspace is open. A `change` waits for its turn; a `read` does not. */
export interface RecordHost {
  read<T>(work: () => Promise<T>): Promise<T>;
  change<T>(work: () => Promise<T>): Promise<T>;
  compact(): Promise<{ readonly events_archived: number }>;
  verify(): Promise<VerifyShape>;
}

export function userRecords(context: Context, host: RecordHost): RecordStoreApi {
  return new RecordStore(new WorkspaceLedger(context, host));
}

const USER = "user:";
/** The smallest distance, in events, at which two wanted lines are read in separate passes over the log. */
const FAR = 1_000;

/** A ledger of records in the log of a workspace. */
class WorkspaceLedger implements RecordLedger {
  readonly #context: Context;
  readonly #host: RecordHost;

  constructor(context: Context, host: RecordHost) {
    this.#context = context;
    this.#host = host;
  }

  newId(): string {
    return this.#context.newId();
  }

  get(recordId: string): Promise<LiveRecord | undefined> {
    return this.#host.read(() => liveRecord(this.#context, recordId));
  }

  live(): Promise<readonly LiveRecord[]> {
    return this.#host.read(() => liveRecords(this.#context));
  }

  async *events(from: number): AsyncIterable<LogEvent> {
    const { first, last } = await this.#host.read(async () => ({
      first: (await indexedFrom(this.#context)) ?? 1,
      last: (await this.#context.index.head()).seq,
    }));
    for await (const event of readRange(this.#context, Math.max(from, first), last)) {
      if (isUserRecord(event.recordId)) yield event;
    }
  }

  change<T>(work: (commit: RecordCommit) => Promise<T>): Promise<T> {
    return this.#host.change(() => withCommit(this.#context, (commit) => work(recordCommit(this.#context, commit))));
  }

  async compact(): Promise<number> {
    return (await this.#host.compact()).events_archived;
  }

  /** Verifies the whole workspace, so missing contents of files are problems, too. */
  async verify(): Promise<RecordVerifyShape> {
    // The head is read before the verification, so that the returned head covers only verified events.
    const { seq, hash } = await this.#host.read(() => this.#context.index.head());
    const { ok, events, problems, notes } = await this.#host.verify();
    return { ok, events, head: { seq, hash }, problems, notes };
  }

  /** Copies the log of the workspace, byte for byte, and the present records. */
  backup(folder: string): Promise<string> {
    return this.#host.read(async () => {
      const { log, index, store } = this.#context;
      // While the lock is held, nobody compacts the log or appends to it.
      using held = await lockUnlessRefused(this.#context);
      if (held !== undefined) await catchUp(this.#context, { recover: false, locked: true });
      const { seq } = await index.head();
      const lines = (await liveRecords(this.#context)).map(
        ({ recordId, record }) => `${canonicalJson({ id: ownId(recordId), record })}\n`,
      );
      const records = file("records.ndjson", () => Buffer.from(lines.join("")));
      return await store.newFolder(folder, `records-${seq}`, [...(await logFiles(log)), records]);
    });
  }

  /** Does nothing, because closing the workspace closes everything. */
  async close(): Promise<void> {
    await Promise.resolve();
  }
}

/** Takes the lock. Returns `undefined` if the lock cannot be taken, because this process may not write to the store. */
async function lockUnlessRefused({ lock, waitMs }: Context): Promise<HeldLock | undefined> {
  try {
    return await lock.exclusive(waitMs);
  } catch (error) {
    const known = codedError(error);
    const errno = known instanceof ChronicleError ? known.data["errno"] : undefined;
    if (errno === "EROFS" || errno === "EACCES" || errno === "EPERM") return undefined;
    throw error;
  }
}

function recordCommit(context: Context, commit: Commit): RecordCommit {
  return {
    get: (recordId) => liveRecord(context, recordId),
    live: () => liveRecords(context),
    append: async (drafts): Promise<readonly SealedEvent[]> => {
      // The quota does not stop deletions, because they take little space.
      const added = drafts.filter((draft) => draft.op !== "delete");
      if (added.length > 0) refuseOverQuota(context, sizeOf(added));
      return commit.append(drafts);
    },
  };
}

function sizeOf(drafts: readonly EventDraft[]): number {
  return drafts.reduce((sum, { record }) => sum + LINE_BYTES + canonicalJson(record).length, 0);
}

/** The approximate number of bytes of a line without its record. */
const LINE_BYTES = 300;

async function liveRecord(context: Context, recordId: string): Promise<LiveRecord | undefined> {
  const row = await context.index.record(recordId);
  if (row === undefined || row.op === "delete") return undefined;
  return { recordId, seq: row.seq, record: (await readEvent(context, row)).record };
}

async function liveRecords(context: Context): Promise<LiveRecord[]> {
  const rows = await context.index.records(USER);
  const live: LiveRecord[] = [];
  for await (const { recordId, seq, record } of readRows(context, rows)) live.push({ recordId, seq, record });
  return live.sort(byRecordId);
}

/** Yields the event of each row. The rows must ascend by seq. Events that are close together are read in one pass. */
async function* readRows(context: Context, rows: readonly EventRow[]): AsyncGenerator<LogEvent> {
  for (let at = 0; at < rows.length;) {
    const first = rows[at] as EventRow;
    if (isInBase(first)) {
      yield await readEvent(context, first);
      at += 1;
      continue;
    }
    const near = [first];
    for (let next = rows[at + 1]; next !== undefined && next.seq - (near.at(-1)?.seq ?? 0) < FAR;) {
      near.push(next);
      next = rows[at + near.length];
    }
    yield* readNear(context, near);
    at += near.length;
  }
}

async function* readNear(context: Context, rows: readonly EventRow[]): AsyncGenerator<LogEvent> {
  const [first] = rows;
  if (first === undefined) return;
  const wanted = new Map(rows.map((row) => [row.seq, row]));
  let { seq } = first;
  for await (const lines of context.log.read({ seq, offset: first.offset })) {
    for (const line of lines) {
      const row = wanted.get(seq);
      seq += 1;
      if (row === undefined) continue;
      const event = readEventFast(line.bytes);
      // If the line is not that of the row's event, `readEvent` reads the event at the row's own offset, or throws.
      yield event.seq === row.seq && event.hash === row.hash ? event : await readEvent(context, row);
      wanted.delete(row.seq);
      if (wanted.size === 0) return;
    }
  }
  for (const row of wanted.values()) yield await readEvent(context, row);
}
