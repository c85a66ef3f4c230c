import { join } from "node:path";
import { ChronicleError } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { uniqueMark, writeFileDurably } from "../disk/write-fully.ts";
import { makeFolders, readText } from "./file-head-keeper.ts";

/** Matches an id (a UUID). Any other text is refused, because the text becomes a file name. */
const ID = /^[0-9a-f-]{36}$/;

/**
 * The tokens that syncs present to their origins. Each token is in a file of its own (mode 0600) in the folder
 * `sync-tokens` beside the key. The name of the file is the id of the workspace that syncs with the origin.
 */
export class SyncTokens {
  readonly #disk: Disk;
  readonly #folder: string;

  constructor(disk: Disk, configFolder: string) {
    this.#disk = disk;
    this.#folder = join(configFolder, "sync-tokens");
  }

  get(id: string): string | undefined {
    return readText(this.#disk, this.#pathOf(id))?.trim();
  }

  keep(id: string, token: string): void {
    makeFolders(this.#disk, this.#folder);
    writeFileDurably(this.#disk, this.#pathOf(id), Buffer.from(`${token}\n`), { mark: uniqueMark() });
  }

  remove(id: string): void {
    const path = this.#pathOf(id);
    if (this.#disk.lstat(path) === undefined) return;
    this.#disk.unlink(path);
    this.#disk.syncFolder(this.#folder);
  }

  #pathOf(id: string): string {
    if (!ID.test(id)) throw new ChronicleError("NOT_FOUND", "this is no id of a workspace");
    return join(this.#folder, id);
  }
}
