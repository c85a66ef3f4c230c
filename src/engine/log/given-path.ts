import { parsePath, pathFromBytes, pathInRoot, type WorkspacePath } from "../../core/values/path.ts";

/**
 * Parses a path as a caller gives it: relative to the first root, or `@<root id>:<path>`; a trailing slash is allowed,
 * and `.` is the root. A name that is not UTF-8 is given as `base64:<bytes>` (a file that is really called so:
 * `./base64:…`). Throws `PATH_INVALID`.
 */
export function parseGivenPath(text: string): WorkspacePath {
  const match = /^@([a-z0-9-]+):(.*)$/s.exec(text);
  const given = match?.[2] ?? text;
  if (given.startsWith("base64:")) return pathInRoot(match?.[1], pathFromBytes(Buffer.from(given.slice(7), "base64")));
  const inner = given.replace(/\/+$/, "").replace(/^(?:\.\/)+/, "");
  return pathInRoot(match?.[1], parsePath(inner === "." ? "" : inner));
}
