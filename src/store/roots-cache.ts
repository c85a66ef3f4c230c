import { errnoOf } from "../core/values/errors.ts";
import type { WorkspaceRecord } from "../core/records/workspace-record.ts";
import type { StoreLayout } from "../storage/layout.ts";
import type { Disk } from "../disk/disk.ts";
import { makeFolders, readDerived } from "./file-head-keeper.ts";
import { newUlid } from "../util/ulid.ts";
import { writeFully } from "../disk/write-fully.ts";
import { type HistoryBackends, lastWorkspaceRecord, problemText } from "./last-workspace-record.ts";
import { placeOfRoot } from "../core/tree/root-place.ts";
import { optional } from "../util/optional.ts";

/** A workspace of the store, from its last `workspace:` record. */
export interface ListedWorkspace {
  readonly id: string;
  /** The seq of the event with the listed record; 0 if no record could be read. */
  readonly seq: number;
  readonly name?: string;
  /** The tracked folders and single files. Empty for a hosted workspace. */
  readonly folders: readonly string[];
  /** True if the first of `folders` is a single file. */
  readonly single: boolean;
  readonly device: string;
  readonly inode: string;
  /** The birth time of the first folder. Absent on a file system without birth times. */
  readonly born?: string;
  readonly created: string;
  readonly archived?: true;
  /**
   * The first fault in the log of the workspace. With a fault, the listed record may be missing or out of date. Such a
   * workspace is never cached, because a person may restore its log.
   */
  readonly problem?: string;
}

/** A change of the cache: entries to add, ids to remove, and whether the change must be durable (default: false). */
interface CacheChange {
  readonly fresh: readonly ListedWorkspace[];
  readonly gone: readonly string[];
  readonly durably?: boolean;
}

/** The number of times that a change of the cache is tried while other processes change it. */
const MOST_ATTEMPTS = 10;

/**
 * A cache of the store's workspaces in `cache/roots.json`, derived from the logs. With the cache, a command need not
 * read every log.
 */
export class RootsCache {
  readonly #backends: HistoryBackends;
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  /** The content that was last read from the file, and the file's mark at that time. */
  #loaded: { readonly mark: string; readonly known: ReadonlyMap<string, ListedWorkspace> } | undefined;

  constructor(backends: HistoryBackends, layout: StoreLayout) {
    this.#backends = backends;
    this.#disk = backends.disk;
    this.#layout = layout;
  }

  /**
   * Returns the workspaces of the store. A workspace whose record cannot be read has a `problem`, and does not affect
   * the others.
   */
  async list(): Promise<ListedWorkspace[]> {
    const known = this.#load();
    const listed: ListedWorkspace[] = [];
    const fresh: ListedWorkspace[] = [];
    for (const id of this.#ids()) {
      const cached = known.get(id);
      const found = cached ?? (await this.#read(id));
      if (found === undefined) continue;
      listed.push(found);
      if (cached === undefined && found.problem === undefined) fresh.push(found);
    }
    const ids = new Set(listed.map((one) => one.id));
    const gone = [...known.keys()].filter((id) => !ids.has(id));
    if (fresh.length + gone.length > 0) this.#tryToChange({ fresh, gone });
    return listed;
  }

  /** Adds a workspace to the cache, unless the cache has a later record of it. Ignores errors of the disk. */
  note(workspace: ListedWorkspace): void {
    this.#tryToChange({ fresh: [workspace], gone: [] });
  }

  /**
   * Removes a workspace from the cache, durably. Must be called before the workspace's record is changed, so that the
   * next `list` reads the log, even after a power loss.
   */
  drop(id: string): void {
    this.#change({ fresh: [], gone: [id], durably: true });
  }

  /**
   * Changes the cache. Ignores errors of the disk, because the old cache is still true, and `list` reads missing
   * entries from the logs.
   */
  #tryToChange(change: CacheChange): void {
    try {
      this.#change(change);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /**
   * Changes the cache file, and keeps the entries that other processes have added. Of two records of a workspace, keeps
   * the later one. If another process changes the file at the same time, begins again with its entries. Otherwise, an
   * older record could take the place of a later one, and stay.
   */
  #change({ fresh, gone, durably = false }: CacheChange): void {
    for (let attempt = 1; ; attempt += 1) {
      const all = new Map(this.#load());
      const mark = this.#loaded?.mark;
      for (const one of fresh) if (one.seq >= (all.get(one.id)?.seq ?? 0)) all.set(one.id, one);
      for (const id of gone) all.delete(id);
      const mayReplace = (): boolean => attempt === MOST_ATTEMPTS || this.#mark() === mark;
      if (this.#save([...all.values()], durably, mayReplace)) return;
    }
  }

  #ids(): string[] {
    if (this.#disk.lstat(this.#layout.workspaces) === undefined) return [];
    return this.#disk
      .list(this.#layout.workspaces)
      .filter((item) => item.kind === "dir" && !item.name.includes("."))
      .map((item) => item.name.toString());
  }

  /** Reads a workspace from its log. Returns `undefined` if nothing was recorded yet. */
  async #read(id: string): Promise<ListedWorkspace | undefined> {
    const layout = this.#layout.workspace(id);
    const found = await lastWorkspaceRecord(this.#backends, layout, id);
    const [{ last }, problem] = [found, problemText(found)];
    if (problem === undefined) return last === undefined ? undefined : listedWorkspace(id, last.record, last.seq);
    if (last !== undefined) return { ...listedWorkspace(id, last.record, last.seq), problem };
    // `workspace.json` is written only when the history begins. So its modification time tells when the workspace was
    // created.
    const made = this.#disk.lstat(layout.workspaceJson) ?? this.#disk.lstat(layout.folder);
    const created = new Date(Number((made?.mtimeNs ?? 0n) / 1_000_000n)).toISOString();
    return { id, seq: 0, folders: [], single: false, device: "", inode: "", created, problem };
  }

  #load(): ReadonlyMap<string, ListedWorkspace> {
    const mark = this.#mark();
    if (this.#loaded?.mark !== mark) this.#loaded = { mark, known: parsed(readDerived(this.#disk, this.#file)) };
    return this.#loaded.known;
  }

  get #file(): string {
    return `${this.#layout.home}/cache/roots.json`;
  }

  /** Returns a text that differs after each change of the file, because each write replaces the file. */
  #mark(): string {
    const stat = this.#disk.lstat(this.#file);
    return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
  }

  /** Writes the file. Leaves it as it is and returns false if `mayReplace` returns false right before the end. */
  #save(listed: readonly ListedWorkspace[], durably: boolean, mayReplace: () => boolean): boolean {
    const folder = `${this.#layout.home}/cache`;
    makeFolders(this.#disk, folder);
    const temporary = `${folder}/roots.json.${newUlid()}`;
    const fd = this.#disk.open(temporary, "create", 0o600);
    try {
      writeFully(this.#disk, fd, Buffer.from(JSON.stringify(listed)), null);
      if (durably) this.#disk.sync(fd);
    } finally {
      this.#disk.close(fd);
    }
    if (!mayReplace()) {
      this.#disk.unlink(temporary);
      return false;
    }
    this.#disk.rename(temporary, this.#file);
    if (durably) this.#disk.syncFolder(folder);
    return true;
  }
}

export function listedWorkspace(id: string, record: WorkspaceRecord, seq: number): ListedWorkspace {
  const { name, device, inode, born, created, archived } = record;
  const onDisk = record.roots.filter((root) => root.folder !== "");
  return {
    id,
    seq,
    ...optional({ name }),
    folders: onDisk.map(placeOfRoot),
    single: onDisk[0]?.only !== undefined,
    device,
    inode,
    ...optional({ born }),
    created,
    ...(archived === undefined ? {} : { archived: true }),
  };
}

function parsed(text: string | undefined): ReadonlyMap<string, ListedWorkspace> {
  try {
    const value = JSON.parse(text ?? "[]") as unknown;
    return new Map((Array.isArray(value) ? value : []).filter(isListed).map((one) => [one.id, one]));
  } catch {
    // Treat a torn cache as empty, so that the logs are read again.
    return new Map();
  }
}

function isListed(value: unknown): value is ListedWorkspace {
  if (value === null || typeof value !== "object") return false;
  const { id, seq, folders, single, device, inode, created } = value as Record<string, unknown>;
  if (typeof seq !== "number" || typeof single !== "boolean" || !Array.isArray(folders)) return false;
  return [id, device, inode, created].every((one) => typeof one === "string");
}
