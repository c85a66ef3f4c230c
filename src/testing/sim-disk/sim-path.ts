import type { DiskPath } from "../../disk/disk.ts";
import { systemError } from "./sim-error.ts";
import { ROOT, type SimNode, type SimState } from "./sim-state.ts";

/** The result of resolving a path. */
export interface SimPlace {
  /** The folder that contains the last name. */
  readonly folder: number;
  /** The last name, one character per byte; `""` if the path does not end in one. */
  readonly name: string;
  /** The reason why there is no name: the path ends in `.` or `..`, is the root, or is a bare `/proc/self/fd/<fd>`. */
  readonly end: "name" | "dot" | "dotdot" | "root" | "anchor";
  /** The node of the path; 0 if nothing has that name. */
  readonly node: number;
  /** True if the path ended in `/`. */
  readonly trailing: boolean;
}

/**
 * The cases in which a symbolic link in the last component is followed: always, only before a trailing `/`, or never.
 * `new` does not follow it either. `new` is for a name that is to be made, so a trailing `/` is also accepted after a
 * name that is not a folder.
 */
export type FollowLast = "always" | "trailing" | "never" | "new";

/** The context of resolving a path, beside the state. */
export interface SimPathView {
  readonly state: SimState;
  /** Returns the node of a descriptor. */
  readonly nodeOfDescriptor: (fd: number) => number | undefined;
  /** Throws if a folder may not be searched. */
  readonly checkSearch: (folder: SimNode, path: string) => void;
}

/** The limits of Linux (path_resolution(7), limits.h). */
const MOST_LINKS = 40;
const LONGEST_NAME = 255;
const LONGEST_PATH = 4095;

// oxlint-disable-next-line no-control-regex
const ASCII = /^[\0-\x7f]*$/;

/** Returns a path as text with one character per byte. Refuses NUL, as Node does. */
export function byteText(path: DiskPath): string {
  const text = typeof path === "string" ? bytesOf(path) : path.toString("latin1");
  if (!text.includes("\0")) return text;
  throw Object.assign(new TypeError("The path contains a NUL byte."), { code: "ERR_INVALID_ARG_VALUE" });
}

function bytesOf(path: string): string {
  return ASCII.test(path) ? path : Buffer.from(path, "utf8").toString("latin1");
}

/**
 * Resolves a path as the kernel does: follows links in the middle, takes `..` to the real parent, and reaches an open
 * folder through `/proc/self/fd`. Throws `ENOENT` (a folder on the way is missing, or the path is not absolute),
 * `ENOTDIR`, `ELOOP`, `ENAMETOOLONG`, `EACCES`.
 */
export function resolvePath(view: SimPathView, path: DiskPath, follow: FollowLast): SimPlace {
  const place = findPath(view, path, follow);
  if (place === undefined) throw systemError("ENOENT", "resolve", byteText(path));
  return place;
}

/**
 * Like `resolvePath`, but returns `undefined` if a folder on the way is missing, because this is frequent and errors
 * are expensive.
 */
export function findPath(view: SimPathView, path: DiskPath, follow: FollowLast): SimPlace | undefined {
  const text = byteText(path);
  if (!text.startsWith("/")) throw systemError("ENOENT", "resolve", text);
  if (text.length > LONGEST_PATH) throw systemError("ENAMETOOLONG", "resolve", text);
  const trailing = text.endsWith("/");
  const place = new Walk(view, text, follow === "always" || (follow === "trailing" && trailing)).run(trailing);
  if (place === undefined) return undefined;
  if (trailing && follow !== "new" && place.node !== 0 && view.state.node(place.node).kind !== "dir") {
    throw systemError("ENOTDIR", "resolve", text);
  }
  return place;
}

class Walk {
  readonly #view: SimPathView;
  readonly #text: string;
  readonly #followLast: boolean;
  #names: string[];
  #next = 0;
  #at = ROOT;
  #atRoot = true;
  #links = 0;

  constructor(view: SimPathView, text: string, followLast: boolean) {
    this.#view = view;
    this.#text = text;
    this.#followLast = followLast;
    this.#names = componentsOf(text);
  }

  /** Resolves the path. Returns `undefined` if a folder on the way is missing. */
  run(trailing: boolean): SimPlace | undefined {
    let end: SimPlace["end"] = "root";
    for (let name = this.#names[this.#next++]; name !== undefined; name = this.#names[this.#next++]) {
      if (name === "." || name === "..") {
        end = this.#step(name);
        continue;
      }
      if (this.#atRoot && name === "proc" && this.#anchor()) {
        end = "anchor";
        continue;
      }
      const last = this.#next === this.#names.length;
      const node = this.#lookUp(name);
      if (node !== 0 && this.#follows(node, last)) {
        end = "root";
        continue;
      }
      if (last) return { folder: this.#at, name, end: "name", node, trailing };
      if (node === 0) return undefined;
      this.#at = node;
      this.#atRoot = false;
    }
    return { folder: this.#at, name: "", end, node: this.#at, trailing };
  }

  #step(name: "." | ".."): "dot" | "dotdot" {
    const folder = this.#folder();
    if (name === ".") return "dot";
    this.#at = this.#at === ROOT ? ROOT : folder.parent;
    this.#atRoot = this.#at === ROOT;
    return "dotdot";
  }

  #folder(): SimNode {
    const folder = this.#view.state.node(this.#at);
    if (folder.kind !== "dir") throw systemError("ENOTDIR", "resolve", this.#text);
    this.#view.checkSearch(folder, this.#text);
    return folder;
  }

  #lookUp(name: string): number {
    const folder = this.#folder();
    if (name.length > LONGEST_NAME) throw systemError("ENAMETOOLONG", "resolve", this.#text);
    return folder.names.get(name) ?? 0;
  }

  /** Continues from `/proc/self/fd/<fd>` if that comes next. */
  #anchor(): boolean {
    const [self, fd, number] = this.#names.slice(this.#next, this.#next + 3);
    if (self !== "self" || fd !== "fd" || number === undefined || !/^\d+$/.test(number)) return false;
    const node = this.#view.nodeOfDescriptor(Number(number));
    if (node === undefined) throw systemError("ENOENT", "resolve", this.#text);
    this.#next += 3;
    this.#at = node;
    this.#atRoot = false;
    return true;
  }

  /** Replaces a symbolic link by its target, unless it is the last name and is not to be followed. */
  #follows(id: number, last: boolean): boolean {
    const node = this.#view.state.node(id);
    if (node.kind !== "symlink" || (last && !this.#followLast)) return false;
    if (++this.#links > MOST_LINKS) throw systemError("ELOOP", "resolve", this.#text);
    const target = node.target.toString("latin1");
    this.#names = [...componentsOf(target), ...this.#names.slice(this.#next)];
    this.#next = 0;
    if (target.startsWith("/")) {
      this.#at = ROOT;
      this.#atRoot = true;
    }
    return true;
  }
}

function componentsOf(text: string): string[] {
  return text.split("/").filter((name) => name !== "");
}
