import { splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { isGitName } from "../../core/filter/git-name.ts";
import type { WriteBackEntry, WriteBackReason, WriteBackRules } from "../../core/records/write-back.ts";
import type { TrackedRoot } from "../../worktree/worktree.ts";
import { tooLong } from "../write/writable-path.ts";

/** The maximum length of a link's target, in bytes (PATH_MAX of Linux). */
const MAX_TARGET_BYTES = 4_095;

/** Returns the reason to refuse an entry for its path, kind or size; `undefined` if there is none. */
export function refusalOf(
  { path, entry }: Pick<WriteBackEntry, "path" | "entry">,
  roots: readonly TrackedRoot[],
  { filter, maxBytes = Infinity }: WriteBackRules,
): WriteBackReason | undefined {
  const root = roots.find(({ id }) => id === undefined);
  if (root === undefined || !isWritable(path, root)) return "path";
  // A deletion does not name the kind of the entry that it deletes, so the filter is asked about a file.
  const subject = { path, kind: entry?.kind ?? "file", ...(entry === undefined ? {} : { size: entry.size }) };
  if (filter?.passes(subject, "from-replica") === false) return "filtered";
  if (entry?.kind === "symlink") return entry.size > 0 && entry.size <= MAX_TARGET_BYTES ? undefined : "path";
  const { maxFileSize } = root.limits;
  const most = Math.min(maxBytes, maxFileSize === 0 ? Infinity : maxFileSize);
  return (entry?.size ?? 0) > most ? "too-large" : undefined;
}

/**
 * True if a replica may write to the path. No replica may write to further roots, because they are folders on the
 * origin's machine that replicas do not have.
 */
function isWritable(path: WorkspacePath, { only, folder }: TrackedRoot): boolean {
  const { root, path: inner } = splitRoot(path);
  const names = inner.split("/");
  // In a folder on disk, the folder's own rules decide whether a `.git` is git's own state.
  const isOwn = (name: string): boolean => name === ".git" && folder !== "";
  if (names.some((name) => isGitName(name) && !isOwn(name))) return false;
  return root === undefined && inner !== "" && (only === undefined || only === inner) && tooLong(path) === undefined;
}
