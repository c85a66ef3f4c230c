import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspaceApi } from "../workspace-api.ts";

interface FileRequest {
  readonly operation: "readFile" | "fileHistory" | "fileAtIteration";
  readonly params: Readonly<Record<string, string>>;
}

/** Maps each value of `as`, except for `content`, to its operation. */
const OPERATION_OF: Readonly<Record<string, FileRequest["operation"]>> = {
  history: "fileHistory",
  iteration: "fileAtIteration",
};

function virtualMeaning(rest: string): FileRequest | undefined {
  const virtual = virtualPath(rest);
  if (virtual === undefined) return undefined;
  const { path } = virtual;
  if (virtual.kind === "history") return { operation: "fileHistory", params: { path } };
  return { operation: "fileAtIteration", params: { path, n: String(virtual.iteration) } };
}

/**
 * Returns the operation that a path of the form `x/history` or `x/at/3` may request. Returns `undefined` for other
 * paths, because they can only request a content.
 */
function otherMeaning(rest: string): FileRequest | undefined {
  const history = /^(.+)\/history$/s.exec(rest)?.[1];
  if (history !== undefined) return { operation: "fileHistory", params: { path: history } };
  const [, path, n] = /^(.+)\/at\/(\d+|last)$/s.exec(rest) ?? [];
  if (path === undefined || n === undefined) return undefined;
  return { operation: "fileAtIteration", params: { path, n } };
}

/**
 * Returns the operation that a GET of `files/<rest>` requests.
 *
 * A path such as `x/history` or `x/at/3` is ambiguous: it can be a file, or it can request the history or an iteration
 * of `x`. `as` (`content`, `history`, `iteration`) decides. Without `as`, the path requests the content of the file
 * `x/history` only if `x/history` was ever recorded as a file or link and `x` never was.
 *
 * A virtual path has the meaning that `virtualPath` returns. There are two exceptions. If `as` is `content`, the path
 * requests the content of a file. If the virtual path also has the form `x/history` or `x/at/3`, and `as` requests this
 * form, `as` decides.
 */
export async function meantByPath(on: WorkspaceApi, rest: string, as?: string): Promise<FileRequest> {
  const content: FileRequest = { operation: "readFile", params: { path: rest } };
  if (as === "content") return content;
  const other = otherMeaning(rest);
  if (as !== undefined && other !== undefined && other.operation === OPERATION_OF[as]) return other;
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

type VirtualPath =
  | { readonly kind: "history"; readonly path: string }
  | { readonly kind: "iteration"; readonly path: string; readonly iteration: number | "last" };

/**
 * Parses a virtual path; returns `undefined` for any other path. Clients that can only read files use virtual paths to
 * read the past. `.chronicle/query/<path>` is the history of a path as JSON. `.chronicle/at/<n>/<path>` is the path's
 * content at iteration n (or `last`). Only these two forms, at the root of a workspace, are virtual. Any other path in
 * a folder `.chronicle` is an ordinary file.
 */
export function virtualPath(given: string): VirtualPath | undefined {
  const asked = /^\.chronicle\/query\/(.+)$/s.exec(given)?.[1];
  if (asked !== undefined) return { kind: "history", path: asked };
  const [, n, path] = /^\.chronicle\/at\/([1-9]\d{0,14}|last)\/(.+)$/s.exec(given) ?? [];
  if (n === undefined || path === undefined) return undefined;
  return { kind: "iteration", path, iteration: n === "last" ? n : Number(n) };
}

/**
 * Returns `path` if it may be written. Throws `REFUSED` for a virtual path, because a read of that path would not
 * return the written file.
 */
export function refuseVirtual(path: string): string {
  if (virtualPath(path) === undefined) return path;
  throw new ChronicleError(
    "REFUSED",
    `${path} is a virtual path, at which the past is read: nothing can be written there`,
    {
      hint: "choose another path",
      data: { path },
    },
  );
}
