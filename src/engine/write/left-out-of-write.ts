import { ChronicleError } from "../../core/values/errors.ts";
import { childOf, foldersAbove, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { Explanation, PathStat } from "../../worktree/worktree.ts";
import { isGitState } from "../capture/git-state.ts";
import { personalRules } from "../capture/kept-trees.ts";
import type { Context } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";
import { notThere } from "./plan-write.ts";
import type { ReadyWrite } from "./ready-write.ts";

/**
 * Writes and the files that the rules leave out. A write through Chronicle records what it replaces, so that it can be
 * brought back: whoever reads the history then reads it. An agent has none of these files recorded; a person has none
 * recorded that a person excluded, unless a write names it itself.
 */

/** A path of a write, as it is on the disk. */
export interface PlaceOfWrite {
  readonly path: WorkspacePath;
  readonly verdict: Explanation | undefined;
  readonly stat: PathStat;
}

/**
 * Refuses a write that names a path which the rules leave out and the record does not have. For an agent nothing is
 * there, as in its reads: `NOT_FOUND` for what it would move or delete, `REFUSED` for a file that it would replace.
 * Throws `REFUSED` for a person who would delete what a person excluded, or a folder that holds such.
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
  // A move of an excluded folder itself means all of it.
  const isMeant = write.kind === "move" && verdict?.tracked === false;
  if (write.kind !== "put" && isFolder && !isAgents(write) && !isMeant)
    await refuseExcludedBeneath(context, write.path);
}

/** True if a write has none of the files recorded that the rules leave out. */
export function isAgents({ by }: ReadyWrite): boolean {
  return by.caller.role === "agent";
}

/**
 * Returns the omissions for which a write is refused: the files could not be brought back. A folder that an agent moves
 * or deletes leaves behind what the rules keep out of it. Throws `REFUSED` if the rules would leave with the folder.
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
 * Throws `REFUSED` if an ignore file in the folder, which would leave with it, is about files that stay: the next
 * capture would record them.
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

/** Refuses a folder that holds what a person excluded. The contents are not read. */
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
  return refusal(path, `is left out on purpose (${rule}), so it cannot be brought back`, {
    hint: "remove or move it by hand, or change the rule: `chronicle config`",
    reason: "excluded",
  });
}

function inTheWay(path: WorkspacePath): ChronicleError {
  return refusal(path, "is there, and the rules leave it out", { hint: "choose another name", reason: "excluded" });
}

function rulesLeave(path: WorkspacePath, rules: WorkspacePath): ChronicleError {
  return refusal(path, `stays, and ${shownPath(rules)}, which leaves it out, would not`, {
    hint: "move or delete the files one by one, and let the ignore file stay",
    reason: "excluded",
  });
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
