import { parsePath, pathInRoot, type WorkspacePath } from "../core/path.ts";

/**
 * A path as a caller gives it: relative to the first root, or `@<root id>:<path>`; a trailing slash is allowed, and `.`
 * is the root. Throws `PATH_INVALID`.
 */
export function parseGivenPath(text: string): WorkspacePath {
  const match = /^@([a-z0-9-]+):(.*)$/s.exec(text);
  const inner = (match?.[2] ?? text).replace(/\/+$/, "").replace(/^(?:\.\/)+/, "");
  return pathInRoot(match?.[1], parsePath(inner === "." ? "" : inner));
}
