import type { Disk } from "../../disk/disk.ts";
import type { OpenedFile } from "../files/confined-fs.ts";

/** Files that are made durable beside whatever else this thread does, and beside one another. Each stays open until then. */
export class SyncsBeside {
  readonly #disk: Disk;
  readonly #open = new DisposableStack();
  readonly #syncs: Promise<void>[] = [];

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** The same file; whoever disposes of it does not close it. */
  keep(file: OpenedFile): OpenedFile {
    this.#open.use(file);
    return { fd: file.fd, [Symbol.dispose]: () => undefined };
  }

  /** A file that is kept has all its bytes. */
  finished(file: OpenedFile): void {
    const sync = this.#disk.syncBeside(file.fd);
    // It is told of at the end.
    sync.catch(() => undefined);
    this.#syncs.push(sync);
  }

  /** Resolves once all that were finished are durable, else rejects with what the disk said; all are closed then. */
  async end(): Promise<void> {
    const ends = await Promise.allSettled(this.#syncs.splice(0));
    this.#open.dispose();
    const failed = ends.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}
