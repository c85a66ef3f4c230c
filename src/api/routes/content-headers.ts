import type { FileShape } from "../file-api.ts";
import { optional } from "../../util/optional.ts";

/** The names of the request headers for the actor, the program and the role of a request. */
export const ACTING = {
  /** The actor of the request. The server decides whether this caller may name an actor (see `WorkspaceApi.as`). */
  actor: "chronicle-actor",
  /** The name of the program that asks. */
  client: "chronicle-client",
  /** `agent`: the request has at most the rights of an agent. */
  role: "chronicle-role",
} as const;

/**
 * Requests of the command line have this header, with the value `WITH_COMMANDS`. Hints in the answer may then name
 * commands.
 */
export const HINTS_HEADER = "chronicle-hints";
export const WITH_COMMANDS = "commands";

const KINDS = ["file", "symlink", "dir"] as const;

/** Returns the headers that describe `file`, except for the `ETag`. The path is percent-encoded. */
export function contentHeaders(file: FileShape): Record<string, string> {
  return {
    "chronicle-path": encodeURIComponent(file.path),
    ...(file.path_b64 === undefined ? {} : { "chronicle-path-b64": file.path_b64 }),
    "chronicle-kind": file.kind,
    "chronicle-size": String(file.size),
    "chronicle-permissions": String(file.permissions),
    "chronicle-mtime-ms": String(file.mtime_ms),
    ...(file.mtime_ns === undefined ? {} : { "chronicle-mtime-ns": String(file.mtime_ns) }),
    "chronicle-iteration": String(file.iteration),
    "chronicle-seq": String(file.seq),
  };
}

/** Returns the file in the headers of a reply; `undefined` if the headers have no path or no known kind. */
export function fileOfHeaders(header: (name: string) => string | undefined): FileShape | undefined {
  const kind = KINDS.find((one) => one === header("chronicle-kind"));
  const shown = header("chronicle-path");
  if (kind === undefined || shown === undefined) return undefined;
  const exact = header("chronicle-path-b64");
  const number = (name: string): number => Number(header(`chronicle-${name}`));
  return {
    path: decodeURIComponent(shown),
    ...optional({ path_b64: exact }),
    kind,
    size: number("size"),
    hash: /^(?:W\/)?"([^"]*)"$/.exec(header("etag") ?? "")?.[1] ?? "",
    permissions: number("permissions"),
    mtime_ms: number("mtime-ms"),
    ...(header("chronicle-mtime-ns") === undefined ? {} : { mtime_ns: number("mtime-ns") }),
    iteration: number("iteration"),
    seq: number("seq"),
  };
}
