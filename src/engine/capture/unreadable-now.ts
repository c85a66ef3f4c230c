import type { Omission, OmissionReason } from "../../core/records/coverage.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import { type SkippedPath, unseenPath } from "./seen-absent.ts";

/** Omissions by which the record goes on with an earlier state of the path. */
const KEEPS_EARLIER: ReadonlySet<OmissionReason> = new Set([
  "unreadable",
  "too-large",
  "over-limit",
  "unstable",
  "name-too-long",
  "erased",
]);

/**
 * The paths that are to come back to the state after event `seq` and of which a scan could not take what is there now. They
 * stay: nothing shows that they are in that state already, and their content could not be recorded first.
 */
export async function unreadableNow(
  context: Context,
  { omitted, seq }: { readonly omitted: readonly Omission[]; readonly seq: number },
  isWanted: (path: WorkspacePath) => boolean,
): Promise<SkippedPath[]> {
  const found: SkippedPath[] = [];
  for (const { path, reason, detail } of omitted) {
    if (!KEEPS_EARLIER.has(reason) || !isWanted(path)) continue;
    const { entry } = (await context.index.iterationAt(path, seq)) ?? {};
    if (entry === undefined) continue;
    const why = [reason.replaceAll("-", " "), ...(detail === undefined ? [] : [detail])].join(", ");
    found.push(unseenPath(path, `it could not be recorded as it is now (${why}), so it stays`));
  }
  return found;
}
