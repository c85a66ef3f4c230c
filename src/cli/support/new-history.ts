import { dirname, join, relative } from "node:path";
import type { CoverageShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { Io } from "../../process/io.ts";
import { leftOutText } from "../render/changes.ts";
import { counted } from "../render/counted.ts";
import { printable, shownCommand } from "../../process/printable.ts";

/** What is said when a command began a history by itself: for which folder, how much it is, and what is left out. */
export async function newHistoryLines(workspace: WorkspaceApi, coverage: CoverageShape, io: Io): Promise<string[]> {
  const { items } = await workspace.recent(Number.MAX_SAFE_INTEGER);
  const baseline = items.find((item) => item.kind === "baseline");
  const left = leftOutText(coverage, { shown: printable });
  const size = counted(baseline?.changed ?? 0, "path");
  const not = left === "" ? "" : `; not covered: ${left}`;
  const begun = `chronicle: new history for ${printable(workspace.path)} (${size}${not})`;
  return [begun, ...repositoryLines(workspace.path, io)];
}

/** A history of a part of a git repository was perhaps meant to be of all of it. */
export function repositoryLines(folder: string, io: Io): string[] {
  const disk = new NodeDisk();
  const has = (at: string): boolean => disk.lstat(join(at, ".git")) !== undefined;
  if (has(folder)) return [];
  for (let at = dirname(folder); at !== dirname(at) && at !== io.userHome; at = dirname(at)) {
    if (!has(at)) continue;
    const whole = shownCommand(["chronicle", "-C", relative(io.cwd(), at) || ".", "…"]).replace("'…'", "…");
    return [
      `chronicle: that is a part of the git repository ${printable(at)}: what is elsewhere in it is not recorded; ` +
        `for all of it: ${whole}`,
    ];
  }
  return [];
}
