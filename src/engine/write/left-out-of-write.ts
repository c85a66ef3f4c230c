import { ChronicleError } from "../../core/values/errors.ts";
import { childOf, foldersAbove, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { Verdict } from "../../core/filter/filter.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { PathStat } from "../../worktree/worktree.ts";
import { isGitState } from "../capture/git-state.ts";
import { personalRules } from "../capture/kept-trees.ts";
import type { Context } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";
import { notThere } from "./plan-write.ts";
import type { ReadyWrite } from "./ready-write.ts";

// This module decides how writes treat files that the rules leave out. A write through Chronicle records the files that
// it replaces, so that they can be brought back. Everybody who may read the history can then read these files.
// Therefore, an agent's write never records a file that the rules leave out. A person's write records a file that a
// person excluded only if the write names the file, and is a put or a move.

/**
 * A path that a write names. In a list of places, the first is the path to write, move or delete, and the second is the
 * new path of a move.
 */
export interface PlaceOfWrite {
  readonly path: WorkspacePath;
  /** The verdict of the rules on the path. */
  readonly verdict: Verdict | undefined;
  readonly stat: PathStat;
}

/**
 * Refuses a write that would touch unrecorded files on disk that the rules leave out, in these cases:
 * - An agent's write names such a file, which an agent cannot read. Throws `NOT_FOUND` if the write would move or
 *   delete the file, and `REFUSED` if the write would replace the file.
 * - A person's write would delete a file that a person excluded. Throws `REFUSED`.
 * - A person's write would move or delete a folder that holds a file that a person excluded. Throws `REFUSED`. A move
 *   is allowed if the rules leave out the folder itself, and not only files in the folder.
 */
export async function refuseLeftOut(
  context: Context,
  write: ReadyWrite,
  places: readonly PlaceOfWrite[],
): Promise<void> {
  if (write.kind === "folder") return;
  for (const { path, verdict, stat } of places) {
    if (verdict?.tracked !== false || stat === undefined || (await isRecorded(context, path))) continue;
    const isSource = write.kind !== "put" && path === write.path;
    if (isAgents(write)) throw isSource ? notThere(path) : inTheWay(path);
    if (isSource && write.kind === "delete") refuseExcluded(context, path, stat);
  }
  const [{ stat, verdict } = {}] = places;
  const isFolder = typeof stat === "object" && stat.kind === "dir";
  // A person who moves an excluded folder itself also means all files in the folder.
  const isMeant = write.kind === "move" && verdict?.tracked === false;
  if (write.kind !== "put" && isFolder && !isAgents(write) && !isMeant)
    await refuseExcludedBeneath(context, write.path);
}

export function isAgents({ by }: ReadyWrite): boolean {
  return by.caller.role === "agent";
}

/**
 * Returns the omissions that prevent a write, because an undo could not bring their files back. If an agent moves or
 * deletes a folder, the excluded files in this folder stay where they are, and do not prevent the write. Throws
 * `REFUSED` if the write would move or delete a `.gitignore` that may exclude a staying file.
 */
export async function hinderingWrite(
  context: Context,
  write: ReadyWrite,
  omitted: readonly Omission[],
): Promise<readonly Omission[]> {
  if (!isAgents(write) || write.kind === "put" || write.kind === "folder") return omitted;
  const stays = (one: Omission): boolean =>
    one.reason === "excluded" && !isGitState(one) && one.path !== write.path && isWithin(one.path, write.path);
  await refuseRulesLeaving(context, write.path, omitted.filter(stays));
  return omitted.filter((one) => !stays(one));
}

/**
 * Throws `REFUSED` if `folder` has a `.gitignore` above a staying file. The `.gitignore` would be moved or deleted with
 * the folder, and the next capture could then record the staying file.
 */
async function refuseRulesLeaving(
  context: Context,
  folder: WorkspacePath,
  staying: readonly Omission[],
): Promise<void> {
  const known = new Map<WorkspacePath, boolean>();
  for (const { path } of staying) {
    for (const above of foldersAbove(path)) {
      if (!isWithin(above, folder)) break;
      if (!known.has(above)) known.set(above, await holdsRules(context, above));
      if (known.get(above) === true) throw rulesLeave(path, childOf(above, ".gitignore"));
    }
  }
}

async function holdsRules({ worktree }: Context, folder: WorkspacePath): Promise<boolean> {
  const [stat] = await worktree.stats([childOf(folder, ".gitignore")]);
  return stat !== undefined;
}

/** Refuses a folder with an unrecorded file that a person excluded. The contents of files are not read. */
async function refuseExcludedBeneath(context: Context, folder: WorkspacePath): Promise<void> {
  const { worktree } = context;
  if (worktree.roots.every(({ filter }) => filter.excludePatterns.length + filter.excludeGlobs.length === 0)) return;
  const byPerson = personalRules(context);
  await worktree.scan({ only: [folder], named: true }, async (batch) => {
    for (const { path, stat } of batch) {
      const rule = byPerson(path, stat.kind === "dir");
      if (rule !== undefined && !(await isRecorded(context, path))) throw excluded(path, rule);
    }
  });
}

function refuseExcluded(context: Context, path: WorkspacePath, stat: PathStat): void {
  const rule = personalRules(context)(path, typeof stat === "object" && stat.kind === "dir");
  if (rule !== undefined) throw excluded(path, rule);
}

async function isRecorded({ index }: Context, path: WorkspacePath): Promise<boolean> {
  const { seq } = await index.head();
  return (await index.iterationAt(path, seq))?.entry !== undefined;
}

function excluded(path: WorkspacePath, rule: string): ChronicleError {
  return refusal(path, `is left out on purpose (${rule}), so the history could not bring it back`, {
    hint: "remove or move it by hand, or change the rule: `chronicle config`",
    reason: "excluded",
  });
}

function inTheWay(path: WorkspacePath): ChronicleError {
  return refusal(path, "already exists on disk, and the rules of the workspace leave it out", {
    hint: "choose another name",
    reason: "excluded",
  });
}

function rulesLeave(path: WorkspacePath, rules: WorkspacePath): ChronicleError {
  return refusal(
    path,
    `would stay in place, but ${shownPath(rules)}, whose rules may leave it out, would be moved or deleted`,
    {
      hint: "move or delete the files one by one, and keep the ignore file",
      reason: "excluded",
    },
  );
}

function refusal(
  path: WorkspacePath,
  why: string,
  { hint, reason }: { readonly hint: string; readonly reason: string },
): ChronicleError {
  const shown = shownPath(path);
  return new ChronicleError("REFUSED", `${JSON.stringify(shown)} ${why}: nothing was changed`, {
    hint,
    data: { path: shown, reason },
  });
}
