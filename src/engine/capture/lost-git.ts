import type { Aside } from "../../core/records/aside.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { GitState } from "../../core/records/git-record.ts";
import type { Entry } from "../../core/values/entry.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { withBatch } from "../../storage/blob-store.ts";
import type { KeepLost } from "../../worktree/git-states.ts";
import type { LoggedAction, Session } from "../facts/actions.ts";
import { erasedContents } from "../facts/contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { gitStatesIn } from "../log/git-plans.ts";
import { beyondPrivateRoom, privateRoom } from "../log/private-room.ts";
import { shownPath } from "../log/shape.ts";
import { GIT_STATE } from "./git-state.ts";
import { gitTrouble } from "./git-work.ts";
import { keepFile } from "./kept-trees.ts";

/**
 * A command can remove a git folder although its command line does not show this. Therefore, `keepGit` links or copies
 * the git objects into a private folder of the store when the work begins. If the git folder is gone at the end of the
 * work, these objects become contents of the store. The objects are not stored earlier, because hardly any work removes
 * a git folder.
 */

/** The git folders that some work has removed or replaced. */
export interface LostGitFolders {
  /**
   * The git folders that can be brought back as a whole. They have the form of omitted folders that were kept aside.
   */
  readonly trees: readonly Omission[];
  readonly entries: ReadonlyMap<WorkspacePath, Entry>;
  readonly notes: readonly string[];
}

export const NOTHING_LOST: LostGitFolders = { trees: [], entries: new Map(), notes: [] };

/**
 * Finds the git folders that some work has removed or replaced, and stores the contents that were kept of them when the
 * work began. `git`: the blob with the states of git at the beginning of the work. `isKept`: returns true for a folder
 * to skip, for example because all of it was kept aside before the work. As for `keepAside`, the contents are durable
 * when the promise resolves, and the caller must hold a lease of the blob store until the record that names them is
 * durable.
 */
export async function lostGit(
  context: Context,
  git: Aside | undefined,
  isKept: (path: WorkspacePath) => boolean | Promise<boolean>,
): Promise<LostGitFolders> {
  if (git === undefined) return NOTHING_LOST;
  try {
    const states = await gitStatesIn(context, git.plan);
    return states === undefined ? NOTHING_LOST : await storeLost(context, states, isKept);
  } catch (error) {
    return { ...NOTHING_LOST, notes: [`a git folder that was removed cannot be brought back: ${gitTrouble(error)}`] };
  }
}

/**
 * Finds the git folders that are gone after a session or action whose end was not observed. A replaced folder is left
 * alone, because a person may have made the new folder since.
 */
export async function lostUnseen(
  context: Context,
  { git, aside }: Pick<Session | LoggedAction, "git" | "aside">,
): Promise<LostGitFolders> {
  if (git === undefined) return NOTHING_LOST;
  const plan = aside === undefined ? undefined : await context.blobs.get(aside.plan);
  const kept = plan === undefined ? [] : decodePlan(plan);
  const isKept = (path: WorkspacePath): boolean => kept.some((one) => isWithin(one.path, path));
  return lostGit(context, git, async (path) => isKept(path) || (await context.worktree.stats([path]))[0] !== undefined);
}

async function storeLost(
  context: Context,
  states: readonly GitState[],
  isKept: (path: WorkspacePath) => boolean | Promise<boolean>,
): Promise<LostGitFolders> {
  const erased = await erasedContents(context);
  return withBatch(context.blobs, async (batch) => {
    let room = privateRoom(context);
    const keep: KeepLost = {
      refusal: (bytes) => {
        if (bytes > room) return `its contents need ${beyondPrivateRoom(context)}`;
        room -= bytes;
        return undefined;
      },
      contentOf: (hash) => context.blobs.get(hash),
      content: (content) => batch.put(content),
      file: (pieces, { size }) => keepFile(context, batch, { pieces, size, erased, quota: {} }),
    };
    const trees: Omission[] = [];
    const entries = new Map<WorkspacePath, Entry>();
    const notes: string[] = [];
    for (const state of states) {
      const lost = (await isKept(state.path)) ? undefined : await context.git.lost(state, keep);
      if (lost === undefined) continue;
      if ("problem" in lost) {
        notes.push(`${shownPath(state.path)} was removed, and cannot be brought back: ${lost.problem}`);
        continue;
      }
      trees.push({ path: state.path, ...GIT_STATE });
      for (const [path, entry] of lost.entries) {
        if (entry.hash === undefined || !erased.has(entry.hash)) entries.set(path, entry);
      }
    }
    return { trees, entries, notes };
  });
}
