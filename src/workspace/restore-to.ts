import type { RestoreShape } from "../api/shapes.ts";
import type { RestoreOptions } from "../api/workspace-api.ts";
import type { Context } from "./context.ts";
import { refused } from "./change-files.ts";
import { fillFolder, meantBy } from "./fill-folder.ts";
import { withoutContent } from "./foresee.ts";
import { knownPaths } from "./known-paths.ts";
import { resolveMoment } from "./moments.ts";
import { orForced } from "./or-forced.ts";
import { provedEntries } from "./proved-entries.ts";

/** Fills another, empty folder with the files of a moment; the workspace itself is not touched. */
export async function restoreTo(context: Context, text: string, options: RestoreOptions): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  const isMeant = meantBy(await knownPaths(context, options.paths));
  const entries = (await provedEntries(context, moment.seq)).filter(({ path }) => isMeant(path));
  const missing = await withoutContent(
    context,
    entries.map((after) => ({ path: after.path, before: undefined, after })),
  );
  return orForced(options, async (force) => {
    if (missing.length > 0 && !force) throw refused(missing);
    return fillFolder(entries, {
      look: () => context.store.refuseFilled(options.to ?? ""),
      missing,
      target: () => context.store.emptyWorktree(options.to ?? ""),
      contents: (hashes) => context.blobs.readMany(hashes),
      token: context.newId(),
      options: { ...options, force },
    });
  });
}
