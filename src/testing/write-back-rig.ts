import assert from "node:assert/strict";
import type { Entry } from "../core/values/entry.ts";
import { withCode } from "../core/values/errors.ts";
import type { LogEvent } from "../core/values/event.ts";
import { decodeFile, fileRecordId, type FileRecord } from "../core/values/file-record.ts";
import { sha256, type Hash } from "../core/values/hash.ts";
import { parsePath } from "../core/values/path.ts";
import { isStagingName } from "../core/tree/staging-folder.ts";
import type { WriteBackAnswer, WriteBackEntry, WriteBackRules } from "../core/records/write-back.ts";
import { SimDisk } from "./sim-disk/sim-disk.ts";
import type { SimDiskOptions } from "./sim-disk/sim-machine.ts";
import type { Context } from "../engine/log/context.ts";
import { type FileWrite, readyWrite, type ReadyWrite } from "../engine/write/ready-write.ts";
import { readRange } from "../engine/log/read-events.ts";
import { acceptWriteBack } from "../engine/replica/accept-write-back.ts";
import type { Outcome } from "../engine/write/write-batch.ts";
import { writeTogether } from "../engine/write/write-together.ts";
import { SimEngine } from "./sim-engine.ts";
import { openSimStore } from "./sim-store.ts";

const folder = { folder: 0o700 };

let opened = 0;

/** An origin whose replicas write back: an engine on a simulated disk. */
export class WriteBackRig implements AsyncDisposable {
  readonly disk: SimDisk;
  /** The disk as the process sees it. */
  readonly seen: SimDisk;
  readonly workspaceId: string;
  readonly #engine: SimEngine;

  private constructor(
    { disk, seen }: { readonly disk: SimDisk; readonly seen: SimDisk },
    workspaceId: string,
    engine: SimEngine,
  ) {
    this.disk = disk;
    this.seen = seen;
    this.workspaceId = workspaceId;
    this.#engine = engine;
  }

  /** Makes a new workspace: without a folder, or with `/proj`, which contains these files. */
  static async create(
    files?: Readonly<Record<string, string>>,
    through?: (disk: SimDisk) => SimDisk,
    options: SimDiskOptions = {},
  ): Promise<WriteBackRig> {
    const texts = Object.entries(files ?? {}).map(([path, text]) => [`/proj/${path}`, file(text)] as const);
    const tree = { "/store": folder, "/config": folder, "/root": folder, "/proj": folder };
    const all = { ...tree, ...foldersOf(Object.keys(files ?? {})), ...Object.fromEntries(texts) };
    const disk = SimDisk.fromTree(all, options);
    const store = await openSimStore(disk, { firstId: (opened += 1) * 100_000 });
    const { workspace } = await (files === undefined ? store.create() : store.init({ roots: ["/proj"] }));
    const { id } = workspace;
    await workspace.close();
    await store.close();
    return WriteBackRig.open(disk, id, through);
  }

  /** Opens an existing workspace in a new process. `through`: the disk as that process sees it. */
  static async open(disk: SimDisk, workspaceId: string, through = (same: SimDisk) => same): Promise<WriteBackRig> {
    const seen = through(disk);
    const engine = await SimEngine.open(seen, workspaceId, { firstId: (opened += 1) * 100_000 });
    return new WriteBackRig({ disk, seen }, workspaceId, engine);
  }

  get context(): Context {
    return this.#engine.context;
  }

  /**
   * Writes a file at the origin (`undefined`: deletes it). Returns the seq of the path's event. Throws the error of the
   * write.
   */
  async write(path: string, text: string | undefined): Promise<number> {
    const [outcome] = await this.writeAll([[path, text]]);
    if (outcome === undefined || "error" in outcome) throw outcome?.error;
    return this.seqOf(path);
  }

  /** Writes files at the origin together (`undefined`: deletes one). Returns the outcome of each. */
  async writeAll(files: readonly (readonly [path: string, text: string | undefined])[]): Promise<Outcome[]> {
    const ready: ReadyWrite[] = [];
    for (const [path, text] of files) {
      const write: FileWrite =
        text === undefined
          ? { kind: "delete", path, options: {} }
          : { kind: "put", path, content: Buffer.from(text), options: {} };
      ready.push(await readyWrite(this.context, write, { role: "person", actor: "host" }));
    }
    return writeTogether(this.context, ready);
  }

  /** Returns the seq of the last event of a path. 0 if there is none. */
  async seqOf(path: string): Promise<number> {
    const { seq } = await this.context.index.head();
    return (await this.context.index.iterationAt(parsePath(path), seq))?.seq ?? 0;
  }

  /** Makes an entry of a replica's journal, with its content in the store. */
  async entry(localSeq: number, path: string, is: string | undefined, more: EntryMore = {}): Promise<WriteBackEntry> {
    const at = parsePath(path);
    const { seen = 0, kind = "file", mode = kind === "dir" ? 0o755 : 0o644, ...whose } = more;
    const bytes = Buffer.from(is ?? "");
    if (is !== undefined && kind !== "dir") await this.keep(bytes);
    const entry: Entry = {
      path: at,
      kind,
      mode,
      size: kind === "dir" ? 0 : bytes.length,
      mtimeMs: kind === "dir" ? 0 : 1_700_000_000_000,
      hash: kind === "dir" ? undefined : sha256(bytes),
    };
    return { localSeq, path: at, entry: is === undefined ? undefined : entry, seen, actor: "agent", ...whose };
  }

  async keep(bytes: Uint8Array): Promise<void> {
    const batch = await this.context.blobs.batch();
    await batch.put(bytes);
    await batch.commit();
  }

  /** Hands in entries of a replica that holds everything that the origin has. */
  async accept(
    entries: readonly WriteBackEntry[],
    { replica = "r1", rules, acknowledged, after }: AcceptMore = {},
  ): Promise<WriteBackAnswer> {
    const { seq } = await this.context.index.head();
    return withCode(() =>
      acceptWriteBack(
        this.context,
        { replica, acknowledged: acknowledged ?? seq, entries, ...(after === undefined ? {} : { after }) },
        rules,
      ),
    );
  }

  /** Returns the current files as texts; a folder is `/`. Throws if the folder differs from the record. */
  async files(): Promise<Record<string, string>> {
    const recorded = await this.#recorded();
    if (this.#hasFolder) assert.deepEqual(this.onDisk(), recorded);
    return recorded;
  }

  /**
   * Returns the contents of the folder in the same form as `files`. Files that an interrupted apply has staged are left
   * out, because a later apply removes them.
   */
  onDisk(folder = "/proj"): Record<string, string> {
    const found: Record<string, string> = {};
    for (const { name } of this.disk.list(folder)) {
      if (isStagingName(name.toString())) continue;
      const path = `${folder}/${name.toString()}`;
      const isFolder = this.disk.lstat(path)?.kind === "dir";
      found[path.slice("/proj/".length)] = isFolder ? "/" : this.#contentOf(path);
      if (isFolder) Object.assign(found, this.onDisk(path));
    }
    return found;
  }

  #contentOf(path: string): string {
    if (this.disk.lstat(path)?.kind === "symlink") return this.disk.readlink(path).toString();
    return this.disk.content(path)?.toString() ?? "";
  }

  get #hasFolder(): boolean {
    return this.context.worktree.roots.some(({ folder }) => folder !== "");
  }

  async #recorded(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const { seq } = await this.context.index.head();
    for await (const rows of this.context.index.entriesAt(seq)) {
      for (const { path, entry } of rows) {
        if (entry === undefined) continue;
        found[path] = entry.hash === undefined ? "/" : String(await this.context.blobs.get(entry.hash));
      }
    }
    return found;
  }

  /** Returns all events, or those whose record ids have this prefix. */
  async events(prefix = ""): Promise<LogEvent[]> {
    const { seq } = await this.context.index.head();
    const found: LogEvent[] = [];
    for await (const event of readRange(this.context, 1, seq)) if (event.recordId.startsWith(prefix)) found.push(event);
    return found;
  }

  /** Returns the recorded iterations of a path. */
  async iterations(path: string): Promise<FileRecord[]> {
    const at = parsePath(path);
    const events = await this.events(fileRecordId(at));
    return events.filter(({ recordId }) => recordId === fileRecordId(at)).map(({ record }) => decodeFile(at, record));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine[Symbol.asyncDispose]();
  }
}

/** Fields of an entry beside its state. */
export interface EntryMore {
  readonly seen?: number;
  readonly eventHash?: Hash;
  readonly kind?: Entry["kind"];
  readonly mode?: number;
  readonly actor?: string;
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
}

/** Options for handing in entries. */
export interface AcceptMore {
  readonly replica?: string;
  readonly rules?: WriteBackRules;
  readonly acknowledged?: number;
  /** The last decided entry, as far as the replica's conversation knows. */
  readonly after?: number;
}

function file(text: string) {
  return { content: Buffer.from(text), mode: 0o644 };
}

function foldersOf(paths: readonly string[]): Record<string, { readonly folder: number }> {
  const found: Record<string, { readonly folder: number }> = {};
  for (const path of paths) {
    const names = path.split("/").slice(0, -1);
    names.forEach((_, i) => (found[`/proj/${names.slice(0, i + 1).join("/")}`] = { folder: 0o755 }));
  }
  return found;
}
