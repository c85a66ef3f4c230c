import type { Entry } from "../core/values/entry.ts";
import { decodeFile, pathOfRecordId, type FileRecord } from "../core/values/file-record.ts";
import type { LogEvent } from "../core/values/event.ts";
import type { Hash } from "../core/values/hash.ts";
import { parsePath, type WorkspacePath } from "../core/values/path.ts";
import { isStagingName } from "../core/tree/staging-folder.ts";
import type { ReplicaRecord } from "../core/records/replica-record.ts";
import type { UpstreamChange } from "../core/tree/upstream-change.ts";
import { SimDisk } from "./sim-disk/sim-disk.ts";
import type { IterationRow } from "../storage/index-store.ts";
import { capture } from "../engine/capture/capture.ts";
import type { Context } from "../engine/log/context.ts";
import { readRange } from "../engine/log/read-events.ts";
import {
  applyUpstream,
  type ApplyUpstreamOptions,
  type UpstreamReport,
  type UpstreamStep,
} from "../engine/replica/apply-upstream.ts";
import { readJournal, type JournalPage } from "../engine/replica/journal.ts";
import { SimEngine } from "./sim-engine.ts";
import { openSimStore } from "./sim-store.ts";

const FOLDER = { folder: 0o755 };

/** The origin of a rig's replica. */
export const ORIGIN = "11111111-1111-4111-8111-111111111111";

/** Makes a replica's record, with a test's own fields. */
export function replicaRecord(more: Partial<ReplicaRecord> = {}): ReplicaRecord {
  return {
    origin: ORIGIN,
    sandboxId: "sandbox",
    url: "unix:/origin.sock",
    mode: "two-way-safe",
    filterTo: [],
    filterFrom: [],
    applied: 0,
    settled: 0,
    ...more,
  };
}

/**
 * The engine of a workspace with the folder `/proj`, on a simulated disk. It has no real origin: the test makes up the
 * events of the origin.
 */
export class ReplicaRig implements AsyncDisposable {
  readonly disk: SimDisk;
  readonly #engine: SimEngine;
  /** The origin's iterations, in the order of its events. */
  readonly #mirror: IterationRow[] = [];

  private constructor(disk: SimDisk, engine: SimEngine) {
    this.disk = disk;
    this.#engine = engine;
  }

  /** Makes a new workspace with these files. If `disk` is given, opens the existing workspace on it. */
  static async open(files: Readonly<Record<string, string>> = {}, disk?: SimDisk, firstId = 0): Promise<ReplicaRig> {
    const tree = Object.fromEntries(Object.entries(files).map(([path, text]) => [`/proj/${path}`, text]));
    const own =
      disk ?? SimDisk.fromTree({ "/proj": FOLDER, "/store": FOLDER, "/config": FOLDER, "/root": FOLDER, ...tree });
    const store = await openSimStore(own, { firstId });
    const workspace = await store.open({ folder: "/proj", create: true });
    await workspace.close();
    await store.close();
    return new ReplicaRig(own, await SimEngine.open(own, workspace.id, { firstId: firstId + 10_000 }));
  }

  get context(): Context {
    return this.#engine.context;
  }

  /** Makes a file's entry, with its content in the store. */
  async file(path: string, text: string, mode = 0o644): Promise<Entry> {
    const hash = await this.keep(text);
    return { path: parsePath(path), kind: "file", mode, size: Buffer.byteLength(text), mtimeMs: 1_000, hash };
  }

  folder(path: string, mode = 0o755): Entry {
    return { path: parsePath(path), kind: "dir", mode, size: 0, mtimeMs: 0, hash: undefined };
  }

  async keep(text: string): Promise<Hash> {
    using _lease = await this.context.blobs.lease();
    const batch = await this.context.blobs.batch();
    const hash = await batch.put(Buffer.from(text));
    await batch.commit();
    return hash;
  }

  /** Returns the recorded state of a path. */
  async recorded(path: string): Promise<Entry | undefined> {
    const { seq } = await this.context.index.head();
    return (await this.context.index.iterationAt(parsePath(path), seq))?.entry;
  }

  /** Returns the change of the origin from the recorded state to this state. */
  async change(path: string, after: Entry | undefined, more: Partial<UpstreamChange> = {}): Promise<UpstreamChange> {
    return { path: parsePath(path), before: await this.recorded(path), after, ...more };
  }

  /** Adds an event that the origin has recorded. */
  upstream(path: string, entry: Entry | undefined, seq: number): IterationRow {
    const known = this.#mirror.filter((one) => one.path === path).length;
    const row = { path: parsePath(path), seq, iteration: known + 1, entry };
    this.#mirror.push(row);
    return row;
  }

  apply(
    step: Partial<UpstreamStep> & { readonly applied?: number },
    how?: ApplyUpstreamOptions,
  ): Promise<UpstreamReport> {
    const { applied = 0, ...rest } = step;
    return applyUpstream(this.context, { record: replicaRecord({ applied }), changes: [], ...rest }, how);
  }

  /** Writes a file as a user of the folder, and captures it. */
  async edit(path: string, text: string | undefined): Promise<void> {
    const full = `/proj/${path}`;
    if (this.disk.lstat(full) !== undefined) this.disk.unlink(full);
    if (text !== undefined) this.write(path, text);
    await capture(this.context, { cause: "watch", only: [parsePath(path)] });
  }

  /** Like `edit`, without a capture. */
  write(path: string, text: string): void {
    const full = `/proj/${path}`;
    if (this.disk.lstat(full) !== undefined) this.disk.unlink(full);
    const fd = this.disk.open(full, "create", 0o644);
    this.disk.write(fd, Buffer.from(text), 0);
    this.disk.sync(fd);
    this.disk.close(fd);
    this.disk.syncFolder(full.slice(0, full.lastIndexOf("/")));
  }

  /** Returns the folder's contents: texts of files, `/` for folders. */
  files(): Record<string, string> {
    const found: Record<string, string> = {};
    const visit = (folder: string): void => {
      for (const { name } of this.disk.list(`/proj/${folder}`)) {
        const path = folder === "" ? name.toString() : `${folder}/${name.toString()}`;
        if (isStagingName(name.toString())) continue;
        const stat = this.disk.lstat(`/proj/${path}`);
        if (stat?.kind === "dir") {
          found[path] = "/";
          visit(path);
        } else found[path] = this.#read(`/proj/${path}`);
      }
    };
    visit("");
    return found;
  }

  #read(path: string): string {
    const bytes = Buffer.alloc(this.disk.lstat(path)?.size ?? 0);
    const fd = this.disk.open(path, "read");
    this.disk.read(fd, bytes, 0);
    this.disk.close(fd);
    return bytes.toString();
  }

  /** Returns the events from the seq `from` on. */
  async events(from: number): Promise<LogEvent[]> {
    const { seq } = await this.context.index.head();
    const found: LogEvent[] = [];
    for await (const event of readRange(this.context, from, seq)) found.push(event);
    return found;
  }

  async head(): Promise<number> {
    return (await this.context.index.head()).seq;
  }

  /** Returns the file records among the events from the seq `from` on. */
  async fileRecords(from: number): Promise<(FileRecord & { readonly path: WorkspacePath })[]> {
    return (await this.events(from)).flatMap(({ recordId, record }) => {
      const path = recordId.startsWith("file") ? pathOfRecordId(recordId) : undefined;
      return path === undefined ? [] : [{ path, ...decodeFile(path, record) }];
    });
  }

  journal(after = 0, limit = 500): Promise<JournalPage> {
    const at = (path: WorkspacePath, seq: number): Promise<IterationRow | undefined> =>
      Promise.resolve(this.#mirror.findLast((row) => row.path === path && row.seq <= seq));
    return readJournal(this.context, at, { origin: ORIGIN, after, limit });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine[Symbol.asyncDispose]();
  }
}
