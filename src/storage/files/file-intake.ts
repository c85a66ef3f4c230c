import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import type { BlobIntake, BlobSink, SinkGrant, SinkResult, ThreadSinks } from "../blob-intake.ts";
import type { StoreLayout } from "../layout.ts";
import type { FileBlobStore } from "./file-blob-store.ts";
import type { PackLease } from "./pack-leases.ts";
import { openPackSink, type PackSink } from "./pack-sink.ts";

/** The parts of a `FileIntake`. */
export interface FileIntakeOptions {
  readonly disk: Disk;
  readonly layout: StoreLayout;
  readonly blobs: FileBlobStore;
  readonly newPackId: () => string;
}

/** Takes contents in bulk into packs: each sink has a lane of its own. */
export class FileIntake implements BlobIntake {
  readonly #options: FileIntakeOptions;

  constructor(options: FileIntakeOptions) {
    this.#options = options;
  }

  isSound(hash: Hash): boolean {
    return this.#options.blobs.isSound(hash);
  }

  async openSink(known: (hash: Hash) => boolean): Promise<BlobSink> {
    const { disk, layout, blobs, newPackId } = this.#options;
    const [lane] = await blobs.takeLanes(1);
    if (lane === undefined) throw new Error("no lane was given");
    try {
      const sink = openPackSink(disk, layout.blobs, { grant: lane.grant, newPackId, known });
      return new LaneSink(sink, lane, (result) => blobs.publish([result]));
    } catch (error) {
      lane.release();
      throw error;
    }
  }

  readonly openThreadSinks = async (count: number): Promise<ThreadSinks> => {
    const { blobs, layout } = this.#options;
    const lanes = await blobs.takeLanes(count);
    const known = blobs.isEmpty ? undefined : blobs.checkedBlocks;
    return {
      grants: lanes.map(({ grant }): SinkGrant => ({ home: layout.home, lane: grant, known })),
      publish: (results) => blobs.publish(results),
      release: () => {
        for (const lane of lanes) lane.release();
      },
    };
  };
}

/** A pack sink that publishes what it has stored, and releases its lane at the end. */
class LaneSink implements BlobSink {
  readonly #sink: PackSink;
  readonly #lane: PackLease;
  readonly #publish: (result: SinkResult) => Promise<void>;

  constructor(sink: PackSink, lane: PackLease, publish: (result: SinkResult) => Promise<void>) {
    this.#sink = sink;
    this.#lane = lane;
    this.#publish = publish;
  }

  put(content: Uint8Array, hash?: Hash): Hash {
    return this.#sink.put(content, hash);
  }

  putLarge(pieces: Iterable<Uint8Array>, cloneFrom?: string): { readonly hash: Hash; readonly size: number } {
    return this.#sink.putLarge(pieces, cloneFrom);
  }

  async finish(): Promise<void> {
    await this.#publish(this.#sink.finish());
    this.#lane.release();
  }

  abandon(): void {
    this.#sink.abandon();
    this.#lane.release();
  }
}
