import { tellOfTimes } from "../capture/operate.ts";
import type { RestoreShape } from "../../api/shapes.ts";
import type { RestoreOptions } from "../../api/workspace-api.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import { orForced, refused } from "../capture/refused.ts";
import { fillFolder, meantBy, withoutGit, withoutPaths } from "../capture/fill-folder.ts";
import { withoutContent, withoutSoundContent } from "../facts/foresee.ts";
import { knownPaths } from "../log/known-paths.ts";
import { resolveMoment } from "../read/moments.ts";
import { leaveErased, refuseAllErased } from "../capture/leave-erased.ts";
import { isHosted } from "../log/hosted.ts";
import { secretsAmong } from "../state/protected.ts";
import { provedEntries } from "../state/proved-entries.ts";
import { skippedShape } from "../log/shape.ts";

/** Fills another, empty folder with the files of a moment; the workspace itself is not touched. Secrets go to people only. */
export async function restoreTo(context: Context, text: string, options: RestoreOptions): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  const asked = await knownPaths(context, options.paths);
  const isMeant = meantBy(asked);
  const meant = (await provedEntries(context, moment.seq)).filter(({ path }) => isMeant(path));
  const { entries: all, skipped } = await withoutGit(meant, asked, (path) => isOwn(context, path));
  const whole = all.map((after) => ({ path: after.path, before: undefined, after }));
  const { changes, erased } = await leaveErased(context, whole);
  refuseAllErased(changes, erased);
  const left = new Set(erased.map(({ path }) => path));
  const entries = all.filter(({ path }) => !left.has(path));
  const withheld = context.caller.role === "agent" ? await secretsAmong(context, entries, moment.seq) : [];
  // A dry run checks the contents itself; otherwise they are read as they are restored.
  const find = options.dryRun === true ? withoutSoundContent : withoutContent;
  const missing = await find(
    context,
    withoutPaths(entries, withheld).map((after) => ({ path: after.path, before: undefined, after })),
  );
  return orForced(options, async (force) => {
    if (missing.length > 0 && !force) throw refused(missing);
    const filled = await fillFolder(entries, {
      look: () => context.store.refuseFilled(options.to ?? ""),
      missing,
      withheld,
      target: () => context.store.emptyWorktree(options.to ?? ""),
      contents: (hashes) => context.blobs.readMany(hashes),
      token: context.newId(),
      options: { ...options, force },
    });
    if (options.keepMtime === true) tellOfTimes(context, whole);
    return { ...filled, skipped: [...skipped, ...erased.map(skippedShape), ...filled.skipped] };
  });
}

/** True if the folder's rules do not say that the path is git's. A hosted workspace has no such rules: false. */
async function isOwn({ worktree }: Context, path: WorkspacePath): Promise<boolean> {
  return !isHosted(worktree.roots) && (await worktree.explain(path)).rule !== "git";
}
