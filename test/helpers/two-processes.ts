import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { Backends } from "../../src/store/backends.ts";
import { openFileStore } from "../../src/compose/file-store.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { StorageBackends } from "../../src/storage/storage-backends.ts";
import { optional } from "../../src/util/optional.ts";
import type { BlobIndexOpener } from "../../src/storage/blob-index.ts";
import { MemoryBlobIndex } from "../../src/storage/memory/memory-blob-index.ts";
import { simBackends } from "../../src/testing/sim-store.ts";

/** A process that has the workspace open. */
interface Process {
  readonly store: StoreApi;
  readonly workspace: WorkspaceApi;
}

/** Options of the workspace that both processes open. */
export interface TwoProcessesOptions {
  /** The tracked roots. The first one must be a folder. Default: /proj. */
  readonly roots?: readonly string[];
  /** The storage of the store. Default: packs and NDJSON on the disk. */
  readonly storage?: StorageBackends;
}

/**
 * Two processes of one machine that may have the same workspace open. One of them works at a time. Each has an index of
 * its own, so the events of the other process appear as if that process had been killed before it could update the
 * index.
 */
export class TwoProcesses {
  readonly #backends: Backends;
  readonly #roots: readonly string[];
  #atWork: Process | undefined;
  #other: Process | undefined;
  /**
   * The id of the workspace once it exists. It is opened by its id, because a root that is a file may be missing later.
   */
  #known: string | undefined;

  constructor(disk: SimDisk, clock: () => number, { roots = ["/proj"], storage }: TwoProcessesOptions = {}) {
    this.#roots = roots;
    this.#backends = simBackends(disk, { firstId: 0, clock, blobIndex: sharedBlobIndex(), ...optional({ storage }) });
  }

  get workspace(): WorkspaceApi {
    if (this.#atWork === undefined) throw new Error("no process has the workspace open");
    return this.#atWork.workspace;
  }

  async open(): Promise<void> {
    const options = { home: "/store", configFolder: "/config", userHome: "/root", waitMs: 50 };
    const store = await openFileStore(options, this.#backends);
    const known = this.#known;
    const workspace =
      known === undefined ? (await store.init({ roots: this.#roots })).workspace : await store.openById(known);
    this.#known = workspace.id;
    this.#atWork = { store, workspace };
  }

  /** Ends the working process. */
  async close(): Promise<void> {
    const ended = this.#atWork;
    this.#atWork = undefined;
    await ended?.workspace.close();
    await ended?.store.close();
  }

  /** Lets the other process work. The present one stays open. */
  async swap(): Promise<void> {
    [this.#atWork, this.#other] = [this.#other, this.#atWork];
    if (this.#atWork === undefined) await this.open();
  }

  async closeAll(): Promise<void> {
    await this.close();
    this.#atWork = this.#other;
    this.#other = undefined;
    await this.close();
  }
}

/**
 * Returns an opener of the blob index that all processes share. Once no process has it open, it is discarded, and the
 * next opening makes a new one.
 */
function sharedBlobIndex(): BlobIndexOpener {
  let users = 0;
  let index = new SharedBlobIndex(() => {});
  return () => {
    const fresh = users === 0;
    if (fresh) index = new SharedBlobIndex(() => (users -= 1));
    users += 1;
    return { index, fresh, readOnly: false };
  };
}

class SharedBlobIndex extends MemoryBlobIndex {
  readonly #onClose: () => void;

  constructor(onClose: () => void) {
    super();
    this.#onClose = onClose;
  }

  override close(): void {
    this.#onClose();
  }
}
