import { inSlices } from "../../util/yield-to-event-loop.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { hintOfErrno, isOutOfSpace } from "../../core/values/errno.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { whyNotWritable } from "../../disk/probe-writes.ts";
import { folderOf } from "../../disk/write-fully.ts";
import type {
  BlobBatch,
  BlobInfo,
  BlobProblem,
  BlobReader,
  BlobStore,
  BlobVerifyOptions,
  CollectOptions,
  CollectReport,
  SetAsideWish,
} from "../blob-store.ts";
import type { BlobBlock } from "../blob-block.ts";
import type { HeldLock, Lock } from "../lock.ts";
import { collectBlobs } from "./blob-collect.ts";
import type { BlobIndex, BlobIndexOpener, BlobPlaces } from "../blob-index.ts";
import type { SinkResult } from "../blob-intake.ts";
import { BlobReading, DamagedContents } from "./blob-reading.ts";
import { rowHash } from "../blob-rows.ts";
import {
  catchUpLarge,
  catchUpOneLarge,
  catchUpPacks,
  isBehind,
  learnForeignLanes,
  learnReadOnly,
  catchUpReadOnly,
  type FoundPacks,
} from "./blob-recovery.ts";
import { poisoned, stillSays } from "./blob-trouble.ts";
import { ioTrouble, isDiskTrouble, takesNoWrites, withoutIndexFile, withTrouble } from "../io-trouble.ts";
import { verifyBlobs } from "./blob-verify.ts";
import { LARGE_BYTES } from "../block.ts";
import { CommitGroup, FileBlobBatch } from "./file-blob-batch.ts";
import { GcLease } from "../gc-lease.ts";
import { PackLeases, type BlobFiles, type PackLease } from "./pack-leases.ts";
import { makeFolderOnce } from "./large-writer.ts";
import type { BlobLayout } from "../layout.ts";
import { OpenSink } from "./pack-sink.ts";
import { PackWriter } from "./pack-writer.ts";
import { RenewableIndex } from "./renewable-index.ts";
import { setDamagedAside } from "./set-aside.ts";
import { CheckedBlocks, SoundContents, type StoredState } from "./sound-contents.ts";

const LOCK_WAIT_MS = 10_000;
/**
 * The time, in ms, that the rebuild of a lost index waits for running batches. After that, the rebuild leaves out the
 * lanes of those batches. A lane is the place of one pack to which one writer at a time appends (see `PackLeases`).
 */
const REBUILD_WAIT_MS = 500;
/** The maximum number of contents that are checked in one turn of the event loop. */
const SLICE = 100;

export interface FileBlobStoreOptions {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  /** Opens the index: `sqliteBlobIndex(disk, layout.index)`, or a memory index on a simulated disk. */
  readonly openIndex: BlobIndexOpener;
  /**
   * Makes an index for this object alone, for reading while the disk takes no writes. Without this option, operations
   * that need such an index throw.
   */
  readonly scratchIndex?: (() => BlobIndex) | undefined;
  /** Called with a sentence for people if the store can only be used with limits. */
  readonly tell?: ((note: string) => void) | undefined;
  readonly lock: (path: string) => Lock;
  /** Returns a new, unique ULID, for names of packs and of temporary files. */
  readonly newPackId: () => string;
  /** The time, in ms, to wait for the lock between writers and the collector. Default: 10 s. */
  readonly lockWaitMs?: number;
  /** The length in bytes above which a content is stored in a file of its own. At most 8 MiB, which is the default. */
  readonly largeBytes?: number;
}

interface Writing {
  readonly writer: PackWriter;
  readonly lane: PackLease;
}

/** Contents in packs on a disk (docs/format.md). `BlobIndex` has the place of each content. */
export class FileBlobStore implements BlobStore {
  readonly #options: FileBlobStoreOptions;
  readonly #files: BlobFiles;
  readonly #index: RenewableIndex;
  readonly #lanes: PackLeases;
  readonly #lease: GcLease;
  readonly #reading: BlobReading;
  readonly #commits: CommitGroup;
  readonly #batches = new Set<FileBlobBatch>();
  readonly #damaged: DamagedContents;
  readonly #checked = new CheckedBlocks();
  readonly #sound: SoundContents;
  #writing: Promise<Writing> | undefined;
  #writer: PackWriter | undefined;
  #readOnly: boolean;
  /** True if the index is a scratch index of this object, because the disk takes no writes to the index file. */
  #isScratch: boolean;
  /** The packs from which a scratch index was filled. */
  #foundPacks: FoundPacks | undefined;
  /** The inode of the index file that is open; `undefined` if there is no file. */
  #indexInode: bigint | undefined;
  /** Set while the index is being replaced (`#followIndex`). */
  #following: Promise<void> | undefined;
  /** Set while a read-only or poisoned store is being made writable again. */
  #takingUp: Promise<void> | undefined;
  #poisoned = false;
  #closed = false;

  private constructor(options: FileBlobStoreOptions, opened: ReturnType<BlobIndexOpener>, canWrite: boolean) {
    const { disk, layout, newPackId } = options;
    this.#options = options;
    this.#isScratch = opened.readOnly;
    this.#readOnly = opened.readOnly || !canWrite;
    this.#index = new RenewableIndex(opened.index);
    this.#indexInode = disk.lstat(layout.index)?.ino;
    this.#files = { disk, layout, index: this.#index, newPackId, unsure: new Set() };
    this.#lanes = new PackLeases(this.#files, options.lock);
    this.#lease = new GcLease(options.lock(layout.gcLock), options.lockWaitMs ?? LOCK_WAIT_MS);
    this.#damaged = new DamagedContents(this.#files, (hash) => this.#sound.replaced(hash));
    this.#reading = new BlobReading(this.#files, this.#damaged, (hash) => this.#catchUp(hash));
    this.#sound = new SoundContents(disk, layout, { index: this.#index, checked: this.#checked });
    this.#commits = new CommitGroup((result) => this.#publish(result));
  }

  /** Makes missing folders, and completes an index that is behind the disk or was lost. */
  static async open(options: FileBlobStoreOptions): Promise<FileBlobStore> {
    const canWrite = makeFolders(options);
    const opened = options.openIndex();
    const store = new FileBlobStore(options, opened, canWrite);
    try {
      await store.#start(opened.fresh).catch((error: unknown) => store.#readWithoutFile(error));
    } catch (error) {
      await store.close();
      throw error;
    }
    return store;
  }

  /** True while the store can only be read, because the disk took no writes. */
  get readOnly(): boolean {
    return this.#readOnly;
  }

  /** True if nothing is stored yet, so that a caller need not call `hasSync` for each content. */
  get isEmpty(): boolean {
    return this.#files.index.packs().length === 0 && this.#files.index.large().length === 0;
  }

  async has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    await this.#followIndex();
    return this.#files.index.together(() => new Set(hashes.filter((hash) => this.hasSync(hash))));
  }

  async sound(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    await this.#followIndex();
    const found = new Set<Hash>();
    for await (const some of inSlices(hashes, SLICE)) {
      // One transaction for all: a replica that lacks everything looks up each content of a large first sync here.
      const held = this.#files.index.together(() => some.filter((hash) => this.hasSync(hash)));
      for (const hash of held) if (await this.#isSoundBeside(hash)) found.add(hash);
    }
    return found;
  }

  /** Like `hasSync`, but reads the stored bytes on their first use. A damaged content counts as not stored. */
  isSound(hash: Hash): boolean {
    return this.hasSync(hash) && this.#noted(hash, this.#sound.stateOf(hash));
  }

  /**
   * The memory that notes which blocks of this store were found sound (`CheckedBlocks`), for sinks in other threads.
   */
  get checkedBlocks(): SharedArrayBuffer {
    return this.#checked.buffer;
  }

  doubt(): void {
    this.#sound.clear();
  }

  /**
   * True if the content is stored durably, and is not known to be damaged. Takes about 4 µs, so that a loop may call it
   * for many contents.
   */
  hasSync(hash: Hash): boolean {
    return this.#files.index.has(hash) && !this.#damaged.has(hash);
  }

  async batch(): Promise<BlobBatch> {
    await this.#readyForWrites();
    await this.#followIndex();
    const batch = new FileBlobBatch(
      {
        openSink: () => this.#openSink(),
        commitSink: (sink, how) => this.#commits.commit(sink, this.#soundWriter(), how),
        batchEnded: (ended) => this.#batches.delete(ended),
      },
      await this.#lease.take(),
    );
    this.#batches.add(batch);
    return batch;
  }

  get(hash: Hash): Promise<Buffer | undefined> {
    return this.#despiteIndex(() => this.#reading.get(hash));
  }

  open(hash: Hash): Promise<BlobReader | undefined> {
    return this.#despiteIndex(() => this.#reading.open(hash));
  }

  readMany(hashes: Iterable<Hash>): AsyncIterable<readonly [Hash, BlobReader | undefined]> {
    return this.#reading.readMany(hashes);
  }

  blocks(hashes: readonly Hash[], mostBytes: number): AsyncIterable<BlobBlock> {
    return this.#reading.blocks(hashes, mostBytes);
  }

  /**
   * Returns the places of contents. A collector may move a content afterwards, so each reader must check the bytes that
   * it reads.
   */
  async placesOf(hashes: readonly Hash[]): Promise<BlobPlaces> {
    await this.#followIndex();
    const { index } = this.#files;
    return index.together(() => {
      const places = hashes.map((hash) => (this.#damaged.has(hash) ? undefined : index.find(hash)));
      return { places, packs: index.packs() };
    });
  }

  list(): AsyncIterable<BlobInfo> {
    return this.#reading.list();
  }

  async infos(hashes: Iterable<Hash>): Promise<readonly BlobInfo[]> {
    await this.#followIndex();
    return this.#reading.infos(hashes);
  }

  async *verify(options: BlobVerifyOptions = {}): AsyncIterable<BlobProblem> {
    await this.#followIndex();
    // A store that cannot be written cannot be locked. It needs no lease, because no process can collect it.
    const lease = this.#readOnly ? undefined : await this.#lease.take();
    try {
      yield* verifyBlobs(this.#files, options);
    } finally {
      lease?.release();
    }
  }

  async collect(keep: (hash: Hash) => boolean, options: CollectOptions = {}): Promise<CollectReport> {
    await this.#readyForWrites();
    using _turn = await this.#lease.exclusive(options.waitMs);
    await options.whenLocked?.();
    await this.#endWriting();
    try {
      return await collectBlobs(this.#files, this.#lanes, { keep, thorough: options.thorough === true });
    } finally {
      // The space of a removed pack is freed only when the pack is closed.
      this.#reading.close();
    }
  }

  async setAside({ files, keep, whenLocked, waitMs }: SetAsideWish): Promise<readonly string[]> {
    await this.#readyForWrites();
    using _turn = await this.#lease.exclusive(waitMs);
    await whenLocked?.();
    await this.#endWriting();
    try {
      return await setDamagedAside(this.#files, this.#lanes, { files, keep });
    } finally {
      this.#reading.close();
    }
  }

  lease(): Promise<HeldLock> {
    return this.#lease.take();
  }

  /**
   * Takes lanes, one for each sink that the caller opens (`openPackSink`). The caller holds a lease while the sinks are
   * in use, publishes their results, and then releases the lanes.
   */
  async takeLanes(count: number): Promise<readonly PackLease[]> {
    await this.#readyForWrites();
    const held: PackLease[] = [];
    try {
      while (held.length < count) held.push(await this.#lanes.take());
      return held;
    } catch (error) {
      for (const lane of held) lane.release();
      throw error;
    }
  }

  /**
   * Makes the durable contents of sinks visible. If two sinks wrote the same content, the index gets one of the two
   * places.
   */
  async publish(results: readonly SinkResult[]): Promise<void> {
    this.#mustTakeWrites();
    for (const result of results) this.#publish(result);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.allSettled([...this.#batches].map((batch) => batch.abandon()));
    await this.#endWriting();
    this.#lanes.close();
    this.#lease.close();
    this.#reading.close();
    this.#files.index.close();
  }

  async #isSoundBeside(hash: Hash): Promise<boolean> {
    return this.#noted(hash, await this.#sound.stateBeside(hash));
  }

  #noted(hash: Hash, state: StoredState): boolean {
    if (state === "damaged") this.#damaged.add(hash);
    return state === "sound";
  }

  async #start(fresh: boolean): Promise<void> {
    this.#foundPacks = undefined;
    if (this.#readOnly) return this.#learnReadOnly();
    if (!fresh && !isBehind(this.#files, this.#lanes)) return;
    const alone = fresh ? await this.#lease.tryExclusive(REBUILD_WAIT_MS) : undefined;
    using _lock = alone ?? (await this.#lease.take());
    if (fresh) syncFolders(this.#files);
    await catchUpPacks(this.#files, this.#lanes);
    if (alone !== undefined) learnForeignLanes(this.#files, this.#lanes);
    if (fresh) catchUpLarge(this.#files);
  }

  /**
   * Switches to a new index file, if one has replaced the opened file because the opened file was lost or damaged. Does
   * nothing while something is being written. The contents of this process's lane enter the new index when the lane is
   * taken again.
   */
  #followIndex(): Promise<void> | undefined {
    if (this.#following !== undefined) return this.#following;
    // Reading continues even if reopening for writes fails.
    if (this.#takingUp !== undefined) return this.#takingUp.catch(() => undefined);
    const inode = this.#options.disk.lstat(this.#options.layout.index)?.ino;
    if (inode === this.#indexInode || this.#readOnly || this.#closed) return undefined;
    if (this.#batches.size > 0 || this.#lanes.count > (this.#writing === undefined ? 0 : 1)) return undefined;
    this.#following = this.#renewIndex().finally(() => (this.#following = undefined));
    return this.#following;
  }

  /**
   * Runs a read. If the read fails because the index was damaged and has been removed, opens a new index and reads
   * again.
   */
  async #despiteIndex<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      const following =
        error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION" ? this.#followIndex() : undefined;
      if (following === undefined) throw error;
      await following;
      return read();
    }
  }

  async #renewIndex(): Promise<void> {
    await this.#endWriting();
    this.#reading.close();
    // The new index numbers the packs anew, so nothing that is known by pack number may be kept.
    this.#sound.clear();
    const opened = this.#options.openIndex();
    this.#readOnly ||= opened.readOnly;
    this.#isScratch = opened.readOnly;
    this.#index.renew(opened.index);
    this.#indexInode = this.#options.disk.lstat(this.#options.layout.index)?.ino;
    await this.#start(opened.fresh);
  }

  async #catchUp(hash: Hash): Promise<void> {
    if (this.#foundPacks !== undefined) this.#foundPacks = catchUpReadOnly(this.#files, hash, this.#foundPacks);
    if (this.#readOnly) return;
    try {
      await this.#followIndex();
      using _lease = await this.#lease.take();
      if (isBehind(this.#files, this.#lanes)) await catchUpPacks(this.#files, this.#lanes);
      catchUpOneLarge(this.#files, hash);
    } catch (error) {
      await this.#readWithoutFile(error);
    }
  }

  /**
   * Called with the error of an update of the index file. If the disk takes no writes, continues without that file:
   * fills a scratch index (`learnReadOnly`), and makes the store read-only. Throws the error if it has another cause,
   * if something is being written, if the store is poisoned, or if there is no `scratchIndex`.
   */
  async #readWithoutFile(error: unknown): Promise<void> {
    const { scratchIndex, tell } = this.#options;
    const isWriting = this.#batches.size > 0 || this.#lanes.count > (this.#writing === undefined ? 0 : 1);
    if (scratchIndex === undefined || !isDiskTrouble(error) || isWriting || this.#isPoisoned) throw error;
    await this.#endWriting();
    this.#reading.close();
    this.#sound.clear();
    this.#readOnly = true;
    this.#index.renew(scratchIndex());
    this.#isScratch = true;
    this.#learnReadOnly();
    tell?.(withoutIndexFile(error));
  }

  #learnReadOnly(): void {
    const found = learnReadOnly(this.#files);
    this.#foundPacks = this.#isScratch ? found : undefined;
  }

  async #openSink(): Promise<OpenSink> {
    const { writer } = await this.#startWriting();
    this.#mustTakeWrites();
    const { disk, layout, newPackId } = this.#files;
    const known = (hash: Hash): boolean => this.isSound(hash);
    const largeBytes = this.#options.largeBytes ?? LARGE_BYTES;
    return new OpenSink({ disk, layout, writer, newPackId, known, largeBytes, ownsWriter: false });
  }

  #publish({ packs, rows, large, replaces = false }: SinkResult): void {
    if (packs.length + rows.count + large.length === 0) return;
    this.#files.index.apply({ packs, rows, large, replace: replaces || this.#damaged.size > 0 });
    for (const { hash } of large) this.#sound.replaced(hash);
    if (this.#damaged.size === 0) return;
    for (let i = 0; i < rows.count; i++) this.#damaged.delete(rowHash(rows, i));
    for (const { hash } of large) this.#damaged.delete(hash);
  }

  #startWriting(): Promise<Writing> {
    this.#writing ??= this.#takeLane().catch((error: unknown) => {
      this.#writing = undefined;
      throw error;
    });
    return this.#writing;
  }

  async #takeLane(): Promise<Writing> {
    const lane = await this.#lanes.take();
    const writer = new PackWriter(this.#files, lane.grant);
    this.#writer = writer;
    return { writer, lane };
  }

  async #endWriting(): Promise<void> {
    const writing = await this.#writing?.catch(() => undefined);
    if (writing === undefined) return;
    // A commit must end before another process gets the lane, even if no caller waits for the commit any more.
    await this.#commits.rest();
    this.#poisoned ||= writing.writer.poisoned;
    this.#writing = undefined;
    this.#writer = undefined;
    writing.writer.close();
    writing.lane.release();
  }

  #soundWriter(): PackWriter {
    this.#mustTakeWrites();
    if (this.#writer === undefined) throw new Error("a batch outlived the lane that it was written to");
    return this.#writer;
  }

  get #isPoisoned(): boolean {
    return this.#poisoned || this.#writer?.poisoned === true;
  }

  #mustTakeWrites(): void {
    this.#mustBeOpen();
    if (this.#isPoisoned) throw poisoned("the blob store", { why: "the store has not been made writable again yet" });
    if (this.#readOnly) throw this.#cannotWrite(undefined);
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new ChronicleError("IO", "the blob store has been closed");
  }

  /** Makes a read-only or poisoned store writable again. Throws the reason if the disk still takes no writes. */
  async #readyForWrites(): Promise<void> {
    this.#mustBeOpen();
    if (!this.#isPoisoned && !this.#readOnly) return;
    this.#takingUp ??= this.#takeUpAgain().finally(() => (this.#takingUp = undefined));
    await this.#takingUp;
    this.#mustTakeWrites();
  }

  async #takeUpAgain(): Promise<void> {
    await this.#following;
    const { disk, layout } = this.#options;
    const errno = whyNotWritable(
      disk,
      disk.lstat(layout.folder) === undefined ? String(folderOf(layout.folder)) : layout.folder,
    );
    if (errno !== undefined) {
      throw this.#readOnly ? this.#cannotWrite(errno) : poisoned("the blob store", stillSays(errno));
    }
    if (this.#readOnly) return this.#openForWrites();
    // These batches were begun with the writer whose sync failed.
    if (this.#batches.size > 0)
      throw poisoned("the blob store", { why: "the batches that failed with that sync have not ended yet" });
    await this.#giveUpUnsynced();
    this.#poisoned = false;
  }

  /**
   * Opens a read-only store for writes. Nothing unsynced has to be dropped, because a read-only store writes nothing.
   */
  async #openForWrites(): Promise<void> {
    this.#readOnly = !makeFolders(this.#options);
    await this.#renewIndex();
  }

  /**
   * Drops all unsynced bytes. The index stays as it is, because it names only synced contents. A content that is not in
   * the index is not stored. Bytes of the lane that are not known to be durable are cut off, or rewritten when the lane
   * is next taken. A file whose name could not be synced is written anew before it is published (`makeNamesSure`). A
   * large content that is put again replaces its file.
   */
  async #giveUpUnsynced(): Promise<void> {
    await this.#endWriting();
    using _lease = await this.#lease.take();
    if (isBehind(this.#files, this.#lanes)) await catchUpPacks(this.#files, this.#lanes);
  }

  #cannotWrite(errno: string | undefined): ChronicleError {
    const why = errno === undefined ? "it was opened for reading" : errno;
    const hint = errno === undefined ? undefined : hintOfErrno(errno);
    return new ChronicleError(
      isOutOfSpace(errno) ? "IO" : "READ_ONLY",
      `${this.#files.layout.folder} cannot be written: ${why}`,
      {
        hint: hint ?? "Free space on the disk, or mend its permissions, and try again.",
        ...(errno === undefined ? {} : { data: { errno } }),
      },
    );
  }
}

/** Makes the store's missing folders. Returns false if the disk refuses. */
function makeFolders({ disk, layout }: FileBlobStoreOptions): boolean {
  try {
    for (const folder of [layout.folder, layout.packs, layout.active, layout.large, layout.largeTmp]) {
      makeFolderOnce(disk, folder);
    }
    return true;
  } catch (error) {
    // With ENOENT, the folder above is missing, because it could not be made either.
    if (takesNoWrites(error) || errnoOf(error) === "ENOENT") return false;
    throw ioTrouble(error, `creating ${layout.folder}`);
  }
}

function syncFolders({ disk, layout }: BlobFiles): void {
  withTrouble(`syncing ${layout.folder}`, () => {
    for (const folder of [folderOf(layout.folder), layout.folder, layout.packs, layout.large]) disk.syncFolder(folder);
  });
}
