import { dirname, join, relative } from "node:path";
import type { CoverageShape, WorkspaceShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { Io } from "../../process/io.ts";
import { leftOutText } from "../render/changes.ts";
import { counted } from "../render/words.ts";
import { printable, shownCommand } from "../../process/printable.ts";

/**
 * Returns the lines that report a new history: its folder, its size, the paths that are not covered, and its
 * surroundings.
 */
export async function newHistoryLines(
  workspace: WorkspaceApi,
  coverage: CoverageShape,
  { io, all }: { readonly io: Io; readonly all: readonly WorkspaceShape[] },
): Promise<string[]> {
  const { items } = await workspace.recent(Number.MAX_SAFE_INTEGER);
  const baseline = items.find((item) => item.kind === "baseline");
  const left = leftOutText(coverage, { shown: printable });
  const size = counted(baseline?.changed ?? 0, "path");
  const not = left === "" ? "" : `; not covered: ${left}`;
  const begun = `chronicle: new history for ${printable(workspace.path)} (${size}${not})`;
  return [begun, ...surroundingLines(workspace, { io, all })];
}

/**
 * Returns lines about the surroundings of a new history. There are such lines in two cases:
 * - Another history already records the same folder, or a folder that contains it.
 * - The folder is only a part of a git repository, and the rest of the repository is not recorded.
 */
export function surroundingLines(
  { id, path }: Pick<WorkspaceApi, "id" | "path">,
  { io, all }: { readonly io: Io; readonly all: readonly WorkspaceShape[] },
): string[] {
  // For a history of a single file, the place is that file.
  const place = all.find((one) => one.id === id)?.path ?? path;
  const around = all
    .filter((one) => one.id !== id && one.present)
    .flatMap((one) => one.roots.map((root) => ({ id: one.id, root })))
    .filter(({ root }) => root === place || isInside(root, place))
    .sort((a, b) => b.root.length - a.root.length);
  const [nearest] = around;
  if (nearest === undefined) return repositoryLines(path, io);
  const root = printable(nearest.root);
  if (nearest.root === place)
    return [
      `chronicle: workspace ${nearest.id} already records ${root}, and continues to record it; commands there now ` +
        `use the new history; for the other history: chronicle -w ${nearest.id} …; to remove the new one: chronicle ` +
        `forget ${id}`,
    ];
  const meant =
    place === path
      ? `commands in ${printable(path)} now use the new history, and commands elsewhere in ${root} use the other history; ` +
        `for the other history: chronicle -w ${nearest.id} …`
      : `for the new history of that file alone: chronicle -w ${id} …`;
  return [
    `chronicle: this folder lies in ${root}, which workspace ${nearest.id} already records, and continues to ` +
      `record; ${meant}; to remove the new one: chronicle forget ${id}`,
  ];
}

function isInside(folder: string, path: string): boolean {
  return path !== folder && path.startsWith(folder === "/" ? folder : `${folder}/`);
}

/**
 * Returns a line if the folder is only a part of a git repository, because the user may have meant the whole
 * repository.
 */
function repositoryLines(folder: string, io: Io): string[] {
  const disk = new NodeDisk();
  const has = (at: string): boolean => disk.lstat(join(at, ".git")) !== undefined;
  if (has(folder)) return [];
  for (let at = dirname(folder); at !== dirname(at) && at !== io.userHome; at = dirname(at)) {
    if (!has(at)) continue;
    const whole = shownCommand(["chronicle", "-C", relative(io.cwd(), at) || ".", "…"]).replace("'…'", "…");
    return [
      `chronicle: this folder is only a part of the git repository ${printable(at)}; the rest of it is not recorded; ` +
        `to record all of it: ${whole}`,
    ];
  }
  return [];
}
