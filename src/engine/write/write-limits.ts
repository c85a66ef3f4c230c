import type { Change } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Context } from "../log/context.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { rootOf } from "./ready-write.ts";

/** The number of recorded paths, and the total size of their contents in bytes. */
export interface Tally {
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Returns the tally after the changes. Throws `LIMIT_EXCEEDED` if the changes raise the tally, and the new tally is
 * above a limit of the root that contains `path`.
 */
export function talliedAfter(
  context: Context,
  { path }: { readonly path: WorkspacePath },
  { changes, tally }: { readonly changes: readonly Change[]; readonly tally: Tally },
): Tally {
  let { entries, bytes } = tally;
  for (const { before, after } of changes) {
    entries += Number(after !== undefined) - Number(before !== undefined);
    bytes += (after?.size ?? 0) - (before?.size ?? 0);
  }
  const { maxEntries, maxBytes } = rootOf(context, path).limits;
  if (maxEntries > 0 && entries > maxEntries && entries > tally.entries)
    throw exceeded("maxEntries", maxEntries, entries);
  if (maxBytes > 0 && bytes > maxBytes && bytes > tally.bytes) throw exceeded("maxBytes", maxBytes, bytes);
  return { entries, bytes };
}

function exceeded(limit: "maxEntries" | "maxBytes", allowed: number, found: number): ChronicleError {
  const what = limit === "maxEntries" ? "paths" : "bytes";
  return new ChronicleError("LIMIT_EXCEEDED", `the workspace would hold ${found} ${what}: ${limit} is ${allowed}`, {
    hint: `delete what is not needed, or raise that limit with \`chronicle config ${limit}\``,
    data: { limit, allowed, found },
  });
}
