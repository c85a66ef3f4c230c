import { resolve } from "node:path";
import type { CommandContext } from "../../support/context.ts";
import { isUnknownPath, withCandidates } from "../../support/find-file.ts";
import { conditionOf, reportWrite } from "../../support/report-write.ts";
import type { PutFileOptions } from "../../../api/file-api.ts";
import { errnoOf } from "../../../core/values/errors.ts";
import { printable } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { filePieces } from "../../../disk/file-pieces.ts";
import { NodeDisk } from "../../../disk/node-disk.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { quotePath } from "../../../core/shell/quote-command.ts";

export async function mv(context: CommandContext): Promise<number> {
  const { input } = context;
  const [from = "", to = ""] = input.args;
  const workspace = await context.workspace({});
  const paths = context.paths(workspace);
  const options = { ...conditionOf(context), overwrite: input.flag("overwrite") };
  const [source, target] = [await paths.toWorkspace(from), await paths.toWorkspace(to)];
  try {
    return await reportWrite(context, workspace, await workspace.moveFile(source, target, options));
  } catch (error) {
    throw await withCandidates(workspace, error, paths);
  }
}

/**
 * The maximum size, in bytes, of a content that is read into memory. Such a content can be sent again after a lost
 * connection. Larger contents are streamed.
 */
const MAX_HELD = 1024 * 1024;

function permissionsOf({ input }: CommandContext): Pick<PutFileOptions, "permissions"> {
  const text = input.text("mode");
  if (text === undefined) return {};
  if (!/^0?[0-7]{3}$/.test(text))
    throw usageError(`--mode: '${printable(text)}' is no valid value`, "give permissions in octal, such as 644 or 755");
  return { permissions: Number.parseInt(text, 8) };
}

/** Yields the content of a file, or of stdin if `file` is `-`. Throws `USAGE` for a file that cannot be read. */
async function* contentOf({ io }: CommandContext, file: string): AsyncIterable<Uint8Array> {
  if (file === "-") {
    for await (const piece of io.streams().input)
      yield typeof piece === "string" ? Buffer.from(piece) : (piece as Buffer);
    return;
  }
  try {
    yield* filePieces(new NodeDisk(), resolve(io.cwd(), file));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    throw usageError(`cannot read ${file}: ${errno}`, "name a file that can be read");
  }
}

async function wholeOrPieces(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const iterator = pieces[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  for (let size = 0; size <= MAX_HELD;) {
    const { done, value } = await iterator.next();
    if (done === true) return Buffer.concat(held);
    held.push(value);
    size += value.length;
  }
  return joined(held, iterator);
}

async function* joined(held: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  yield* held;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

export async function put(context: CommandContext): Promise<number> {
  const [typed = "", file = "-"] = context.input.args;
  const options = { ...permissionsOf(context), ...conditionOf(context) };
  if (file === "-" && context.io.stdinIsTerminal) context.say("reading what is typed here; Ctrl-D ends it");
  // The beginning of the content is read before the workspace is opened, so that an unreadable file is reported even if
  // there is no workspace.
  const content = await wholeOrPieces(contentOf(context, file));
  const workspace = await context.workspace({});
  const path = await context.paths(workspace).toWorkspace(typed);
  return await reportWrite(context, workspace, await workspace.putFile(path, content, options));
}

/**
 * Throws `USAGE` if the path is a folder, so that a typing error does not delete a folder. In a workspace with a
 * folder, the present state of the path is recorded first.
 */
async function refuseFolder(workspace: WorkspaceApi, path: string, typed: string): Promise<void> {
  // The path on disk may be new, or may have become a folder since it was last recorded.
  if (workspace.path !== "") await workspace.record([path]);
  const found = await workspace.file(path).catch((error: unknown) => {
    // An unknown path is no error here, because `deleteFile` throws the same error. If an earlier try of this command
    // has deleted the path, `deleteFile` returns the result of that try instead.
    if (!isUnknownPath(error)) throw error;
    return undefined;
  });
  if (found?.kind === "dir")
    throw usageError(`${typed} is a folder`, `to delete it with everything in it: chronicle rm -r ${quotePath(typed)}`);
}

export async function rm(context: CommandContext): Promise<number> {
  const [typed = ""] = context.input.args;
  const workspace = await context.workspace({});
  const paths = context.paths(workspace);
  const path = await paths.toWorkspace(typed);
  try {
    if (!context.input.flag("recursive")) await refuseFolder(workspace, path, typed);
    return await reportWrite(context, workspace, await workspace.deleteFile(path, conditionOf(context)));
  } catch (error) {
    throw await withCandidates(workspace, error, paths);
  }
}
