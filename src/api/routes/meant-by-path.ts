import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import { virtualPath } from "./virtual-path.ts";

/** Which of the three things a GET of `files/…` may mean, and the path that it is about. */
export interface FileRequest {
  readonly operation: "readFile" | "fileHistory" | "fileAtIteration";
  /** For the row: `path`, and `n` for an iteration. */
  readonly params: Readonly<Record<string, string>>;
}

/** What `as` says beside `content`. */
const SAID: Readonly<Record<string, FileRequest["operation"]>> = {
  history: "fileHistory",
  iteration: "fileAtIteration",
};

/** What a virtual path means. */
function virtualMeaning(rest: string): FileRequest | undefined {
  const virtual = virtualPath(rest);
  if (virtual === undefined) return undefined;
  const { path } = virtual;
  if (virtual.kind === "history") return { operation: "fileHistory", params: { path } };
  return { operation: "fileAtIteration", params: { path, n: String(virtual.iteration) } };
}

/** What `x/history` and `x/at/3` may mean; `undefined`: a content and nothing else. */
function otherMeaning(rest: string): FileRequest | undefined {
  const history = /^(.+)\/history$/s.exec(rest)?.[1];
  if (history !== undefined) return { operation: "fileHistory", params: { path: history } };
  const [, path, n] = /^(.+)\/at\/(\d+|last)$/s.exec(rest) ?? [];
  if (path === undefined || n === undefined) return undefined;
  return { operation: "fileAtIteration", params: { path, n } };
}

/**
 * What a GET of `files/<rest>` means. `as` (`content`, `history`, `iteration`) settles it. Without it, `x/history` is
 * the history of `x` where `x` was ever recorded as a file or a link, or where no file is called so. A virtual path is
 * one in any case, unless `as` says that a file which is called so is meant.
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
