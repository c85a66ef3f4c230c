import { join } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { makeMissingFolders } from "../disk/make-folders.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import type { TokenStore, TokenRecord } from "../server/callers/token.ts";
import { readSmall } from "./run-folder.ts";

/**
 * Stores each token in its own file, `<folder>/<id>.json` (0600), so that tokens can be created and revoked
 * concurrently. The folder is read again when its modification time has changed. If the folder is changed twice in one
 * tick of the file system's clock, its modification time changes only once. Therefore, the result of a read within
 * `TICK_MS` of a change is not kept.
 */
export class FileTokenStore implements TokenStore {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #now: () => number;
  #byHash: ReadonlyMap<string, TokenRecord> = new Map();
  #mark: string | undefined;

  /** `configFolder` is absolute. Its subfolder `tokens` is created with the first token. */
  constructor(disk: Disk, configFolder: string, now: () => number) {
    this.#disk = disk;
    this.#folder = join(configFolder, "tokens");
    this.#now = now;
  }

  find(hash: string): TokenRecord | undefined {
    return this.#read().get(hash);
  }

  list(): readonly TokenRecord[] {
    return [...this.#read().values()].toSorted((a, b) => (a.created < b.created ? -1 : 1));
  }

  add(record: TokenRecord): void {
    makeMissingFolders(this.#disk, this.#folder, 0o700);
    writeFileDurably(this.#disk, this.#fileOf(record.id), Buffer.from(`${JSON.stringify(record)}\n`));
    this.#mark = undefined;
  }

  remove(id: string): boolean {
    if (!this.list().some((one) => one.id === id)) return false;
    try {
      this.#disk.unlink(this.#fileOf(id));
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
    }
    this.#disk.syncFolder(this.#folder);
    this.#mark = undefined;
    return true;
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  /**
   * Returns the token in a file; `undefined` if the file is malformed. Also ignores a file whose name is not the id of
   * its token, because such a token could not be revoked by its id.
   */
  #recordOf(name: string): TokenRecord | undefined {
    const record = recordIn(readSmall(this.#disk, join(this.#folder, name)));
    return record !== undefined && `${record.id}.json` === name ? record : undefined;
  }

  #read(): ReadonlyMap<string, TokenRecord> {
    const stat = this.#disk.lstat(this.#folder);
    if (stat?.kind !== "dir") return new Map();
    const mark = `${stat.dev} ${stat.ino} ${stat.mtimeNs}`;
    if (mark === this.#mark) return this.#byHash;
    const isSettled = this.#now() - Number(stat.mtimeNs / 1_000_000n) > TICK_MS;
    const records = this.#disk
      .list(this.#folder)
      .filter(({ name, kind }) => kind === "file" && name.toString().endsWith(".json"))
      .map(({ name }) => this.#recordOf(name.toString()))
      .filter((record) => record !== undefined);
    this.#byHash = new Map(records.map((record) => [record.hash, record]));
    this.#mark = isSettled ? mark : undefined;
    return this.#byHash;
  }
}

/**
 * The age in milliseconds from which the folder's modification time is relied on. It is longer than one tick of any
 * file system's clock.
 */
const TICK_MS = 2_000;

function recordIn(text: string | undefined): TokenRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
  return isRecord(value) ? value : undefined;
}

function isRecord(value: unknown): value is TokenRecord {
  if (typeof value !== "object" || value === null) return false;
  const { id, name, role, workspaces, replicas, hash, created, expires } = value as Partial<
    Record<keyof TokenRecord, unknown>
  >;
  return (
    [id, name, hash, created].every((one) => typeof one === "string") &&
    (role === "reader" || role === "agent" || role === "operator") &&
    (workspaces === null || isTexts(workspaces)) &&
    (replicas === undefined || isTexts(replicas)) &&
    (expires === null || (typeof expires === "string" && !Number.isNaN(Date.parse(expires))))
  );
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
