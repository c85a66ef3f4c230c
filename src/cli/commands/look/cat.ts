import { EXIT } from "../../../api/problems.ts";
import type { ContentStream, WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { quotePath } from "../../../core/shell/quote-command.ts";
import type { CommandContext } from "../../support/context.ts";
import { isUnknownPath, notRecorded } from "../../support/find-file.ts";
import type { Input } from "../../../process/input.ts";

/** Reads `notes.txt@3` as the third iteration. With `--iteration` the whole text is a path. */
function readTarget(input: Input): { typed: string; iteration: number | undefined } {
  const text = input.args[0] ?? "";
  const iteration = input.number("iteration");
  const match = iteration === undefined ? /^(.+)@(\d+)$/s.exec(text) : null;
  if (match?.[1] === undefined) return { typed: text, iteration };
  return { typed: match[1], iteration: Number(match[2]) };
}

async function isRecorded(workspace: WorkspaceApi, path: string): Promise<boolean> {
  try {
    return (await workspace.history(path)).length > 0;
  } catch (error) {
    if (!isUnknownPath(error)) throw error;
    return false;
  }
}

/** A file as typed, and its meaning. */
interface Target {
  readonly typed: string;
  readonly path: string;
  readonly iteration: number | undefined;
}

async function open(workspace: WorkspaceApi, target: Target): Promise<ContentStream> {
  try {
    return await workspace.cat(target.path, target.iteration);
  } catch (error) {
    if (!(error instanceof ChronicleError) || !isUnknownPath(error)) throw error;
    if (await isRecorded(workspace, target.path)) {
      // The engine names paths from the workspace's root, but the user may be in another folder.
      const hint = `\`chronicle history ${quotePath(target.typed)}\` lists them`;
      throw new ChronicleError(error.code, error.message, { hint, data: error.data, cause: error });
    }
    throw await notRecorded(workspace, target.typed, target.path);
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
  const { typed, iteration } = readTarget(context.input);
  const path = await context.paths(workspace).toWorkspace(typed);
  const content = await open(workspace, { typed, path, iteration });
  if (context.json) await printAsJson(context, content);
  else {
    for await (const piece of content.pieces()) {
      if (context.io.out.broken) break;
      await context.io.out.writeBytes(piece);
    }
  }
  return EXIT.done;
}
