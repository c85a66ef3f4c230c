import type { Disk } from "../../disk/disk.ts";
import type { OpenedFile } from "../files/confined-fs.ts";

/** Syncs files in parallel, without blocking this thread. Each file stays open until `end`. */
export class SyncsBeside {
  readonly #disk: Disk;
  readonly #open = new DisposableStack();
  readonly #finished: OpenedFile[] = [];
  readonly #syncs: Promise<void>[] = [];

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Takes over a file until `end`. Returns a handle of the file that can be disposed of without closing the file. */
  keep(file: OpenedFile): OpenedFile {
    this.#open.use(file);
    return { fd: file.fd, [Symbol.dispose]: () => undefined };
  }

  /** Marks a kept file for `start`. Requires that all its bytes are written. */
  finished(file: OpenedFile): void {
    this.#finished.push(file);
  }

  /**
   * Starts the syncs of the finished files. Must be called when no more files are made. In a journaling file system,
   * the creation of a file waits for a sync that is under way.
   */
  start(): void {
    for (const { fd } of this.#finished.splice(0)) {
      const sync = this.#disk.syncBeside(fd);
      // `end` reports the error.
      sync.catch(() => undefined);
      this.#syncs.push(sync);
    }
  }

  /**
   * Waits until all finished files are synced, and closes all files. If a sync failed, rejects with the disk's error.
   * Some of the files may then not be durable.
   */
  async end(): Promise<void> {
    // A finished file must never count as durable without a sync.
    this.start();
    const ends = await Promise.allSettled(this.#syncs.splice(0));
    this.#open.dispose();
    const failed = ends.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}
