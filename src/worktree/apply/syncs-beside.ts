import type { Disk } from "../../disk/disk.ts";
import type { OpenedFile } from "../files/confined-fs.ts";

/** Syncs files in parallel to this thread and to one another. Each file stays open until `end`. */
export class SyncsBeside {
  readonly #disk: Disk;
  readonly #open = new DisposableStack();
  readonly #syncs: Promise<void>[] = [];

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Returns the same file; disposing of that does not close it. */
  keep(file: OpenedFile): OpenedFile {
    this.#open.use(file);
    return { fd: file.fd, [Symbol.dispose]: () => undefined };
  }

  /** Starts the sync of a kept file, once all its bytes are written. */
  finished(file: OpenedFile): void {
    const sync = this.#disk.syncBeside(file.fd);
    // `end` reports the error.
    sync.catch(() => undefined);
    this.#syncs.push(sync);
  }

  /** Resolves once all finished files are durable, else rejects with the disk's error; all files are closed then. */
  async end(): Promise<void> {
    const ends = await Promise.allSettled(this.#syncs.splice(0));
    this.#open.dispose();
    const failed = ends.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}
