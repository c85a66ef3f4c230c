import type { RefusedPathShape } from "../../../api/sync-api.ts";
import { comparePaths, type WorkspacePath } from "../../../core/values/path.ts";
import type { WriteBackReason } from "../../../core/records/write-back.ts";
import { exactPath, shownPath } from "../../../engine/log/shape.ts";

/**
 * The refusal of a path's change. The change is not sent again until the path changes again, or until a retry is
 * requested.
 */
export interface Refusal {
  readonly reason: WriteBackReason;
  readonly isDeletion: boolean;
  /** Set if this side has refused the change itself, without sending it to the origin. */
  readonly unheard?: true;
}

const MOST_NAMED = 20;

/** Returns the first `most` paths, in path order, each with the reason of its refusal and a hint for people. */
export function refusedPaths(refused: ReadonlyMap<WorkspacePath, Refusal>, most = MOST_NAMED): RefusedPathShape[] {
  const sorted = [...refused].toSorted(([a], [b]) => comparePaths(a, b));
  return sorted.slice(0, most).map(([path, refusal]) => ({
    path: shownPath(path),
    ...exactPath(path),
    reason: refusal.reason,
    ...wordsFor(refusal),
  }));
}

type Words = Pick<RefusedPathShape, "why" | "hint">;

const RESUME = "then `chronicle sync resume` sends it again";

const WORDS: Readonly<Partial<Record<WriteBackReason, Words>>> = {
  path: {
    why: "it cannot be written at the origin: its name is not accepted there, something else is in its place, its folder cannot be read, or it belongs to git",
    hint: `move or rename it here; or remove the obstacle in the origin's folder, ${RESUME}`,
  },
  filtered: {
    why: "a filter of the origin excludes it",
    hint: "to have it there as well, change the rules of the origin",
  },
  "read-only": {
    why: "the origin's history can only be read at present, or the token may only read",
    hint: "see `chronicle status` there: once it can be written again, the change is sent again after some time, or at once by `chronicle sync resume`; or start the sync again with another token",
  },
  "too-large": {
    why: "it is larger than the origin accepts",
    hint: `raise the limit at the origin (\`chronicle config maxFileSize\` there), ${RESUME}`,
  },
  "hash-mismatch": {
    why: "its content arrived there with another hash",
    hint: "`chronicle sync resume` sends it again",
  },
  "content-missing": {
    why: "its content is not here any more",
    hint: "save the file again: its new content is sent then",
  },
  erased: {
    why: "the origin has erased its content",
    hint: `change or remove the file; or bring the content back at the origin (\`chronicle unerase\` there), ${RESUME}`,
  },
};

const KEPT_THERE: Words = {
  why: "the origin cannot delete it: something lies there that its history does not record",
  hint: `remove it in the origin's folder (\`chronicle explain\` says why it is not recorded), ${RESUME}`,
};

const NOT_SENT: Words = {
  why: "its name cannot be sent: it is too long, or other systems take it for an absolute path",
  hint: "rename it here",
};

function wordsFor({ reason, isDeletion, unheard }: Refusal): Words {
  if (unheard === true) return NOT_SENT;
  if (reason === "path" && isDeletion) return KEPT_THERE;
  return WORDS[reason] ?? { why: `the origin refuses it (${reason})`, hint: RESUME_ANYHOW };
}

const RESUME_ANYHOW = "`chronicle sync resume` sends it again";
