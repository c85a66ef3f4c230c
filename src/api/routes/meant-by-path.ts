import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import { virtualPath } from "./virtual-path.ts";

/** The operation that a GET of `files/…` means, one of three, and its path. */
export interface FileRequest {
  readonly operation: "readFile" | "fileHistory" | "fileAtIteration";
  /** Parameters for the row: `path`, and `n` for an iteration. */
  readonly params: Readonly<Record<string, string>>;
}

/** The operation for each value of `as` other than `content`. */
const SAID: Readonly<Record<string, FileRequest["operation"]>> = {
  history: "fileHistory",
  iteration: "fileAtIteration",
};

/** Returns the operation that a virtual path means. */
function virtualMeaning(rest: string): FileRequest | undefined {
  const virtual = virtualPath(rest);
  if (virtual === undefined) return undefined;
  const { path } = virtual;
  if (virtual.kind === "history") return { operation: "fileHistory", params: { path } };
  return { operation: "fileAtIteration", params: { path, n: String(virtual.iteration) } };
}

/** Returns the operation that `x/history` or `x/at/3` may mean; `undefined`: it can only be a content. */
function otherMeaning(rest: string): FileRequest | undefined {
  const history = /^(.+)\/history$/s.exec(rest)?.[1];
  if (history !== undefined) return { operation: "fileHistory", params: { path: history } };
  const [, path, n] = /^(.+)\/at\/(\d+|last)$/s.exec(rest) ?? [];
  if (path === undefined || n === undefined) return undefined;
  return { operation: "fileAtIteration", params: { path, n } };
}

/**
 * Returns the operation that a GET of `files/<rest>` means. `as` (`content`, `history`, `iteration`) decides it.
 * Without `as`, `x/history` is the history of `x` if `x` was ever recorded as a file or a link, or if no file has that
 * name. A virtual path is always one, unless `as` says that a file of that name is meant.
 */
export async function meantByPath(on: WorkspaceApi, rest: string, as?: string): Promise<FileRequest> {
  const content: FileRequest = { operation: "readFile", params: { path: rest } };
  if (as === "content") return content;
  const other = otherMeaning(rest);
  if (as !== undefined && other !== undefined && other.operation === SAID[as]) return other;
  const virtual = virtualMeaning(rest);
  if (virtual !== undefined) return virtual;
  if (other === undefined) return content;
  if (as !== undefined) return other;
  if (await wasEverFile(on, other.params["path"] ?? "")) return other;
  return (await wasEverFile(on, rest)) ? content : other;
}

async function wasEverFile(on: WorkspaceApi, path: string): Promise<boolean> {
  const limit = 100;
  for (let after = 0; ;) {
    const iterations = await recorded(on, path, { limit, after });
    if (iterations.some(({ kind }) => kind === "file" || kind === "symlink")) return true;
    if (iterations.length < limit) return false;
    after = iterations.at(-1)?.iteration ?? 0;
  }
}

async function recorded(on: WorkspaceApi, path: string, options: { limit: number; after: number }) {
  try {
    return await on.history(path, options);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "NOT_FOUND") return [];
    throw error;
  }
}
