import type { FileShape } from "../file-api.ts";
import { optional } from "../../util/optional.ts";

/** A request's headers of Chronicle's own. */
export const ACTING = {
  /** Who acts, where the server may let the caller say so: `WorkspaceApi.as`. */
  actor: "chronicle-actor",
  /** The program on whose behalf. */
  client: "chronicle-client",
  /** `agent`: ask for no more than an agent may. */
  role: "chronicle-role",
} as const;

/** Sent with the value `commands` by whoever has the command line at hand: hints may name its commands. */
export const HINTS_HEADER = "chronicle-hints";
export const WITH_COMMANDS = "commands";

const KINDS = ["file", "symlink", "dir"] as const;

/** The headers that say what `file` is, beside the `ETag`, which is its hash. Its path is percent-encoded. */
export function contentHeaders(file: FileShape): Record<string, string> {
  return {
    "chronicle-path": encodeURIComponent(file.path),
    ...(file.path_b64 === undefined ? {} : { "chronicle-path-b64": file.path_b64 }),
    "chronicle-kind": file.kind,
    "chronicle-size": String(file.size),
    "chronicle-permissions": String(file.permissions),
    "chronicle-mtime-ms": String(file.mtime_ms),
    "chronicle-iteration": String(file.iteration),
    "chronicle-seq": String(file.seq),
  };
}

/** What the headers say, by a function that gives the one with a name; `undefined` where they are not all there. */
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
    iteration: number("iteration"),
    seq: number("seq"),
  };
}
