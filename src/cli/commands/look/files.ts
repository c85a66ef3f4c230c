import { posix } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import type { FileListShape, FileShape, ListFilesOptions } from "../../../api/file-api.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { isUnknownPath } from "../../support/find-file.ts";
import { modeText } from "../../render/changes.ts";
import { columns } from "../../render/columns.ts";
import { optional } from "../../../util/optional.ts";

const LETTERS = { file: "-", symlink: "l", dir: "d" } as const;

/** Lists the entries beneath a folder; for a file, only that file. */
async function listed(
  workspace: WorkspaceApi,
  path: string | undefined,
  how: ListFilesOptions,
): Promise<FileListShape> {
  if (path === undefined) return workspace.files(how);
  try {
    return await workspace.files({ ...how, path });
  } catch (error) {
    if (!isUnknownPath(error)) throw error;
    const { at } = how;
    const beside = await workspace.files({ depth: 1, ...parentOf(path), ...optional({ at }) }).catch(() => undefined);
    const file = beside?.files.find((one) => one.path === path && one.kind !== "dir");
    if (beside === undefined || file === undefined) throw error;
    return { seq: beside.seq, files: [file], next: null };
  }
}

function parentOf(path: string): Pick<ListFilesOptions, "path"> {
  const folder = posix.dirname(path);
  return folder === "." ? {} : { path: folder };
}

export async function files(context: CommandContext): Promise<number> {
  const { input, paint } = context;
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const [typed] = input.args;
  const [depth, at] = [input.number("depth"), input.text("at")];
  const path = typed === undefined ? undefined : await paths.toWorkspace(typed);
  const result = await listed(workspace, path, {
    ...optional({ depth, at }),
  });
  if (context.json) {
    context.printJson(result);
    return EXIT.done;
  }
  const row = (file: FileShape): string[] => [
    `${LETTERS[file.kind]} ${modeText(file.permissions)}`,
    file.kind === "dir" ? "" : formatBytes(file.size),
    paint("dim", file.hash.slice(0, 12)),
    paint("dim", `@${file.iteration}`),
    paths.shown(file.path),
  ];
  for (const line of columns(result.files.map(row), "<><>")) context.print(line);
  if (result.files.length === 0) context.say("no files are recorded here");
  return EXIT.done;
}
