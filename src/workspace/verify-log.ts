import type { VerifyOptions } from "../api/workspace-api.ts";
import { BaseTreeCheck, decodeBase, type BaseEntry } from "../core/base.ts";
import { checkLine } from "../core/chain.ts";
import { ChronicleError } from "../core/errors.ts";
import { EMPTY_HEAD, type Head, type LogEvent } from "../core/event.ts";
import type { Hash } from "../core/hash.ts";
import { LogTree } from "../core/log-tree.ts";
import { displayPath } from "../core/path.ts";
import { decodeIntent, decodeSession, decodeSnapshot, decodeWorkspace } from "../core/records.ts";
import type { RawLine } from "../storage/event-log.ts";
import { contentsOf } from "./alive.ts";
import type { Context } from "./context.ts";
import { baseOf, iterationOf, project, type PlacedEvent } from "./project.ts";
import { rootAtHead } from "./tree.ts";
import type { VerifyProblemShape as Problem } from "../api/shapes.ts";

/** Where a content is needed: the first place found. */
export interface Need {
  readonly where: string;
}

/** What the log held at a seq of interest. */
export interface LogAt {
  readonly hash: Hash;
  readonly logRoot: Hash;
  readonly root: Hash | undefined;
}

/** What verifying the log has found. */
export interface LogFindings {
  readonly events: number;
  /** The last event that could be read. */
  readonly lastSeq: number;
  readonly needed: ReadonlyMap<Hash, Need>;
  readonly at: ReadonlyMap<number, LogAt>;
  /** The hash of an event, where it is known. */
  readonly hashes: (seq: number) => Hash | undefined;
}

export interface VerifyLogOptions extends Pick<VerifyOptions, "onProgress"> {
  readonly problems: Problem[];
  /** Gets what is not wrong, but worth knowing. */
  readonly notes: string[];
  /** Events up to here were recorded for certain: what is bad behind them was torn by a crash, and is cut off by the next command. */
  readonly bound: number;
  readonly seqsOfInterest: ReadonlySet<number>;
}

/** How many events are replayed at once. */
const BATCH = 2_000;

/** Reads the log from its files, line by line, replays it, and recomputes every root that it states. */
export async function verifyLog(context: Context, options: VerifyLogOptions): Promise<LogFindings> {
  const index = context.store.scratchIndex();
  try {
    const reader = new LogVerifier({ ...context, index }, options);
    const end = await context.log.refresh();
    for (const archive of await context.log.archived()) await reader.read(archive.read(), archive.name);
    await reader.read(context.log.read(), "events.wal");
    if (end.tornBytes > 0 && !reader.torn) {
      options.notes.push(
        `${end.tornBytes} bytes behind the last whole line were torn by a crash; the next command moves them away`,
      );
    }
    return await reader.finish();
  } finally {
    await index.close();
  }
}

class LogVerifier {
  readonly #context: Context;
  readonly #options: VerifyLogOptions;
  readonly #tree = new LogTree();
  readonly #needed = new Map<Hash, Need>();
  readonly #at = new Map<number, LogAt>();
  readonly #openPlans = new Map<string, Hash>();
  readonly #hashes: Hash[] = [];
  #pending: PlacedEvent[] = [];
  #prev: Head = EMPTY_HEAD;
  #events = 0;
  /** After a break in the chain nothing can be replayed any more; lines are still checked one by one. */
  #broken = false;
  /** The rest of the log was torn by a crash, and never acknowledged. */
  torn = false;

  constructor(context: Context, options: VerifyLogOptions) {
    this.#context = context;
    this.#options = options;
  }

  async read(lines: AsyncIterable<readonly RawLine[]>, file: string): Promise<void> {
    for await (const batch of lines) {
      for (const line of batch) await this.#line(line, file);
      this.#options.onProgress?.({ phase: "verify", done: this.#events, total: 0, unit: "events" });
    }
  }

  async finish(): Promise<LogFindings> {
    await this.#replay();
    for (const [id, hash] of this.#openPlans) this.#need(hash, `plan of ${id}`);
    return {
      events: this.#events,
      lastSeq: this.#prev.seq,
      needed: this.#needed,
      at: this.#at,
      hashes: (seq) => this.#hashes[seq - 1],
    };
  }

  #report(kind: string, where: string, detail: string): void {
    this.#options.problems.push({ kind, where, detail });
  }

  async #line(line: RawLine, file: string): Promise<void> {
    if (this.torn) return;
    const where = `${file}:${line.lineNumber}`;
    const checked = checkLine(line.bytes, this.#prev);
    if ("fault" in checked && this.#prev.seq >= this.#options.bound && !this.#broken) {
      this.torn = true;
      this.#options.notes.push(`the log was torn by a crash at ${where}: the next command moves the rest away`);
      return;
    }
    this.#events += 1;
    if ("fault" in checked) {
      this.#report(
        `line-${checked.fault.kind}`,
        where,
        `event ${this.#prev.seq + 1} (byte ${line.offset}): ${checked.fault.detail}`,
      );
      await this.#breakAt(line);
      return;
    }
    const { event } = checked;
    this.#prev = event;
    this.#hashes.push(event.hash);
    this.#collect(event, where);
    if (!this.#broken) {
      this.#pending.push({ event, offset: line.offset, length: line.bytes.length });
      if (this.#pending.length >= BATCH || this.#isMilestone(event)) await this.#replay();
    }
  }

  /** Goes on behind a bad line with whatever its own seq and hash claim, so that later damage is found too. */
  async #breakAt(line: RawLine): Promise<void> {
    await this.#replay();
    this.#broken = true;
    const claim = /^\{"hash":"([0-9a-f]{64})".*"seq":(\d+),"ts":"[^"]*"\}$/s.exec(line.bytes.toString("latin1"));
    this.#prev =
      claim === null
        ? { seq: this.#prev.seq + 1, hash: "0".repeat(64) as Hash }
        : { seq: Number(claim[2]), hash: claim[1] as Hash };
    this.#hashes.push((claim?.[1] ?? "") as Hash);
  }

  #isMilestone(event: LogEvent): boolean {
    return event.recordId.startsWith("snapshot:") || this.#options.seqsOfInterest.has(event.seq);
  }

  #need(hash: Hash, where: string): void {
    if (!this.#needed.has(hash)) this.#needed.set(hash, { where });
  }

  #collect(event: LogEvent, where: string): void {
    const place = `${where} (event ${event.seq}, ${event.recordId})`;
    try {
      checkRecord(event, this.#context.workspaceId);
    } catch (error) {
      this.#report(
        "record-damaged",
        where,
        `event ${event.seq} (${event.recordId}): ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    const hashes = contentsOf(event);
    if (!event.recordId.startsWith("intent:")) for (const hash of hashes) this.#need(hash, place);
    else if (hashes[0] === undefined) this.#openPlans.delete(event.recordId);
    else this.#openPlans.set(event.recordId, hashes[0]);
  }

  async #replay(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    if (pending.length === 0) return;
    const bases = new Map<Hash, readonly BaseEntry[]>();
    try {
      for (const { event } of pending) {
        const base = baseOf(event);
        if (base !== undefined) bases.set(base, await this.#checkBase(base, event));
      }
      await project(this.#context, pending, bases);
    } catch (error) {
      this.#broken = true;
      this.#report(
        "replay-failed",
        `events ${pending[0]?.event.seq}..${pending.at(-1)?.event.seq}`,
        error instanceof Error ? error.message : String(error),
      );
      return;
    }
    for (const { event } of pending) this.#tree.append(event.hash);
    await this.#checkMilestone(pending.at(-1)?.event);
  }

  /** Reads a base from the blob store, recomputes its folder hashes, and notes what its entries need. */
  async #checkBase(base: Hash, event: LogEvent): Promise<BaseEntry[]> {
    const reader = await this.#context.blobs.open(base);
    if (reader === undefined)
      throw new ChronicleError("BLOB_MISSING", `the base ${base} of event ${event.seq} is missing`);
    const entries: BaseEntry[] = [];
    let check: BaseTreeCheck | undefined;
    for await (const batch of decodeBase(reader.pieces())) {
      if (batch.header !== undefined) check = new BaseTreeCheck(batch.header);
      if (batch.entries === undefined) continue;
      check?.add(batch.entries);
      for (const one of batch.entries) {
        entries.push(one);
        if (one.entry?.hash !== undefined)
          this.#need(one.entry.hash, `base of event ${event.seq}: ${displayPath(one.path)}@${one.iteration}`);
      }
    }
    for (const fault of check?.finish() ?? []) {
      this.#report(
        "root-wrong",
        `base of event ${event.seq}: ${displayPath(fault.path)}`,
        `stored ${fault.stored ?? "nothing"}, computed ${fault.computed}`,
      );
    }
    return entries;
  }

  async #checkMilestone(event: LogEvent | undefined): Promise<void> {
    if (event === undefined || !this.#isMilestone(event)) return;
    const root = await rootAtHead(this.#context, event.seq);
    if (this.#options.seqsOfInterest.has(event.seq)) {
      this.#at.set(event.seq, { hash: event.hash, logRoot: this.#tree.root(), root });
    }
    if (!event.recordId.startsWith("snapshot:") || event.op !== "upsert") return;
    const stated = event.record["root"];
    if (stated !== root)
      this.#report(
        "root-wrong",
        `event ${event.seq} (${event.recordId})`,
        `states the Merkle root ${String(stated)}, computed ${root}`,
      );
  }
}

/** Is the record one that this code would have written? Throws if not. */
function checkRecord(event: LogEvent, workspaceId: string): void {
  const { recordId, record, op, seq } = event;
  if (seq === 1 && recordId !== `workspace:${workspaceId}`) {
    throw new ChronicleError(
      "INTEGRITY_VIOLATION",
      `the log begins with ${recordId}: it is not the log of workspace ${workspaceId}`,
    );
  }
  if (op === "delete") return;
  if (recordId.startsWith("file")) iterationOf(event);
  else if (recordId.startsWith("snapshot:")) decodeSnapshot(record);
  else if (recordId.startsWith("session:")) decodeSession(record);
  else if (recordId.startsWith("intent:")) decodeIntent(record);
  else if (recordId.startsWith("workspace:")) decodeWorkspace(record);
}
