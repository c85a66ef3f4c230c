import type { RestoreShape } from "../api/shapes.ts";
import type { RestoreOptions } from "../api/workspace-api.ts";
import type { Entry } from "../core/entry.ts";
import type { Context } from "./context.ts";
import { fillFolder, meantBy } from "./fill-folder.ts";
import { knownPaths } from "./known-paths.ts";
import { resolveMoment } from "./moments.ts";

/** Fills another, empty folder with the files of a moment; the workspace itself is not touched. */
export async function restoreTo(context: Context, text: string, options: RestoreOptions): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  const isMeant = meantBy(await knownPaths(context, options.paths));
  const entries: Entry[] = [];
  for await (const rows of context.index.entriesAt(moment.seq)) {
    for (const { path, entry } of rows) if (entry !== undefined && isMeant(path)) entries.push(entry);
  }
  return fillFolder(entries, {
    target: () => context.store.emptyWorktree(options.to ?? ""),
    contents: (hashes) => context.blobs.readMany(hashes),
    token: context.newId(),
    options,
  });
}
