import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import type { Omission, OmissionReason } from "../../core/records/coverage.ts";
import type { Entry } from "../../core/values/entry.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { childOf, compareNames, decodeName, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { entryOf } from "../files/inspect.ts";
import { isSameStat } from "../files/same-stat.ts";
import { linkOnTheWay, replacePath } from "./replace-outside.ts";
import {
  type OutsideChange,
  type OutsideFiles,
  type OutsideLook,
  type OutsideRequest,
  beneathSlash,
  isSystemPath,
  OUTSIDE_LIMITS,
  type OutsideLimits,
} from "../outside-files.ts";
import { processPath } from "../../disk/process-path.ts";

export interface DiskOutsideOptions {
  readonly disk: Disk;
  readonly home?: string | undefined;
  /** Chronicle's own folders: absolute, links resolved. */
  readonly own: readonly string[];
  /** Folders of the workspace, which records them itself. */
  readonly roots: readonly string[];
  readonly limits?: OutsideLimits;
}

const PIECE = 1024 * 1024;
/** The maximum number of times that a file is read again, because it changed while it was read. */
const RETRIES = 3;
/** The maximum number of links that the system follows to resolve one path. */
const MOST_LINKS = 40;

/** Files anywhere on a disk, opened from `/` without following links. */
export class DiskOutsideFiles implements OutsideFiles {
  readonly home: string | undefined;
  readonly #disk: Disk;
  readonly #own: readonly WorkspacePath[];
  readonly #roots: readonly WorkspacePath[];
  readonly #limits: OutsideLimits;

  constructor(options: DiskOutsideOptions) {
    this.home = options.home;
    this.#disk = options.disk;
    this.#own = options.own.map(beneathSlash);
    this.#roots = options.roots.map(beneathSlash);
    this.#limits = options.limits ?? OUTSIDE_LIMITS;
  }

  isOwn(path: WorkspacePath, deep: boolean): boolean {
    return this.#own.some((own) => isWithin(path, own) || (deep && isWithin(own, path)));
  }

  resolve(absolute: string): { readonly name: string; readonly end: string } {
    const end = this.#real(absolute);
    if (end === absolute) return { name: absolute, end };
    const own = processPath(this.#disk, absolute);
    if (own !== undefined) return { name: this.#nameBefore(absolute, own), end: own };
    const name = this.#nameOf(absolute);
    return { name, end: end ?? this.#danglingEnd(name) };
  }

  /**
   * Returns the `name` (see `OutsideFiles.resolve`) of a path that leads into `/proc`. If only the last part of the
   * path is a link into `/proc`, the name is the path of that link. Otherwise, the name is `own`, the path in `/proc`.
   */
  #nameBefore(absolute: string, own: string): string {
    return processPath(this.#disk, posix.dirname(absolute)) === undefined ? this.#nameOf(absolute) : own;
  }

  #nameOf(absolute: string): string {
    const slash = absolute.lastIndexOf("/");
    const folder = this.#realFolder(absolute.slice(0, slash) || "/");
    return `${folder === "/" ? "" : folder}${absolute.slice(slash)}`;
  }

  /** Returns the path that a write to this name would create, by following dangling links. */
  #danglingEnd(name: string): string {
    let at = name;
    for (let links = 0; links < MOST_LINKS; links += 1) {
      const target = this.#target(at);
      if (target === undefined) return at;
      at = this.#nameOf(posix.resolve(posix.dirname(at), target));
    }
    return name;
  }

  /** Returns the target of a link; `undefined` if the path is no readable link, or its target is not UTF-8. */
  #target(absolute: string): string | undefined {
    try {
      if (this.#disk.lstat(absolute)?.kind !== "symlink") return undefined;
      const bytes = this.#disk.readlink(absolute);
      return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  }

  #real(absolute: string): string | undefined {
    try {
      return this.#disk.realpath(absolute);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  }

  /**
   * Returns a folder with its links resolved. If it does not exist, resolves the deepest existing folder, and appends
   * the missing part.
   */
  #realFolder(folder: string): string {
    for (let at = folder, rest = ""; ;) {
      const real = this.#real(at);
      if (real !== undefined) return real === "/" ? rest || "/" : `${real}${rest}`;
      const slash = at.lastIndexOf("/");
      if (slash < 0 || at === "/") return folder;
      rest = `${at.slice(slash)}${rest}`;
      at = at.slice(0, slash) || "/";
    }
  }

  async look(path: WorkspacePath, request: OutsideRequest): Promise<OutsideLook> {
    // A path in a root is requested only for git's own state, which the workspace does not record.
    const roots = this.#roots.filter((root) => !isWithin(path, root));
    if (this.isOwn(path, false))
      return { found: [], omitted: [{ path, reason: "store", detail: "it is Chronicle's own" }] };
    const walk = new Walk({ disk: this.#disk, limits: this.#limits, skip: [...this.#own, ...roots] }, request);
    await walk.visit(path);
    return walk;
  }

  async replace(change: OutsideChange): Promise<string | undefined> {
    using fs = new ConfinedFs(this.#disk, "/");
    try {
      return await replacePath(this.#disk, fs, change);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      return errno === "ELOOP" || errno === "ENOTDIR" ? "there is a link or a file on the way to it" : errno;
    }
  }
}

interface WalkGiven {
  readonly disk: Disk;
  readonly limits: OutsideLimits;
  readonly skip: readonly WorkspacePath[];
}

class Walk implements OutsideLook {
  readonly found: { readonly path: WorkspacePath; readonly entry: Entry | undefined }[] = [];
  readonly omitted: Omission[] = [];
  readonly #given: WalkGiven;
  readonly #request: OutsideRequest;
  #bytes = 0;

  constructor(given: WalkGiven, request: OutsideRequest) {
    this.#given = given;
    this.#request = request;
  }

  get #maxBytes(): number {
    return Math.min(this.#given.limits.maxBytes, this.#request.mostBytes ?? Number.POSITIVE_INFINITY);
  }

  async visit(top: WorkspacePath): Promise<void> {
    // With `whole`, the limits are checked before any content is read, so that nothing is read in vain.
    const { deep, whole } = this.#request;
    const excess = deep && whole === true && !isSystemPath(top) ? this.#excess(top) : undefined;
    if (excess !== undefined) return this.#omit(top, "over-limit", excess);
    const pending: { readonly path: WorkspacePath; readonly dev: bigint | undefined }[] = [
      { path: top, dev: undefined },
    ];
    for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
      const { path, dev } = one;
      if (this.found.length >= this.#given.limits.maxEntries) {
        // Very many paths may still be unread, anywhere beneath the top. These paths are not listed. One omission, of
        // the top, stands for all of them.
        this.#omit(top, "over-limit", `more than ${this.#given.limits.maxEntries} paths`);
        return;
      }
      const stat = await this.#one(path, dev);
      if (stat?.kind !== "dir" || !this.#request.deep) continue;
      for (const child of this.#children(path).reverse()) pending.push({ path: child, dev: stat.dev });
    }
  }

  /** Describes the exceeded limit, for people; `undefined` if no limit is exceeded. */
  #excess(top: WorkspacePath): string | undefined {
    const { maxEntries } = this.#given.limits;
    const maxBytes = this.#maxBytes;
    const stat = this.#stat(top);
    const pending = stat?.kind === "dir" ? [top] : [];
    let [entries, bytes] = [1, 0];
    for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
      for (const child of this.#countable(folder)) {
        const found = this.#stat(child);
        if (found === undefined || found.dev !== stat?.dev) continue;
        entries += 1;
        if (found.kind === "file") bytes += found.size;
        if (found.kind === "dir") pending.push(child);
      }
      if (entries > maxEntries) return `more than ${maxEntries} paths`;
      if (bytes > maxBytes) return `more than ${maxBytes} bytes`;
    }
    return undefined;
  }

  #countable(folder: WorkspacePath): WorkspacePath[] {
    const isLeftOut = (path: WorkspacePath): boolean =>
      isSystemPath(path) || this.#given.skip.some((other) => isWithin(path, other));
    try {
      using fs = new ConfinedFs(this.#given.disk, "/");
      return fs
        .list(folder)
        .map((item) => childOf(folder, decodeName(item.name)))
        .filter((path) => !isLeftOut(path));
    } catch (error) {
      // The walk will report a folder that cannot be listed.
      if (errnoOf(error) === undefined) throw error;
      return [];
    }
  }

  #stat(path: WorkspacePath): FileStat | undefined {
    try {
      using fs = new ConfinedFs(this.#given.disk, "/");
      return fs.lstat(path);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  }

  /** Reads one path. Returns its stat; `undefined` if the path is absent, skipped or omitted. */
  async #one(path: WorkspacePath, dev: bigint | undefined): Promise<FileStat | undefined> {
    if (isSystemPath(path)) {
      this.#omit(path, "special", "it belongs to the system");
      return undefined;
    }
    // Tracked folders are skipped, because the workspace records them itself. Chronicle's own files are never read.
    if (dev !== undefined && this.#given.skip.some((folder) => isWithin(path, folder))) return undefined;
    using fs = new ConfinedFs(this.#given.disk, "/");
    try {
      const behind = linkOnTheWay(fs, path);
      if (behind !== undefined) return this.#omit(path, "unreadable", `/${behind} on the way to it is a link`);
      return await this.#look(fs, path, dev);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      return this.#omit(path, "unreadable", errno);
    }
  }

  async #look(fs: ConfinedFs, path: WorkspacePath, dev: bigint | undefined): Promise<FileStat | undefined> {
    const stat = fs.lstat(path);
    if (stat === undefined) {
      if (dev === undefined) this.found.push({ path, entry: undefined });
      return undefined;
    }
    if (stat.kind === "special") return this.#omit(path, "special", "no file, link or folder");
    if (stat.kind === "dir") {
      if (dev !== undefined && stat.dev !== dev) return this.#omit(path, "other-device", "a mount");
      this.found.push({ path, entry: entryOf(path, stat, undefined) });
      return stat;
    }
    if (stat.kind === "symlink") {
      const target = fs.readlink(path);
      const { hash } = await this.#request.keep([target], { path, size: target.length });
      this.found.push({ path, entry: { ...entryOf(path, stat, hash), size: target.length } });
      return stat;
    }
    return this.#file(fs, path);
  }

  async #file(fs: ConfinedFs, path: WorkspacePath): Promise<FileStat | undefined> {
    using file = fs.openRead(path);
    // The open folders are closed, because other tasks may rename these folders while the content is stored.
    fs.release();
    for (let attempt = 0; ; attempt += 1) {
      const before = fs.fstat(file);
      if (before.kind !== "file") return this.#omit(path, "special", "no file, link or folder");
      const { maxFileSize } = this.#given.limits;
      const maxBytes = this.#maxBytes;
      if (before.size > maxFileSize) return this.#omit(path, "too-large", `${before.size} bytes`);
      if (this.#bytes + before.size > maxBytes) return this.#omit(path, "over-limit", `more than ${maxBytes} bytes`);
      const of = { path, size: before.size };
      const { hash, size } = await this.#request.keep(piecesOf(this.#given.disk, file.fd, maxFileSize), of);
      const after = fs.fstat(file);
      const settled = isSameStat(before, after) && size === after.size;
      if (!settled && attempt < RETRIES) continue;
      if (!settled) this.#omit(path, "unstable", "it changed while it was read");
      this.#bytes += size;
      this.found.push({ path, entry: { ...entryOf(path, after, hash), size } });
      return after;
    }
  }

  #children(folder: WorkspacePath): WorkspacePath[] {
    using fs = new ConfinedFs(this.#given.disk, "/");
    try {
      const names = fs.list(folder).map((item) => decodeName(item.name));
      return names.sort(compareNames).map((name) => childOf(folder, name));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      this.#omit(folder, "unreadable", errno);
      return [];
    }
  }

  #omit(path: WorkspacePath, reason: OmissionReason, detail: string): undefined {
    this.omitted.push({ path, reason, detail });
    return undefined;
  }
}

function* piecesOf(disk: Disk, fd: number, most: number): Generator<Uint8Array> {
  for (let at = 0; at <= most;) {
    // Each piece has a new buffer, because the consumer may still need the previous piece.
    const buffer = Buffer.allocUnsafe(at === 0 ? 64 * 1024 : PIECE);
    const count = disk.read(fd, buffer, at);
    if (count === 0) return;
    yield buffer.subarray(0, count);
    at += count;
  }
}
