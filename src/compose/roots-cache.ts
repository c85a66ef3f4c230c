import { parseLine } from "../core/chain.ts";
import { decodeWorkspace, type WorkspaceRecord } from "../core/records.ts";
import { decodeSentinel, sentinelId } from "../core/sentinel.ts";
import { FileEventLog } from "../storage/files/file-event-log.ts";
import type { StoreLayout } from "../storage/files/layout.ts";
import type { Disk } from "../disk/disk.ts";
import { makeFolders, readText } from "./file-head-keeper.ts";
import { newUlid } from "../util/ulid.ts";
import { writeFully } from "../disk/write-fully.ts";

/** A workspace, as the store's list shows it. */
export interface ListedWorkspace {
  readonly id: string;
  readonly name?: string;
  /** None for a hosted one. */
  readonly folders: readonly string[];
  readonly device: string;
  readonly inode: string;
  readonly created: string;
  readonly archived?: true;
}

/**
 * Which folder belongs to which workspace: derived from the logs, kept in `cache/roots.json` so that a command need not
 * read every log. Disposable: what is missing in it is read from the logs again.
 */
export class RootsCache {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;

  constructor(disk: Disk, layout: StoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** All workspaces of the store that have a history. */
  async list(): Promise<ListedWorkspace[]> {
    const known = this.#load();
    const listed: ListedWorkspace[] = [];
    let fresh = false;
    for (const id of this.#ids()) {
      const cached = known.get(id);
      const found = cached ?? (await this.#read(id));
      if (found !== undefined) listed.push(found);
      fresh ||= cached === undefined && found !== undefined;
    }
    if (fresh || listed.length !== known.size) this.#save(listed);
    return listed;
  }

  /** Takes note of a workspace that was begun, moved or reconfigured. */
  async put(workspace: ListedWorkspace): Promise<void> {
    this.#save([...(await this.list()).filter((one) => one.id !== workspace.id), workspace]);
  }

  /** The next look reads its log again. */
  async drop(id: string): Promise<void> {
    this.#save((await this.list()).filter((one) => one.id !== id));
  }

  #ids(): string[] {
    if (this.#disk.lstat(this.#layout.workspaces) === undefined) return [];
    return this.#disk
      .list(this.#layout.workspaces)
      .filter((item) => item.kind === "dir" && !item.name.includes("."))
      .map((item) => item.name.toString());
  }

  /** The last `workspace:` record in the present log; what it begins with, if it goes on behind a compaction, has one too. */
  async #read(id: string): Promise<ListedWorkspace | undefined> {
    const { log: file, archive, quarantine } = this.#layout.workspace(id);
    const log = new FileEventLog(this.#disk, { log: file, archive, quarantine });
    let record: WorkspaceRecord | undefined;
    const marks = [`workspace:${id}`, sentinelId(id)].map((recordId) => Buffer.from(`"record_id":"${recordId}"`));
    try {
      for await (const lines of log.read()) {
        for (const line of lines) {
          if (!marks.some((mark) => line.bytes.includes(mark))) continue;
          const event = parseLine(line.bytes);
          record = event.op === "compact" ? decodeSentinel(event).workspace : decodeWorkspace(event.record);
        }
      }
    } finally {
      await log.close();
    }
    return record === undefined ? undefined : listedWorkspace(id, record);
  }

  #load(): Map<string, ListedWorkspace> {
    const text = readText(this.#disk, `${this.#layout.home}/cache/roots.json`);
    if (text === undefined) return new Map();
    try {
      const parsed = JSON.parse(text) as unknown;
      return new Map((Array.isArray(parsed) ? parsed : []).filter(isListed).map((one) => [one.id, one]));
    } catch {
      // A torn cache is no cache: the logs are read again.
      return new Map();
    }
  }

  #save(listed: readonly ListedWorkspace[]): void {
    const folder = `${this.#layout.home}/cache`;
    makeFolders(this.#disk, folder);
    const temporary = `${folder}/roots.json.${newUlid()}`;
    const fd = this.#disk.open(temporary, "create", 0o600);
    try {
      writeFully(this.#disk, fd, Buffer.from(JSON.stringify(listed)), null);
    } finally {
      this.#disk.close(fd);
    }
    this.#disk.rename(temporary, `${folder}/roots.json`);
  }
}

/** A workspace's record as the list shows it. */
export function listedWorkspace(id: string, record: WorkspaceRecord): ListedWorkspace {
  const { name, device, inode, created, archived } = record;
  const onDisk = record.roots.filter((root) => root.folder !== "");
  return {
    id,
    ...(name === undefined ? {} : { name }),
    folders: onDisk.map((root) => (root.only === undefined ? root.folder : `${root.folder}/${root.only}`)),
    device,
    inode,
    created,
    ...(archived === undefined ? {} : { archived: true }),
  };
}

function isListed(value: unknown): value is ListedWorkspace {
  if (value === null || typeof value !== "object") return false;
  const { id, folders, device, inode, created } = value as Record<string, unknown>;
  return [id, device, inode, created].every((one) => typeof one === "string") && Array.isArray(folders);
}
