import type { ImportArchiveOptions, ImportArchiveShape } from "../api/archive-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { wholePath } from "../core/tree/root-place.ts";
import { filePieces } from "../disk/file-pieces.ts";
import { isZstd, zstdUnpacked } from "../util/zstd-stream.ts";
import { ContainerReader } from "../core/log/archive-container.ts";
import { ArchiveIntake, readManifest, refused } from "./archive-intake.ts";
import type { ArchiveManifest } from "../core/records/archive-manifest.ts";
import { acceptHead } from "../engine/commit/head.ts";
import { detachFolders } from "../engine/commit/adopt.ts";
import { answer } from "../engine/log/answer.ts";
import type { Context } from "../engine/log/context.ts";
import { signingShape } from "../engine/log/signing.ts";
import { examine, type Examined } from "../engine/upkeep/verify.ts";
import { MAX_CONTAINER_CONTENT_BYTES } from "../storage/blob-block.ts";
import { withBatch } from "../storage/blob-store.ts";
import { FileHeadKeeper, readText, storeOfHead } from "../store/file-head-keeper.ts";
import { lastWorkspaceRecord } from "../store/last-workspace-record.ts";
import { listedWorkspace } from "../store/roots-cache.ts";
import { refuseFilled } from "../store/empty-worktree.ts";
import { refuseOthersStore } from "../store/store-owner.ts";
import { unfinishedName, withNames } from "../store/workspace-file.ts";
import { formatBytes } from "../core/values/duration.ts";
import type { RootRecord, WorkspaceRecord } from "../core/records/workspace-record.ts";
import { checkName, refuseTaken } from "./create-workspace.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks } from "./store-tasks.ts";

/**
 * Imports an archive that `exportArchive` has written. First reads the history into a temporary store and verifies the
 * whole history there. The temporary store lies in the folder of the workspace, which has a provisional name until the
 * import is done. Then puts the contents and the signed head into place, and renames the folder. So a crash leaves a
 * whole workspace or none.
 *
 * The imported workspace has no folder on this machine. If this machine does not have the key that has signed the
 * history, the key of this machine signs the further events, and an event records this. The key in an archive becomes
 * the key of this machine only if `useKey` is set.
 *
 * Throws `REFUSED` if the store has the workspace already, or if `to` or `useKey` cannot be fulfilled. Throws
 * `INTEGRITY_VIOLATION` if anything in the archive is not what an export writes. Throws `FORMAT_UNSUPPORTED` for an
 * archive of another version.
 */
export async function importArchive(parts: StoreParts, options: ImportArchiveOptions): Promise<ImportArchiveShape> {
  const { disk } = parts.backends;
  refuseOthersStore(disk, { home: parts.layout.home, configFolder: parts.configFolder });
  if (options.name !== undefined) checkName(options.name);
  if (options.to !== undefined) refuseFilled(disk, options.to);
  const reader = new ContainerReader(unpacked(filePieces(disk, wholePath("the archive", options.file))));
  const manifest = await readManifest(reader);
  refuseNoRoom(parts, manifest);
  return withNames(parts, async () => {
    await refusePresent(parts, manifest.workspace);
    const stage = new ImportStage(parts, manifest, options);
    try {
      return await stage.import(reader);
    } finally {
      await stage.close();
    }
  });
}

/** Yields the unpacked bytes of an archive. An archive that is not compressed with zstd is yielded as it is. */
async function* unpacked(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const source = pieces[Symbol.iterator]();
  const first = source.next();
  async function* all(): AsyncGenerator<Uint8Array, void> {
    try {
      for (let next = first; next.done !== true; next = source.next()) yield next.value;
    } finally {
      source.return?.();
    }
  }
  if (first.done === true || !isZstd(first.value)) return yield* all();
  try {
    yield* zstdUnpacked(all());
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!code.startsWith("ZSTD_") && code !== "Z_BUF_ERROR") throw error;
    throw refused("it is not one whole zstd frame", error);
  }
}

/** Throws `LIMIT_EXCEEDED` if the archive is larger than the free space. */
function refuseNoRoom({ backends: { disk }, layout }: StoreParts, { bytes }: ArchiveManifest): void {
  const { freeBytes } = disk.space(layout.home);
  if (bytes <= freeBytes) return;
  throw new ChronicleError(
    "LIMIT_EXCEEDED",
    `the archive holds ${formatBytes(bytes)}, but only ${formatBytes(freeBytes)} are free in ${layout.home}`,
    { hint: "free some space, or choose another place for the store with --store" },
  );
}

/**
 * Throws `REFUSED` if this store has the workspace (even as a forgotten one), or if another store of this user has it.
 */
async function refusePresent({ backends: { disk }, layout, configFolder }: StoreParts, id: string): Promise<void> {
  const refuse = (message: string, hint: string): never => {
    throw new ChronicleError("REFUSED", message, { hint, data: { workspace: id } });
  };
  if (disk.lstat(layout.workspace(id).folder) !== undefined)
    refuse(
      `this store has the workspace ${id} already`,
      "use that workspace, or import into another store with --store",
    );
  if (disk.lstat(`${layout.forgotten}/${id}`) !== undefined)
    refuse(
      `the workspace ${id} was forgotten, and can still be brought back`,
      `bring it back: \`chronicle unforget ${id}\``,
    );
  const home = storeOfHead(disk, configFolder, id);
  if (home === undefined || home === layout.home || disk.lstat(`${home}/workspaces/${id}/events.wal`) === undefined)
    return;
  refuse(
    `the store ${home} has the workspace ${id} already, and its signed heads lie in ${configFolder}`,
    "two stores with the same workspace need a configuration folder each: choose another one with XDG_CONFIG_HOME",
  );
}

/** The contents that the history needs, and the verifier key of the signer in force at the end of the history. */
interface Verified extends Pick<Examined, "needed"> {
  readonly key: string;
}

class ImportStage {
  readonly #parts: StoreParts;
  readonly #manifest: ArchiveManifest;
  readonly #options: ImportArchiveOptions;
  readonly #folder: string;
  #intake: ArchiveIntake | undefined;

  constructor(parts: StoreParts, manifest: ArchiveManifest, options: ImportArchiveOptions) {
    this.#parts = parts;
    this.#manifest = manifest;
    this.#options = options;
    this.#folder = parts.layout.workspace(unfinishedName(manifest.workspace)).folder;
  }

  get #id(): string {
    return this.#manifest.workspace;
  }

  async import(reader: ContainerReader): Promise<ImportArchiveShape> {
    const intake = (this.#intake = await ArchiveIntake.open(this.#parts, this.#manifest));
    await intake.read(reader);
    this.#refuseKey(intake);
    const { record, seq } = await this.#record(intake);
    this.#refuseRoots(record);
    const { needed, key: archiveKey } = await this.#verified(intake, record);
    // The lease keeps the contents in the store until the log that names them is in its place.
    using _lease = await this.#parts.blobs.lease();
    await this.#moveContents(intake, needed);
    const goesOn = await this.#goOn(intake, record);
    await intake.closeBlobs();
    const installed = this.#keepHead(intake);
    this.#moveIntoPlace();
    const name = this.#options.name ?? record.name;
    const listed = { ...record, roots: hostedRoots(record), device: "0", inode: "0" };
    this.#parts.roots.note(listedWorkspace(this.#id, name === undefined ? listed : { ...listed, name }, seq));
    const { hash, contents, withheld } = this.#manifest;
    return {
      workspace: this.#id,
      name: name ?? null,
      ...{ seq: this.#manifest.seq, hash, root: intake.root, contents, withheld: { ...withheld } },
      archive_key: archiveKey,
      ...goesOn,
      with_key: intake.hasKey,
      key_installed: installed,
    };
  }

  async close(): Promise<void> {
    const { backends, layout } = this.#parts;
    await this.#intake?.close();
    if (backends.disk.lstat(this.#folder) === undefined) return;
    backends.removeFolder(this.#folder);
    backends.disk.syncFolder(layout.workspaces);
  }

  /**
   * Returns the last workspace record of the history. Throws `REFUSED` if another workspace of this store has its name.
   */
  async #record(intake: ArchiveIntake): Promise<{ readonly record: WorkspaceRecord; readonly seq: number }> {
    const { backends } = this.#parts;
    const { last, problem } = await lastWorkspaceRecord(backends, intake.files, this.#id);
    if (problem !== undefined) throw problem;
    if (last === undefined) throw refused("its log has no record of the workspace");
    const name = this.#options.name ?? last.record.name;
    if (name !== undefined) {
      checkName(name, ANOTHER_NAME);
      refuseTaken(await this.#parts.roots.list(), name, ANOTHER_NAME);
    }
    return last;
  }

  /** Throws `REFUSED` if `useKey` is set, but the archive has no key or this machine has another key. */
  #refuseKey(intake: ArchiveIntake): void {
    if (this.#options.useKey !== true) return;
    const refuse = (message: string): never => {
      throw new ChronicleError("REFUSED", message, {
        hint: "import the archive without --use-key: the key of this machine then signs the history from now on",
      });
    };
    if (!intake.hasKey) refuse("the archive holds no signing key to use");
    const own = this.#parts.heads.verifierKey();
    if (own !== undefined && own !== intake.heads.verifierKey()) refuse("this machine has another signing key already");
  }

  /** Throws `REFUSED` if a folder is given for the files (`to`), but the workspace does not have exactly one root. */
  #refuseRoots({ roots }: WorkspaceRecord): void {
    if (this.#options.to === undefined || roots.length === 1) return;
    throw new ChronicleError("REFUSED", `the workspace in the archive has ${roots.length} roots, not one`, {
      hint: `import the archive without --to; then \`chronicle -w ${this.#id} restore now --to DIR\` puts its files into a folder`,
    });
  }

  /** Verifies the whole staged history against the head in the archive. Throws `INTEGRITY_VIOLATION` at any problem. */
  async #verified(intake: ArchiveIntake, record: WorkspaceRecord): Promise<Verified> {
    return this.#opened(intake, record, async (context) => {
      const { onProgress } = this.#options;
      const options = { expect: intake.note, ...(onProgress === undefined ? {} : { onProgress }) };
      const { shape, needed } = await examine(context, { ...options, placesOf: new Set() });
      const problems = shape.problems.filter(({ kind }) => intake.hasKey || !OF_THE_KEY.has(kind));
      const [first] = problems;
      if (first !== undefined) {
        const more = problems.length === 1 ? "" : ` (and ${problems.length - 1} more)`;
        throw refused(`${first.where}: ${first.detail}${more}`);
      }
      if (shape.expected?.ok !== true || shape.expected.signature !== "valid")
        throw refused("no signer of its history has signed its head");
      const { key } = await answer(context, () => signingShape(context, undefined));
      return { needed, key: key ?? "" };
    });
  }

  /** Copies into the store all contents that the history needs and that the store does not have. */
  async #moveContents(intake: ArchiveIntake, needed: Examined["needed"]): Promise<void> {
    const { blobs } = this.#parts;
    const hashes = [...(await intake.blobs.has([...needed.keys()]))];
    const sound = await blobs.sound(hashes);
    const missing = hashes.filter((hash) => !sound.has(hash));
    if (missing.length === 0) return;
    await withBatch(blobs, async (batch) => {
      const left = new Set(missing);
      for await (const block of intake.blobs.blocks(missing, MAX_CONTAINER_CONTENT_BYTES)) {
        await batch.putBlock(block);
        for (const { hash } of block.entries) left.delete(hash);
      }
      for (const hash of left) {
        const reader = await intake.blobs.open(hash);
        if (reader !== undefined) await batch.putStream(reader.pieces());
      }
    });
  }

  /**
   * Records in the staged history that the workspace has no folder here, and which key signs from now on. If this
   * machine has kept a head of the same history, that head stays in force until the event that accepts the imported
   * history names it.
   */
  async #goOn(
    intake: ArchiveIntake,
    record: WorkspaceRecord,
  ): Promise<{ readonly key: string; readonly accepted: boolean }> {
    const { heads } = this.#parts;
    if (this.#options.useKey !== true) intake.useKeyOfThisMachine();
    const kept = heads.last(this.#id);
    if (kept !== undefined && kept.note !== "") intake.heads.take(this.#id, { note: kept.note, former: [intake.note] });
    return this.#opened(intake, record, async (context) => {
      const { accepted } = await acceptHead(context, { why: "imported from an archive" });
      await detachFolders(context, { name: this.#options.name });
      return { accepted, key: context.heads.verifierKey() ?? "" };
    });
  }

  async #opened<T>(intake: ArchiveIntake, record: WorkspaceRecord, work: (context: Context) => Promise<T>): Promise<T> {
    const aside = intake.asStore();
    const tasks = storeTasks(aside, this.#id);
    const { context, close } = await openContext(aside, this.#id, { roots: hostedRoots(record), tasks });
    try {
      return await work(context);
    } finally {
      await close();
    }
  }

  /**
   * Puts the key and the signed heads into place. Returns true if the key was put into place. Throws `REFUSED` if this
   * machine got another key in the meantime.
   */
  #keepHead(intake: ArchiveIntake): boolean {
    const { backends, configFolder, layout } = this.#parts;
    const keeper = new FileHeadKeeper(backends.disk, { configFolder, home: layout.home, pid: backends.processes.pid });
    const isWanted = this.#options.useKey === true && keeper.verifierKey() === undefined;
    const pem = isWanted ? readText(backends.disk, intake.keyFile) : undefined;
    if (pem !== undefined) keeper.takeKey(pem);
    this.#refuseKey(intake);
    const note = intake.heads.last(this.#id)?.note ?? intake.note;
    const former = intake.heads.former(this.#id).map((one) => one.note);
    keeper.take(this.#id, { note, former });
    return pem !== undefined;
  }

  #moveIntoPlace(): void {
    const { backends, layout } = this.#parts;
    backends.removeFolder(`${this.#folder}/staged`);
    backends.disk.syncFolder(this.#folder);
    backends.move(this.#folder, layout.workspace(this.#id).folder);
    backends.disk.syncFolder(layout.workspaces);
  }
}

/** The hint for a user if the workspace's name in the archive cannot be used here. */
const ANOTHER_NAME = "--as NAME gives it another name";

/** The kinds of problems that are expected if the archive does not contain the key. */
const OF_THE_KEY: ReadonlySet<string> = new Set(["key-missing", "key-other"]);

/** Returns the roots of a history without their folders, because these are folders of another machine. */
function hostedRoots({ roots }: Pick<WorkspaceRecord, "roots">): readonly RootRecord[] {
  return roots.map(({ only: _only, ...root }) => ({ ...root, folder: "" }));
}
