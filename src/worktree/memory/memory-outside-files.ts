import { posix } from "node:path";
import type { Omission, OmissionReason } from "../../core/records/coverage.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { comparePaths, foldersAbove, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { memoryEntry } from "./memory-apply.ts";
import type { MemoryFiles } from "./memory-files.ts";
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

export interface MemoryOutsideOptions {
  /** All files of the simulated machine, by paths from `/` without the leading slash. */
  readonly files: MemoryFiles;
  readonly home?: string | undefined;
  /** Chronicle's own folders, absolute. */
  readonly own: readonly string[];
  /** The workspace's folders, which it records itself. */
  readonly roots: readonly string[];
  readonly limits?: OutsideLimits;
}

/** The maximum number of links that are followed to resolve one path, as on Linux. */
const MOST_LINKS = 40;
/** Setuid, setgid and sticky are recorded, but never set. */
const NEVER_SET = 0o7000;
const NOT_WHAT_IT_WAS = "it is not what it was a moment ago";

/** The outside files of a workspace on a simulated machine in memory. */
export class MemoryOutsideFiles implements OutsideFiles {
  readonly home: string | undefined;
  readonly #files: MemoryFiles;
  readonly #own: readonly WorkspacePath[];
  readonly #roots: readonly WorkspacePath[];
  readonly #limits: OutsideLimits;

  constructor({ files, home, own, roots, limits }: MemoryOutsideOptions) {
    this.home = home;
    this.#files = files;
    this.#own = own.map(beneathSlash);
    this.#roots = roots.map(beneathSlash);
    this.#limits = limits ?? OUTSIDE_LIMITS;
  }

  isOwn(path: WorkspacePath, deep: boolean): boolean {
    return this.#own.some((own) => isWithin(path, own) || (deep && isWithin(own, path)));
  }

  resolve(absolute: string): { readonly name: string; readonly end: string } {
    const name = posix.join(this.#real(posix.dirname(absolute)) ?? posix.dirname(absolute), posix.basename(absolute));
    return { name, end: this.#real(absolute) ?? absolute };
  }

  async look(path: WorkspacePath, request: OutsideRequest): Promise<OutsideLook> {
    const look = { found: [] as { path: WorkspacePath; entry: Entry | undefined }[], omitted: [] as Omission[] };
    if (this.isOwn(path, false))
      return { found: [], omitted: [{ path, reason: "store", detail: "it is Chronicle's own" }] };
    const maxBytes = Math.min(this.#limits.maxBytes, request.mostBytes ?? Number.POSITIVE_INFINITY);
    const excess = request.deep && request.whole === true ? this.#excess(path, maxBytes) : undefined;
    if (excess !== undefined) return { found: [], omitted: [{ path, reason: "over-limit", detail: excess }] };
    let bytes = 0;
    for (const one of [path, ...(request.deep ? this.#beneath(path) : [])]) {
      const omit = (reason: OmissionReason, detail: string): void =>
        void look.omitted.push({ path: one, reason, detail });
      const node = this.#files.get(one);
      const behind = this.#linkOnTheWay(one);
      if (look.found.length >= this.#limits.maxEntries) {
        look.omitted.push({ path, reason: "over-limit", detail: `more than ${this.#limits.maxEntries} paths` });
        break;
      }
      if (isSystemPath(one)) omit("special", "it belongs to the system");
      else if (behind !== undefined) omit("unreadable", `/${behind} on the way to it is a link`);
      else if (node === undefined) look.found.push({ path: one, entry: undefined });
      else if (node.content.length > this.#limits.maxFileSize) omit("too-large", `${node.content.length} bytes`);
      else if (bytes + node.content.length > maxBytes) omit("over-limit", `more than ${maxBytes} bytes`);
      else {
        const { content } = node;
        bytes += content.length;
        if (node.kind !== "dir") await request.keep([content], { path: one, size: content.length });
        look.found.push({ path: one, entry: memoryEntry(one, node) });
      }
    }
    return look;
  }

  async replace({ path, before, after, content }: OutsideChange): Promise<string | undefined> {
    const behind = this.#linkOnTheWay(path);
    if (behind !== undefined) return `/${behind} on the way to it is a link`;
    if (before !== undefined && sameEntry(before, after)) return undefined;
    if (this.#isFileOnTheWay(path)) return "there is a link or a file on the way to it";
    if (after !== undefined && after.kind !== "dir" && content === undefined) return "its content is not in the store";
    const node = this.#files.get(path);
    const present = node === undefined ? undefined : memoryEntry(path, node);
    if (present?.kind === "dir" && after?.kind === "dir") {
      this.#files.chmod(path, after.mode & ~NEVER_SET);
      return undefined;
    }
    if (!sameEntry(present, before)) return sameEntry(present, after) ? undefined : NOT_WHAT_IT_WAS;
    if (present?.kind === "dir" && this.#files.beneath(path).length > 0) return "ENOTEMPTY";
    const parts: Uint8Array[] = [];
    if (content !== undefined) for await (const piece of content.pieces()) parts.push(piece);
    this.#put(path, after, Buffer.concat(parts));
    return undefined;
  }

  #put(path: WorkspacePath, after: Entry | undefined, content: Buffer): void {
    this.#files.remove(path);
    if (after === undefined) return;
    const mode = after.mode & ~NEVER_SET;
    if (after.kind === "dir") this.#files.makeFolder(path, mode);
    else if (after.kind === "symlink") this.#files.symlink(content, path);
    else this.#files.write(path, content, mode);
  }

  #beneath(top: WorkspacePath): WorkspacePath[] {
    if (isSystemPath(top) || this.#files.get(top)?.kind !== "dir" || this.#linkOnTheWay(top) !== undefined) return [];
    // A path in a root is requested only for git's own state, which the workspace does not record.
    const skip = [...this.#own, ...this.#roots.filter((root) => !isWithin(top, root))];
    return this.#files.beneath(top).filter((path) => !skip.some((other) => isWithin(path, other)));
  }

  #excess(top: WorkspacePath, maxBytes: number): string | undefined {
    const { maxEntries } = this.#limits;
    const paths = this.#beneath(top).sort(comparePaths);
    if (paths.length + 1 > maxEntries) return `more than ${maxEntries} paths`;
    const bytes = paths.reduce((sum, path) => sum + (this.#files.read(path)?.length ?? 0), 0);
    return bytes > maxBytes ? `more than ${maxBytes} bytes` : undefined;
  }

  #linkOnTheWay(path: WorkspacePath): WorkspacePath | undefined {
    return foldersTo(path).find((folder) => this.#files.get(folder)?.kind === "symlink");
  }

  #isFileOnTheWay(path: WorkspacePath): boolean {
    return foldersTo(path).some((folder) => this.#files.get(folder)?.kind === "file");
  }

  /**
   * Returns the path with its links resolved. No part of the path need exist. Returns `undefined` if there are more
   * than `MOST_LINKS` links, as in a cycle.
   */
  #real(absolute: string): string | undefined {
    let at = "/";
    let rest = absolute.split("/").filter((part) => part !== "");
    for (let links = 0; ;) {
      const [part, ...others] = rest;
      if (part === undefined) return at;
      const next = posix.join(at, part);
      const node = this.#files.get(beneathSlash(next));
      if (node?.kind !== "symlink") {
        at = next;
        rest = others;
        continue;
      }
      links += 1;
      if (links > MOST_LINKS) return undefined;
      const target = posix.resolve(at, node.content.toString("utf8"));
      rest = [...target.split("/").filter((one) => one !== ""), ...others];
      at = "/";
    }
  }
}

/** Returns the folders above a path, the outermost first. */
function foldersTo(path: WorkspacePath): WorkspacePath[] {
  const folders: WorkspacePath[] = [];
  for (const at of foldersAbove(path)) folders.unshift(at);
  return folders;
}
