import type { UserPaths } from "../../../process/user-path.ts";
import { posix } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { modeText } from "../../render/changes.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";
import type { ContentStream, WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { quotePath } from "../../../core/shell/quote-command.ts";
import { isUnknownPath, notRecorded } from "../../support/find-file.ts";
import type { FileListShape, FileShape, ListFilesOptions } from "../../../api/file-api.ts";
import { optional } from "../../../util/optional.ts";

const LETTERS = { file: "-", symlink: "l", dir: "d" } as const;

/**
 * Returns the recorded files beneath a folder (default: all recorded files). If the path is a file, returns only this
 * file. Throws the engine's error for an unknown path.
 */
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

export async function manifest(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const result = await workspace.manifest(context.input.args[0] ?? "latest");
  if (context.json) {
    context.printJson(result);
    return EXIT.done;
  }
  const { paint } = context;
  context.print(`snapshot ${result.number}  ${paint("dim", result.id)}  ${result.timestamp}`);
  context.print(`root     ${result.root}`);
  const rows = Object.entries(result.files).map(([path, file]) => [
    `${LETTERS[file.kind]} ${modeText(file.permissions)}`,
    file.kind === "dir" ? "" : formatBytes(file.size),
    paint("dim", file.hash.slice(0, 12)),
    path === "" ? "." : printable(path),
  ]);
  for (const line of columns(rows, "<>")) context.print(line);
  return EXIT.done;
}

/**
 * Parses the argument. `notes.txt@3` is the third iteration of `notes.txt`. With `--iteration`, the whole argument is
 * the path. The whole argument is also the path if `notes.txt@3` was recorded as a path and `notes.txt` was not.
 */
async function readTarget(context: CommandContext, workspace: WorkspaceApi): Promise<Target> {
  const { input } = context;
  const text = input.args[0] ?? "";
  const iteration = input.number("iteration");
  const paths = context.paths(workspace);
  const match = iteration === undefined ? /^(.+)@(\d+)$/s.exec(text) : null;
  const whole = async (): Promise<Target> => ({ typed: text, path: await paths.toWorkspace(text), iteration });
  if (match?.[1] === undefined) return whole();
  const before = { typed: match[1], path: await paths.toWorkspace(match[1]), iteration: Number(match[2]) };
  if (await isRecorded(workspace, before.path)) return before;
  const literal = await whole();
  return (await isRecorded(workspace, literal.path)) ? literal : before;
}

async function isRecorded(workspace: WorkspaceApi, path: string): Promise<boolean> {
  try {
    return (await workspace.history(path, { limit: 1 })).length > 0;
  } catch (error) {
    if (!isUnknownPath(error)) throw error;
    return false;
  }
}

interface Target {
  readonly typed: string;
  readonly path: string;
  readonly iteration: number | undefined;
}

async function open(workspace: WorkspaceApi, target: Target, paths: UserPaths): Promise<ContentStream> {
  try {
    return await workspace.cat(target.path, target.iteration);
  } catch (error) {
    if (!(error instanceof ChronicleError) || !isUnknownPath(error)) throw error;
    if (await isRecorded(workspace, target.path)) {
      // The path is recorded, but has no such iteration. The engine's hint is replaced, because the hint has the path
      // relative to the workspace's root, while the user may be in another folder.
      const hint = `\`chronicle history ${quotePath(target.typed)}\` lists its iterations`;
      throw new ChronicleError(error.code, error.message, { hint, data: error.data, cause: error });
    }
    throw await notRecorded(workspace, target, paths);
  }
}

async function printAsJson(context: CommandContext, content: ContentStream): Promise<void> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content.pieces()) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  const text = bytes.toString("utf8");
  const isText = Buffer.from(text).equals(bytes);
  const { path, iteration, size, hash, kind } = content;
  const encoding = isText ? "utf8" : "base64";
  const shown = isText ? text : bytes.toString("base64");
  context.printJson({ path, iteration, size, hash, kind, encoding, content: shown });
}

export async function cat(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const content = await open(workspace, await readTarget(context, workspace), context.paths(workspace));
  if (context.json) await printAsJson(context, content);
  else {
    for await (const piece of content.pieces()) {
      if (context.io.out.broken) break;
      await context.io.out.writeBytes(piece);
    }
  }
  return EXIT.done;
}
