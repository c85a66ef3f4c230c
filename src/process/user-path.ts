import { isAbsolute, resolve, basename, dirname, join, posix, relative } from "node:path";
import { usageError } from "./usage-error.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { Io } from "./io.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { unitOf } from "../core/tree/sqlite-unit.ts";
import { isInFurtherRoot, textMark, type WorkspacePath } from "../core/values/path.ts";
import { printable } from "./printable.ts";

function beneath(folder: string, path: string): string | undefined {
  const inner = relative(folder, path);
  return inner === ".." || inner.startsWith("../") || isAbsolute(inner) ? undefined : inner;
}

/** Resolves the links in the path of the folder that contains `path`, but not a link at `path` itself. */
function withRealFolder(path: string): string {
  return join(realFolder(dirname(path)), basename(path));
}

/**
 * Returns the folder with its links resolved. If the folder is missing (a deleted file can be in such a folder),
 * resolves the links above it. Throws any other system error, such as `ELOOP`.
 */
function realFolder(folder: string): string {
  try {
    return new NodeDisk().realpath(folder);
  } catch (error) {
    const isMissing = ["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "");
    if (!isMissing || folder === dirname(folder)) throw error;
    return join(realFolder(dirname(folder)), basename(folder));
  }
}

/**
 * Returns the error for an absolute path if the workspace has no known folder. The hint names the path within the
 * workspace that the user probably meant.
 */
function notFromRoot(typed: string): ChronicleError {
  const inner = posix.normalize(typed).replace(/^\/+/, "");
  return usageError(
    `${typed} is no path of this workspace: the workspace's folder is not known here, and its paths do not begin with /`,
    inner === "" ? "give a path in the workspace" : `perhaps you mean: ${inner}`,
  );
}

/** The prefix of a typed path that is relative to the first root and not to the current folder, as in git. */
const FROM_ROOT = ":/";

interface PathOwner {
  /** The workspace's folder; empty if it has none, or if none is known here. */
  readonly path: string;
  status(): Promise<{ readonly roots: readonly Root[] }>;
}

interface Root {
  /** The root's id, which begins its paths (`@<root id>:path`); `null` for the first root. */
  readonly id: string | null;
  readonly path: string;
  /** Set if only this file of the folder is tracked. */
  readonly only?: string;
}

/**
 * Returns the path relative to the root's folder; `undefined` if the path is not in the root. A root that is a single
 * file contains only this file. If the file is an SQLite database, the root also contains the companion files of the
 * database (`unitOf`).
 */
function beneathRoot({ path: folder, only }: Root, path: string): string | undefined {
  const inner = beneath(folder, path);
  const isTracked = only === undefined || unitOf(only as WorkspacePath).some((one) => one === inner);
  return isTracked ? inner : undefined;
}

/** Returns the workspace's path for a typed path that begins with `:/`. */
function fromRoot(typed: string): string {
  const inner = typed.slice(FROM_ROOT.length);
  // A path in base64 is passed on as it is, because a slash in it is a digit of base64.
  if (inner.startsWith("base64:") || inner.startsWith("/")) return inner;
  const path = posix.normalize(inner).replace(/(?<=.)\/$/, "");
  if (path === ".." || path.startsWith("../"))
    throw usageError(
      `${typed} is outside of the workspace`,
      "a path that begins with :/ begins at the workspace's root",
    );
  return path === "." ? "" : asGiven(undefined, path);
}

function asGiven(root: string | undefined, inner: string): string {
  return textMark(root, inner) + inner;
}

/**
 * Translates between the paths of a user and those of a workspace. A user's paths are relative to the current folder. A
 * workspace's paths begin at its root. `@<root id>:path` is a path beneath a further root, and `base64:…` has the bytes
 * of a path beneath the first root. Paths of these two forms are not translated. `:/path` is a path beneath the first
 * root, wherever the user stands.
 */
export class UserPaths {
  readonly #workspace: PathOwner;
  /**
   * True if the workspace is on a server. Links in typed paths are then not resolved, because they would be links on
   * the server's machine.
   */
  readonly #isRemote: boolean;
  /** The folder to which typed paths are relative: the user's current folder, or the workspace's. */
  readonly #cwd: string;
  /** The workspace's folder; `/` for a workspace without a folder. */
  readonly #root: string;

  /**
   * `cwd` is the user's current folder; `undefined` if the workspace is on a server. `named` (default: false) is true
   * if the user chose the workspace by its id or name. Typed paths are relative to the workspace's root in three cases:
   * the workspace is on a server; it has no folder; or it was chosen by its id or name, and the user stands outside of
   * its folder. Otherwise, typed paths are relative to `cwd`.
   */
  constructor(workspace: PathOwner, cwd: string | undefined, named = false) {
    this.#workspace = workspace;
    this.#isRemote = cwd === undefined;
    this.#root = workspace.path === "" ? "/" : workspace.path;
    const isElsewhere =
      cwd === undefined || workspace.path === "" || (named && beneath(workspace.path, cwd) === undefined);
    this.#cwd = isElsewhere ? this.#root : cwd;
  }

  /**
   * Returns the workspace's path for a typed path. Throws `USAGE` for a path outside of the workspace, and a system
   * error if the links in the path cannot be resolved.
   */
  async toWorkspace(typed: string): Promise<string> {
    // A path of a further root (`@two:x`) or in base64 is passed on as it is. `resolve` would damage base64, in which a
    // slash is a digit.
    if (/^(?:@[a-z0-9][a-z0-9-]*|base64):/.test(typed)) return typed;
    if (typed.startsWith(FROM_ROOT)) return fromRoot(typed);
    if (this.#workspace.path === "" && isAbsolute(typed)) throw notFromRoot(typed);
    const absolute = resolve(this.#cwd, typed);
    const inner = beneath(this.#root, absolute);
    if (this.#workspace.path === "" || inner !== undefined) return asGiven(undefined, inner ?? absolute);
    // Links in the typed path are resolved before the comparison with the folders of the roots, because these folders
    // are recorded as paths without links.
    const real = this.#isRemote ? absolute : withRealFolder(absolute);
    const within = beneath(this.#root, real);
    return within === undefined ? this.#inFurtherRoot(absolute, real) : asGiven(undefined, within);
  }

  async #inFurtherRoot(absolute: string, real: string): Promise<string> {
    const { roots } = await this.#workspace.status();
    for (const root of roots) {
      const inner = beneathRoot(root, real) ?? beneathRoot(root, absolute);
      if (inner !== undefined && root.id !== null) return asGiven(root.id, inner);
    }
    throw usageError(
      `${absolute} is outside of the workspace ${this.#workspace.path}`,
      this.#isRemote
        ? "paths begin at the workspace's root"
        : "name the workspace's folder with -C DIR, or begin a history there with: chronicle init",
    );
  }

  /** Returns a path as the user would type it, on one line, without anything that moves the cursor. */
  shown(path: string): string {
    const here = beneath(this.#root, this.#cwd);
    if (here === "" || isInFurtherRoot(path) || path.startsWith("base64:")) return unmarked(path || ".");
    // The user stands in a further root.
    if (here === undefined) return unmarked(relative(this.#cwd, join(this.#root, path)));
    const fromHere = posix.relative(here, path);
    return unmarked(asGiven(undefined, fromHere) || ".");
  }
}

/** Returns a path for people. Puts `./` before a path that would otherwise be read as a path from the root (`:/`). */
function unmarked(path: string): string {
  return printable(path.startsWith(FROM_ROOT) ? `./${path}` : path);
}

/**
 * Makes a typed path absolute. If `cwd` is a function, it is called only for a relative path, because the current
 * folder may be gone. `what` names the option or argument in messages.
 *
 * Throws `USAGE` for an empty path, which would mean the current folder. Throws `USAGE` for a path that begins with
 * `~`: no shell has replaced the `~`, so the path would be in the current folder.
 */
export function typedPath(cwd: string | (() => string), what: string, typed: string): string {
  if (typed === "") throw usageError(`${what} is empty`, "give a path; the folder you stand in is .");
  if (typed.startsWith("~")) {
    const hint = `give the whole path, because only a shell replaces ~, and only if it is not quoted; for a file with exactly this name: ./${typed}`;
    throw usageError(`${what} begins with ~, which no shell has replaced: ${typed}`, hint);
  }
  if (isAbsolute(typed)) return resolve(typed);
  return resolve(typeof cwd === "string" ? cwd : cwd(), typed);
}

/** Returns the current folder. Throws `NOT_FOUND` if it was removed, because the system then has no name for it. */
export function standingFolder(cwd: () => string): string {
  try {
    return cwd();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    throw new ChronicleError("NOT_FOUND", "the folder you stand in is gone", {
      hint: "go to another folder (cd), or name the workspace: chronicle -w ID …",
      cause: error,
    });
  }
}

/** Returns the current folder; `undefined` if it was removed. */
export function standingFolderIfThere(io: Pick<Io, "cwd">): string | undefined {
  try {
    return io.cwd();
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}
