import { isWithin, ROOT, type WorkspacePath } from "../../core/values/path.ts";

/** The most that is kept of one tool's paths outside. */
export interface OutsideLimits {
  readonly maxFileSize: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
}

export const OUTSIDE_LIMITS: OutsideLimits = {
  maxFileSize: 2 * 1024 ** 3,
  maxEntries: 50_000,
  maxBytes: 4 * 1024 ** 3,
};

/** Folders in which the system presents itself as files. */
const SYSTEM = ["proc", "sys", "dev"] as readonly string[] as readonly WorkspacePath[];

/** True if a path outside belongs to the system, or is everything. */
export function isSystemPath(path: WorkspacePath): boolean {
  return path === ROOT || SYSTEM.some((folder) => isWithin(path, folder));
}

/** Returns an absolute path as one beneath `/`. */
export function beneathSlash(absolute: string): WorkspacePath {
  return absolute.replace(/^\/+/, "") as WorkspacePath;
}
