import { createPrivateKey } from "node:crypto";
import { checkLine, MAX_LINE_BYTES } from "../core/log/chain.ts";
import { CommitFollower } from "../core/log/commit-mark.ts";
import type { ContainerReader, OpenedEntry } from "../core/log/archive-container.ts";
import { parseSignedHead, type SignedHeadContent, vkeyOf } from "../core/log/signed-head.ts";
import { sentinelId } from "../core/records/sentinel.ts";
import {
  ARCHIVE,
  archiveFolder,
  formerName,
  type ArchiveManifest,
  decodeManifest,
} from "../core/records/archive-manifest.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { EMPTY_HEAD, type Head, type LogEvent, type SealedEvent } from "../core/values/event.ts";
import { type Hash, isHash } from "../core/values/hash.ts";
import { folderOf, writeFileDurably, writeFully } from "../disk/write-fully.ts";
import type { BlobBatch, BlobStore } from "../storage/blob-store.ts";
import type { EventLog } from "../storage/event-log.ts";
import { storeLayout, type WorkspaceLayout } from "../storage/layout.ts";
import { FileWithheldContents } from "../replication/replica/withheld-contents.ts";
import { FileHeadKeeper, makeFolders } from "../store/file-head-keeper.ts";
import { unfinishedName, writeWorkspaceFile } from "../store/workspace-file.ts";
import type { OpenedBlobs } from "../storage/storage-backends.ts";
import type { StoreParts } from "./open-context.ts";

/** Returns the error for an archive that is refused. */
export function refused(reason: string, cause?: unknown): ChronicleError {
  return new ChronicleError("INTEGRITY_VIOLATION", `the archive is refused: ${reason}`, {
    hint: "nothing was imported; take another copy of the archive, or export the history again",
    cause,
  });
}

/** The id of a workspace, as `newId` makes it. */
const WORKSPACE_ID = /^[0-9a-z][0-9a-z-]{7,63}$/;

/**
 * Reads the manifest, which is the first entry of an archive. Throws `USAGE` if the file is no archive of Chronicle,
 * and `INTEGRITY_VIOLATION` if the manifest is damaged.
 */
export async function readManifest(reader: ContainerReader): Promise<ArchiveManifest> {
  const entry = await firstEntry(reader);
  if (entry?.name !== ARCHIVE.manifest) throw notAnArchive();
  const bytes = await wholeEntry(entry, MOST_SMALL_BYTES);
  let manifest: ArchiveManifest;
  try {
    manifest = decodeManifest(bytes);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "FORMAT_UNSUPPORTED") throw error;
    throw refused("its manifest is damaged", error);
  }
  if (!WORKSPACE_ID.test(manifest.workspace) || reader.folder !== archiveFolder(manifest.workspace))
    throw refused("its folder is not named after its workspace");
  return manifest;
}

async function firstEntry(reader: ContainerReader): Promise<OpenedEntry | undefined> {
  try {
    return await reader.next();
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION") throw notAnArchive(error);
    throw error;
  }
}

function notAnArchive(cause?: unknown): ChronicleError {
  return new ChronicleError("USAGE", "this file is no archive that `chronicle export` has written", {
    hint: "name such an archive; the log of another program is imported with --from chronomemory",
    cause,
  });
}

/** The maximum size, in bytes, of a manifest, a key or a head. */
const MOST_SMALL_BYTES = 64 * 1024;

/** The maximum size, in bytes, of a content that is read into memory as a whole. Larger contents are streamed. */
const SMALL_CONTENT = 1024 * 1024;

/** The approximate size, in bytes, of the lines that are appended to the log together. */
const APPENDED_AT_ONCE = 4 * 1024 * 1024;

/**
 * The groups of entries, in the order that an archive must have. `many`: set if the group can have several entries.
 * Their names must be in ascending order, unless `many` is `unordered`.
 */
const ORDER: readonly { readonly prefix: string; readonly many?: "ascending" | "unordered" }[] = [
  { prefix: ARCHIVE.key },
  { prefix: ARCHIVE.head },
  { prefix: ARCHIVE.former, many: "ascending" },
  { prefix: ARCHIVE.quarantine, many: "ascending" },
  { prefix: ARCHIVE.withheld },
  { prefix: ARCHIVE.log },
  { prefix: ARCHIVE.contents, many: "unordered" },
];

/**
 * Reads an archive into the unfinished folder of its workspace. The log, the quarantined parts of logs, and the list of
 * left-out contents go to their places in this folder. Contents, heads and the key go to a separate store in `staged/`.
 * Checks each line, each hash, the order of the entries, and that no name comes twice.
 */
export class ArchiveIntake {
  readonly files: WorkspaceLayout;
  readonly keyFile: string;
  readonly #parts: StoreParts;
  readonly #manifest: ArchiveManifest;
  readonly #opened: OpenedBlobs;
  readonly #config: string;
  readonly #contents = new Set<Hash>();
  readonly #former: string[] = [];
  #heads: FileHeadKeeper;
  #note = "";
  #root = "";
  #left: number;
  #hasKey = false;
  #isBlobsClosed = false;

  /** Makes the unfinished folder. The folder must not exist yet. */
  static async open(parts: StoreParts, manifest: ArchiveManifest): Promise<ArchiveIntake> {
    const { backends, layout, tellOfIndexes: tell, waitMs } = parts;
    const files = layout.workspace(unfinishedName(manifest.workspace));
    backends.disk.makeFolder(files.folder, 0o700);
    writeWorkspaceFile(backends.disk, files.workspaceJson, manifest.workspace);
    const staged = storeLayout(`${files.folder}/staged`);
    makeFolders(backends.disk, staged.home);
    const opened = await backends.openBlobs(staged, { tell, lockWaitMs: waitMs });
    return new ArchiveIntake(parts, manifest, { files, opened });
  }

  private constructor(
    parts: StoreParts,
    manifest: ArchiveManifest,
    { files, opened }: { readonly files: WorkspaceLayout; readonly opened: OpenedBlobs },
  ) {
    this.#parts = parts;
    this.#manifest = manifest;
    this.files = files;
    this.#opened = opened;
    this.#left = manifest.bytes;
    this.#config = `${files.folder}/staged/config`;
    this.keyFile = `${this.#config}/key.pem`;
    this.#heads = this.#keeper(this.keyFile);
  }

  /** The contents of the archive. */
  get blobs(): BlobStore {
    return this.#opened.blobs;
  }

  /** The heads of the staged history. They are put into place once everything is verified. */
  get heads(): FileHeadKeeper {
    return this.#heads;
  }

  /** The signed note of the head in the archive. */
  get note(): string {
    return this.#note;
  }

  /** The Merkle root that the note of the head states. */
  get root(): string {
    return this.#root;
  }

  /** True if the archive has the signing key. */
  get hasKey(): boolean {
    return this.#hasKey;
  }

  /** Reads all entries after the manifest. Throws `INTEGRITY_VIOLATION` at the first entry that is not valid. */
  async read(reader: ContainerReader): Promise<void> {
    const batch = await this.blobs.batch();
    try {
      const order = new EntryOrder();
      for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
        order.take(entry.name);
        this.#left -= entry.size;
        if (this.#left < 0) throw refused("it holds more than its manifest says");
        await this.#entry(entry, batch);
      }
      if (this.#left > 0 || this.#contents.size !== this.#manifest.contents)
        throw refused("it holds less than its manifest says");
      if (this.#note === "" || !order.hasLog) throw refused("its head or its log is missing");
      await batch.commit();
    } catch (error) {
      await batch.abandon();
      throw error;
    }
    this.#heads.take(this.#manifest.workspace, { note: this.#note, former: this.#former });
  }

  /**
   * Makes the staged history be signed with the key of this machine from now on. A machine without a key gets a new one
   * when the history is signed.
   */
  useKeyOfThisMachine(): void {
    this.#heads = this.#keeper(this.#parts.heads.keyFile);
  }

  /** Returns the parts of a store in which the staged history replaces the real history of the workspace. */
  asStore(): StoreParts {
    const { backends, layout } = this.#parts;
    return {
      ...this.#parts,
      ...this.#opened,
      heads: this.#heads,
      backends: { ...backends, openIndex: async () => backends.scratchIndex() },
      layout: { ...layout, workspace: () => this.files },
    };
  }

  async closeBlobs(): Promise<void> {
    if (this.#isBlobsClosed) return;
    this.#isBlobsClosed = true;
    await this.blobs.close();
  }

  #keeper(keyFile: string): FileHeadKeeper {
    const { backends, layout } = this.#parts;
    const places = { configFolder: this.#config, home: layout.home, pid: backends.processes.pid };
    return new FileHeadKeeper(backends.disk, { ...places, keyFile });
  }

  async #entry(entry: OpenedEntry, batch: BlobBatch): Promise<void> {
    const { name } = entry;
    if (name.startsWith(ARCHIVE.contents)) await this.#content(entry, batch);
    else if (name === ARCHIVE.log) await this.#log(entry);
    else if (name.startsWith(ARCHIVE.quarantine)) await this.#part(entry);
    else if (name === ARCHIVE.withheld) await this.#withheld(entry);
    else await this.#keyOrHead(name, (await wholeEntry(entry, MOST_SMALL_BYTES)).toString("utf8"));
  }

  async #content(entry: OpenedEntry, batch: BlobBatch): Promise<void> {
    const hash = entry.name.slice(ARCHIVE.contents.length);
    if (!isHash(hash) || this.#contents.has(hash)) throw refused(`${entry.name} is no content, or comes twice`);
    this.#contents.add(hash);
    const found =
      entry.size <= SMALL_CONTENT
        ? await batch.put(await wholeEntry(entry, SMALL_CONTENT))
        : (await batch.putStream(entry.pieces)).hash;
    if (found !== hash) throw refused(`the bytes of ${entry.name} have another hash`);
  }

  async #keyOrHead(name: string, text: string): Promise<void> {
    const { disk } = this.#parts.backends;
    if (name === ARCHIVE.key) {
      refuseNoKey(text);
      makeFolders(disk, this.#config);
      writeFileDurably(disk, this.keyFile, Buffer.from(text));
      this.#hasKey = true;
      return;
    }
    const content = headIn(text);
    if (content?.workspace !== this.#manifest.workspace) throw refused(`${name} is no head of its workspace`);
    if (name === ARCHIVE.head) {
      if (content.seq !== this.#manifest.seq || content.hash !== this.#manifest.hash)
        throw refused("its head is not the one that its manifest says");
      this.#note = text;
      this.#root = content.root;
    } else if (name === formerName(text)) {
      if (this.#former.length === MOST_FORMER) throw refused(`it has more than ${MOST_FORMER} former heads`);
      this.#former.push(text);
    } else throw refused(`${name} is not named after its bytes`);
  }

  async #part(entry: OpenedEntry): Promise<void> {
    const name = entry.name.slice(ARCHIVE.quarantine.length);
    if (!/^[0-9]{1,16}-[0-9]{1,16}\.part$/.test(name)) throw refused(`${entry.name} is no part of a log`);
    const { disk } = this.#parts.backends;
    makeFolders(disk, this.files.quarantine);
    const path = `${this.files.quarantine}/${name}`;
    const fd = disk.open(path, "create", 0o600);
    try {
      for await (const piece of entry.pieces) writeFully(disk, fd, piece, null);
      disk.sync(fd);
    } finally {
      disk.close(fd);
    }
    disk.syncFolder(folderOf(path));
  }

  async #withheld(entry: OpenedEntry): Promise<void> {
    const { protected: ofProtected, private: ofPrivate, elsewhere } = this.#manifest.withheld;
    const count = ofProtected + ofPrivate + elsewhere;
    if (entry.size !== count * LISTED_BYTES) throw refused("its list of left-out contents has another length");
    const list = new FileWithheldContents(this.#parts.backends.disk, this.files.withheld);
    let last = "";
    let hashes: Hash[] = [];
    for await (const line of linesOf(entry.pieces, { what: "its list of left-out contents", most: LISTED_BYTES })) {
      const hash = line.toString("latin1");
      if (!isHash(hash) || hash <= last) throw refused("its list of left-out contents is damaged, or not in order");
      last = hash;
      hashes.push(hash);
      if (hashes.length < LISTED_AT_ONCE) continue;
      list.add(hashes);
      hashes = [];
    }
    list.add(hashes);
  }

  async #log(entry: OpenedEntry): Promise<void> {
    const lines = linesOf(entry.pieces, { what: "its log", most: MAX_LINE_BYTES });
    const first = await lines.next();
    if (first.done === true) throw refused("its log is empty");
    const writer = await LogWriter.begin(this.#parts, this.files, { manifest: this.#manifest, first: first.value });
    try {
      await writer.take(first.value);
      for await (const line of lines) await writer.take(line);
      await writer.finish();
    } finally {
      await writer.close();
    }
  }

  async close(): Promise<void> {
    await this.closeBlobs();
  }
}

/** The length of a line in the list of left-out contents: a hash and a newline. */
const LISTED_BYTES = 65;

/** The number of left-out contents that are written to disk together. */
const LISTED_AT_ONCE = 100_000;

/**
 * The maximum number of former heads that an archive may have. A history gets a former head whenever its key changes or
 * a person accepts the history.
 */
const MOST_FORMER = 1_000;

/** Checks the order of the entries (see `ORDER`), and that no entry except a content comes twice. */
class EntryOrder {
  #at = -1;
  #last = "";
  #hasLog = false;

  get hasLog(): boolean {
    return this.#hasLog;
  }

  take(name: string): void {
    const at = ORDER.findIndex(({ prefix, many }) => (many === undefined ? name === prefix : name.startsWith(prefix)));
    const many = ORDER[at]?.many;
    const isNext =
      at > this.#at || (at === this.#at && (many === "unordered" || (many === "ascending" && name > this.#last)));
    if (at < 0 || !isNext) throw refused(`the entry ${JSON.stringify(name)} is not expected there`);
    this.#at = at;
    this.#last = name;
    if (name === ARCHIVE.log) this.#hasLog = true;
  }
}

/**
 * Appends the lines of an archive to a new log, and seals the new log at the events at which the exported log was
 * sealed.
 */
class LogWriter {
  readonly #log: EventLog;
  readonly #manifest: ArchiveManifest;
  readonly #commits: CommitFollower;
  #prev: Head;
  #waiting: SealedEvent[] = [];
  #bytes = 0;

  static async begin(
    { backends }: StoreParts,
    files: WorkspaceLayout,
    { manifest, first }: { readonly manifest: ArchiveManifest; readonly first: Buffer },
  ): Promise<LogWriter> {
    const event = firstEvent(first, manifest);
    const after: Head = event.seq === 1 ? EMPTY_HEAD : { seq: event.seq - 1, hash: event.prevHash };
    const paths = { log: files.log, archive: files.archive, quarantine: files.quarantine };
    return new LogWriter(await backends.openLog(paths, { after }), manifest, after);
  }

  private constructor(log: EventLog, manifest: ArchiveManifest, after: Head) {
    this.#log = log;
    this.#manifest = manifest;
    this.#prev = after;
    this.#commits = new CommitFollower(after.seq);
  }

  async take(bytes: Buffer): Promise<void> {
    const checked = checkLine(bytes, this.#prev);
    if ("fault" in checked) throw refused(`event ${this.#prev.seq + 1}: ${checked.fault.detail}`);
    const { event } = checked;
    const mark = this.#commits.take(event);
    if (typeof mark === "string") throw refused(`event ${event.seq}: ${mark}`);
    const sealed = { ...event, line: bytes.toString("utf8") };
    if (event.op === "compact" && event.seq > this.#manifest.first) await this.#seal(sealed);
    else this.#waiting.push(sealed);
    this.#prev = event;
    this.#bytes += bytes.length;
    if (mark !== undefined && this.#bytes >= APPENDED_AT_ONCE) await this.#append();
  }

  async finish(): Promise<void> {
    await this.#append();
    const { seq, hash } = this.#manifest;
    if (this.#prev.seq !== seq || this.#prev.hash !== hash)
      throw refused("its log does not end where its manifest says");
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  async #seal(first: SealedEvent): Promise<void> {
    await this.#append();
    await this.#log.rotate(first);
  }

  async #append(): Promise<void> {
    const events = this.#waiting;
    [this.#waiting, this.#bytes] = [[], 0];
    if (events.length === 0) return;
    try {
      await this.#log.append(events);
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
      throw refused(`its log ends within a commit (${error.message})`, error);
    }
  }
}

/**
 * Checks the first line of a log. No earlier line proves this line, so it must be event 1 or the sentinel of a
 * compaction.
 */
function firstEvent(bytes: Buffer, { workspace, first }: ArchiveManifest): LogEvent {
  const checked = checkLine(bytes, EMPTY_HEAD);
  const event = "event" in checked ? checked.event : checked.fault.event;
  const isStart =
    event?.seq === 1 ? event.recordId === `workspace:${workspace}` : event?.recordId === sentinelId(workspace);
  if (event === undefined || event.seq !== first || !isStart)
    throw refused("its log does not begin with an event of its workspace");
  return event;
}

/** Yields lines without their newlines. Throws if a line is too long, or if the last one has no newline. */
async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
  { what, most }: { readonly what: string; readonly most: number },
): AsyncGenerator<Buffer, void> {
  let held: Buffer[] = [];
  let length = 0;
  for await (const piece of pieces) {
    let rest = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      yield held.length === 0 ? rest.subarray(0, end) : Buffer.concat([...held, rest.subarray(0, end)]);
      [held, length] = [[], 0];
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) held.push(Buffer.from(rest));
    length += rest.length;
    if (length > most) throw refused(`a line of ${what} is too long`);
  }
  if (length > 0) throw refused(`the last line of ${what} has no newline`);
}

const NEWLINE = 0x0a;

/** Reads an entry that fits in memory. Throws if it has more than `most` bytes. */
async function wholeEntry({ name, size, pieces }: OpenedEntry, most: number): Promise<Buffer> {
  if (size > most) throw refused(`${name} is too long`);
  return Buffer.concat(await Array.fromAsync(pieces, (piece) => Buffer.from(piece)));
}

function refuseNoKey(pem: string): void {
  try {
    createPrivateKey(pem);
    vkeyOf(pem, "chronicle");
  } catch (error) {
    throw refused("its key is no signing key", error);
  }
}

function headIn(note: string): SignedHeadContent | undefined {
  try {
    return parseSignedHead(note).content;
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}
