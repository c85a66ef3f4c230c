import type { RecentItem } from "../../api/recent-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { localMinute } from "../../process/local-zone.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";
import { optional } from "../../util/optional.ts";
import type { CommandContext } from "./context.ts";

/** The maximum number of items that are read. */
const MOST = 200;

/**
 * The kinds of items that do not count as work. A baseline or a snapshot changes no file. The work that an undo or a
 * redo inverts is an item of its own.
 */
const NO_WORK: ReadonlySet<RecentItem["kind"]> = new Set(["baseline", "snapshot", "undo", "redo"]);

/**
 * Returns a warning if `moment` is `latest` and work was recorded after the last snapshot, because a user may take
 * `latest` for the last recorded state. Returns `undefined` in all other cases, for several paths, and with `--json`.
 * `paths`: the path that the work must have changed; empty for any path.
 */
export async function laterWork(
  context: CommandContext,
  workspace: WorkspaceApi,
  { moment, paths = [] }: { readonly moment: string; readonly paths?: readonly string[] | undefined },
): Promise<string | undefined> {
  const [file] = paths;
  if (context.json || paths.length > 1 || moment !== "latest") return undefined;
  const last = (await workspace.snapshots()).at(-1);
  if (last === undefined) return undefined;
  const items = await itemsSince(workspace, last.seq, optional({ file }));
  const work = items.filter((one) => one.changed > 0 && one.undone !== true && !NO_WORK.has(one.kind));
  if (work.length === 0) return undefined;
  const many = items.length < MOST ? groupedDigits(work.length) : `at least ${groupedDigits(work.length)}`;
  const what = work.length === 1 ? "later piece of work is" : "later pieces of work are";
  const from = localMinute(last.timestamp, context.io.now());
  return `the last snapshot is from ${from}; ${many} ${what} taken back with it`;
}

/**
 * Returns the recorded work after the event `seq`. If the events up to `seq` were dropped, returns all remaining work,
 * because all of it is later.
 */
async function itemsSince(
  workspace: WorkspaceApi,
  seq: number,
  about: { readonly file?: string },
): Promise<readonly RecentItem[]> {
  try {
    return (await workspace.recent(MOST, { since: `seq:${seq}`, ...about })).items;
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "PRUNED") throw error;
    return (await workspace.recent(MOST, about)).items;
  }
}
