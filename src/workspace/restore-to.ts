import type { RestoreShape } from "../api/shapes.ts";
import type { RestoreOptions } from "../api/workspace-api.ts";
import type { Context } from "./context.ts";
import { fillFolder, meantBy } from "./fill-folder.ts";
import { knownPaths } from "./known-paths.ts";
import { resolveMoment } from "./moments.ts";
import { provedEntries } from "./proved-entries.ts";

/** Fills another, empty folder with the files of a moment; the workspace itself is not touched. */
export async function restoreTo(context: Context, text: string, options: RestoreOptions): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  const isMeant = meantBy(await knownPaths(context, options.paths));
  const entries = (await provedEntries(context, moment.seq)).filter(({ path }) => isMeant(path));
  return fillFolder(entries, {
    target: () => context.store.emptyWorktree(options.to ?? ""),
    contents: (hashes) => context.blobs.readMany(hashes),
    token: context.newId(),
    options,
  });
}
