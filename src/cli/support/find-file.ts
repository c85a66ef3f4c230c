import { basename } from "node:path";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { closestTo } from "../render/closest.ts";

/** The maximum number of paths that an error lists. */
const MOST_CANDIDATES = 10;

/**
 * Returns recorded paths with the same file name, including those of deleted files. If there are none, returns similar
 * paths of the last snapshot, or else its paths with a similar file name.
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

export async function notRecorded(workspace: WorkspaceApi, typed: string, path: string): Promise<ChronicleError> {
  const candidates = await candidatesFor(workspace, path);
  const hint =
    candidates.length === 0
      ? "see what is recorded with: chronicle manifest"
      : ["recorded (perhaps deleted):", ...candidates.map((known) => `  ${known}`)].join("\n");
  return new ChronicleError("NOT_FOUND", `${typed === "" ? "." : typed} was never recorded here`, {
    hint,
    data: { path, candidates },
  });
}

/**
 * Replaces the engine's error about an unknown path by an error that lists possible paths. Returns other errors
 * unchanged.
 */
export async function withCandidates(workspace: WorkspaceApi, error: unknown): Promise<unknown> {
  if (!isUnknownPath(error) || !(error instanceof ChronicleError)) return error;
  const { path, excluded } = error.data;
  return typeof path !== "string" || excluded !== undefined ? error : notRecorded(workspace, path, path);
}

/** True for `NOT_FOUND`, which is the code of the engine's error for an unknown path. */
export function isUnknownPath(error: unknown): boolean {
  return error instanceof ChronicleError && error.code === "NOT_FOUND";
}
