import { isKeptTime, type Change, type Entry, SYMLINK_MODE, entryTime, timeNsOf } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { MemoryFiles, MemoryNode } from "./memory-files.ts";
import type { ApplyReport, ApplyRequest, CheckReport, ContentReader } from "../worktree.ts";
import { sha256 } from "../../core/values/hash.ts";
import { comparePaths, foldersAbove, isRoot, parentOf } from "../../core/values/path.ts";
import { changedText } from "../apply/apply-check.ts";
import { BlockedPaths } from "../apply/blocked-paths.ts";

const DEFAULT_MASK = 0o7000;
const DEFAULT_FOLDER_MASK = 0o4000;

export function memoryEntry(path: WorkspacePath, node: MemoryNode): Entry {
  const { kind, content, stat } = node;
  if (kind === "dir") return { path, kind, mode: stat.mode, size: 0, mtimeMs: 0, hash: undefined };
  const mode = kind === "symlink" ? SYMLINK_MODE : stat.mode;
  return { path, kind, mode, size: content.length, ...entryTime(stat.mtimeNs), hash: sha256(content) };
}

/** The parts of a request that `check` and `run` use. `contents` is absent for a check, which reads no contents. */
type MemoryRequest = Pick<
  ApplyRequest,
  "changes" | "together" | "onBlocked" | "begin" | "resume" | "keepMtime" | "maskMode" | "onProgress"
> &
  Partial<Pick<ApplyRequest, "contents">>;

/** One apply to files in memory. Checks every change, reads every content, and then makes all changes at once. */
export class MemoryApply {
  readonly #files: MemoryFiles;
  readonly #request: MemoryRequest;
  readonly #changes: ReadonlyMap<WorkspacePath, Change>;
  readonly #blocked: BlockedPaths;
  readonly #contents = new Map<Hash, Buffer>();

  constructor(files: MemoryFiles, request: MemoryRequest) {
    this.#files = files;
    this.#request = request;
    const sorted = request.changes.toSorted((a, b) => comparePaths(a.path, b.path));
    this.#changes = new Map(
      sorted.map(({ path, before, after }) => {
        return [path, { path, before, after: after && { ...after, mode: this.#modeOf(after) } }];
      }),
    );
    this.#blocked = new BlockedPaths(this.#changes);
  }

  /** Returns the mode of an entry without the masked bits. An existing folder keeps the masked bits that it has. */
  #modeOf({ path, kind, mode }: Entry): number {
    const mask = this.#request.maskMode ?? (kind === "dir" ? DEFAULT_FOLDER_MASK : DEFAULT_MASK);
    const present = this.#files.get(path);
    const kept = kind === "dir" && present?.kind === "dir" ? memoryEntry(path, present).mode & mask : 0;
    return (mode & ~mask) | kept;
  }

  /** Checks the changes as if all contents were available. */
  check(): CheckReport {
    this.#look();
    for (const change of this.#changes.values()) this.#checkParent(change);
    this.#blocked.holdUnits(this.#request.together);
    return this.#blocked.report(this.#request.onBlocked);
  }

  #look(): void {
    for (const change of this.#changes.values()) this.#check(change);
    for (const change of [...this.#changes.values()].toReversed()) this.#checkEmptied(change);
  }

  async run(): Promise<ApplyReport> {
    const { onBlocked } = this.#request;
    this.#look();
    if (!this.#blocked.stopAll(onBlocked)) await this.#read();
    for (const change of this.#changes.values()) this.#checkParent(change);
    this.#blocked.holdUnits(this.#request.together);
    if (this.#blocked.stopAll(onBlocked)) return { applied: [], blocked: this.#blocked.told(), conflicts: [] };
    await this.#request.begin?.();
    const todo = [...this.#changes.values()].filter(({ path }) => !this.#blocked.has(path));
    for (const change of todo.toReversed()) if (this.#goes(change)) this.#files.remove(change.path);
    for (const change of todo) this.#make(change);
    this.#request.onProgress?.(todo.length, todo.length);
    return { applied: todo.map((one) => one.path), blocked: this.#blocked.told(), conflicts: [] };
  }

  #is(path: WorkspacePath, entry: Entry | undefined): boolean {
    const node = this.#files.get(path);
    if (node === undefined || entry === undefined) return node === undefined && entry === undefined;
    const now = memoryEntry(path, node);
    return now.kind === entry.kind && now.mode === entry.mode && now.hash === entry.hash;
  }

  #check(change: Change): void {
    const { path, before, after } = change;
    for (const folder of foldersAbove(path)) {
      const kind = this.#files.get(folder)?.kind;
      const planned = this.#changes.get(folder)?.after;
      if (kind === undefined || kind === "dir" || planned?.kind === "dir") continue;
      if (planned === undefined)
        this.#blocked.block(path, kind === "symlink" ? "outside" : "no-folder", "its folder is none");
    }
    const node = this.#files.get(path);
    const mayBeGone = node === undefined && (before?.kind !== "file" || after?.kind !== "file");
    const resumed =
      this.#request.resume === true &&
      (mayBeGone || this.#is(path, after) || (node !== undefined && isFolderAgain(node, after)));
    if (!this.#is(path, before) && !resumed) this.#blocked.block(path, "changed", changedText(before));
  }

  /**
   * True if the present entry must be removed before new entries are made. This is so if nothing replaces it, or if
   * only one of the old and the new entry is a folder.
   */
  #goes({ path, after }: Change): boolean {
    const kind = this.#files.get(path)?.kind;
    return (
      kind !== undefined && kind !== after?.kind && (after === undefined || kind === "dir" || after.kind === "dir")
    );
  }

  #checkEmptied(change: Change): void {
    if (this.#files.get(change.path)?.kind !== "dir" || !this.#goes(change)) return;
    this.#blocked.blockHolding(change.path, [...this.#files.beneath(change.path)]);
  }

  #checkParent({ path, after }: Change): void {
    const folder = parentOf(path);
    if (after === undefined || isRoot(folder) || this.#files.get(folder)?.kind === "dir") return;
    if (this.#changes.get(folder)?.after?.kind !== "dir")
      this.#blocked.block(path, "no-folder", "its folder is not there");
    const above = this.#blocked.get(folder);
    if (above !== undefined) this.#blocked.block(path, above.reason, "its folder is blocked");
  }

  async #read(): Promise<void> {
    const wanted = new Set<Hash>();
    for (const change of this.#changes.values()) {
      const { path, after } = change;
      if (!this.#blocked.has(path) && after?.hash !== undefined && !this.#is(path, after)) wanted.add(after.hash);
    }
    const { contents } = this.#request;
    if (wanted.size > 0 && contents !== undefined) {
      for await (const [hash, reader] of contents(wanted)) {
        if (reader !== undefined) this.#contents.set(hash, await readAll(reader));
      }
    }
    for (const { path, after } of this.#changes.values()) {
      const isMissing = after?.hash !== undefined && wanted.has(after.hash) && !this.#contents.has(after.hash);
      if (isMissing) this.#blocked.block(path, "content-missing", after.hash ?? "");
    }
  }

  #make({ path, after }: Change): void {
    if (after === undefined || this.#is(path, after)) return;
    const node = this.#files.get(path);
    if (
      node !== undefined &&
      node.kind === after.kind &&
      (node.kind === "dir" || sha256(node.content) === after.hash)
    ) {
      this.#files.chmod(path, after.mode);
      return;
    }
    if (after.kind === "dir") {
      this.#files.makeFolder(path, after.mode);
      return;
    }
    const content = this.#contents.get(after.hash ?? ("" as Hash)) ?? Buffer.alloc(0);
    if (node !== undefined) this.#files.remove(path);
    if (after.kind === "symlink") this.#files.symlink(content, path);
    else this.#files.write(path, content, after.mode);
    const isTimed = this.#request.keepMtime === true && after.kind === "file" && isKeptTime(after.mtimeMs);
    if (isTimed) this.#files.setMtime(path, timeNsOf(after));
  }
}

function isFolderAgain(node: MemoryNode, after: Entry | undefined): boolean {
  return node.kind === "dir" && after?.kind === "dir";
}

async function readAll(reader: ContentReader): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of reader.pieces()) pieces.push(piece);
  return Buffer.concat(pieces);
}
