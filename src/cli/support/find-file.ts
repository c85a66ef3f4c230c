import { basename } from "node:path";
import type { SkippedShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { quotePath } from "../../core/shell/quote-command.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { UserPaths } from "../../process/user-path.ts";
import { optional } from "../../util/optional.ts";
import { closestTo } from "../render/closest.ts";

/** The maximum number of paths that an error lists. */
const MOST_CANDIDATES = 10;
/** The maximum number of edited paths that the engine names in an error. */
const MOST_NAMED = 8;

/**
 * Returns recorded paths with the same file name, including those of deleted files. If there are none, returns similar
 * paths of the last snapshot, or else the paths of the last snapshot that have a similar file name.
 */
async function candidatesFor(workspace: WorkspaceApi, path: string): Promise<string[]> {
  if (path === "") return [];
  const named = await workspace.find(basename(path));
  if (named.length > 0) return named.slice(0, MOST_CANDIDATES);
  const recorded = Object.keys((await workspace.manifest("latest")).files);
  const similar = closestTo(path, recorded, 3);
  if (similar.length > 0) return similar;
  const names = new Map(recorded.map((known) => [basename(known), known]));
  return closestTo(basename(path), [...names.keys()], 3).map((name) => names.get(name) ?? name);
}

/** Writes paths of the workspace as the user would type them. */
type ShownPaths = Pick<UserPaths, "shown">;

/**
 * Returns the error for a path that is not recorded. The hint lists similar paths. The error for a deleted path names
 * the command that lists the path's states.
 */
export async function notRecorded(
  workspace: WorkspaceApi,
  { typed, path }: { readonly typed: string; readonly path: string },
  paths: ShownPaths,
): Promise<ChronicleError> {
  const candidates = await candidatesFor(workspace, path);
  const data = { path, candidates };
  if (candidates.includes(path)) {
    const hint = `it was deleted: \`chronicle history ${quotePath(typed)}\` lists its states`;
    return new ChronicleError("NOT_FOUND", `${typed} is not there any more`, { hint, data });
  }
  const hint =
    candidates.length === 0
      ? "see what is recorded with: chronicle manifest"
      : ["recorded (perhaps deleted):", ...candidates.map((known) => `  ${paths.shown(known)}`)].join("\n");
  return new ChronicleError("NOT_FOUND", `${typed === "" ? "." : typed} was never recorded here`, { hint, data });
}

/**
 * Replaces the engine's error about an unknown path by an error that lists possible paths. Returns other errors
 * unchanged.
 */
export async function withCandidates(workspace: WorkspaceApi, error: unknown, paths: ShownPaths): Promise<unknown> {
  if (!isUnknownPath(error) || !(error instanceof ChronicleError)) return error;
  const { path, excluded } = error.data;
  if (typeof path !== "string" || excluded !== undefined) return error;
  return notRecorded(workspace, { typed: paths.shown(path), path }, paths);
}

/**
 * In the message of an error about edited paths (`data.edited`), the engine writes the paths relative to the
 * workspace's root. Returns the error with the paths as the user would type them. Returns other errors unchanged.
 */
export function withEditedShown(error: unknown, paths: ShownPaths): unknown {
  if (!(error instanceof ChronicleError) || !Array.isArray(error.data["edited"])) return error;
  const edited = error.data["edited"] as readonly SkippedShape[];
  const { code, message, hint, data } = error;
  const named = edited.slice(0, MOST_NAMED).map((one) => one.path);
  const shown = named.map((path) => paths.shown(path)).join(", ");
  const text = message.replace(named.join(", "), () => shown);
  return new ChronicleError(code, text, { ...optional({ hint }), data, cause: error });
}

/** True for `NOT_FOUND`, the code of the engine's error for an unknown path. */
export function isUnknownPath(error: unknown): boolean {
  return error instanceof ChronicleError && error.code === "NOT_FOUND";
}
