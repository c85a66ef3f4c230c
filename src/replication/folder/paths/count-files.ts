import { catchUp } from "../../../engine/log/catch-up.ts";
import type { Context } from "../../../engine/log/context.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

/** Counts the recorded files and links of a folder that it shares with its origin. */
export async function countFiles(context: Context, rules: Pick<ReplicatedPaths, "isShared">): Promise<number> {
  await catchUp(context, { recover: false });
  const { seq } = await context.index.head();
  let count = 0;
  for await (const rows of context.index.entriesAt(seq)) {
    count += rows.filter(
      ({ path, entry }) => entry !== undefined && entry.kind !== "dir" && rules.isShared(path, false),
    ).length;
  }
  return count;
}
