import type { ResolveOptions } from "../../../api/action-api.ts";
import { EXIT } from "../../../api/problems.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { readUserBytes } from "../../../process/read-json-list.ts";
import { changeLines } from "../../render/changes.ts";
import { usageError } from "../../../process/usage-error.ts";

const HOW = "give one of --keep-current, --take-undo and --merged FILE";

function optionsOf({ input, io }: CommandContext): ResolveOptions {
  const merged = input.text("merged");
  const ways: ResolveOptions[] = [
    ...(input.flag("keepCurrent") ? [{ keep: "current" as const }] : []),
    ...(input.flag("takeUndo") ? [{ keep: "undo" as const }] : []),
    ...(merged === undefined ? [] : [{ keep: "merged" as const, content: readUserBytes(merged, io.cwd()) }]),
  ];
  const [only, second] = ways;
  if (only === undefined) throw usageError("say how to settle the conflict", HOW);
  if (second !== undefined) throw usageError("give only one way to settle the conflict", HOW);
  return only;
}

/**
 * Returns the typed path as a path of the workspace, if this path has an open conflict. Otherwise returns the typed
 * text unchanged, because the text may be a conflict's id.
 */
async function conflictNamed(context: CommandContext, workspace: WorkspaceApi): Promise<string> {
  const typed = context.input.args[0] ?? "";
  try {
    const path = await context.paths(workspace).toWorkspace(typed);
    return (await workspace.conflicts()).some((one) => one.path === path) ? path : typed;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "USAGE") return typed;
    throw error;
  }
}

const SENTENCES: Readonly<Record<ResolveOptions["keep"], string>> = {
  current: "settled: the present state stays",
  undo: "settled: the undo was taken",
  merged: "settled: the merged content was taken",
};

/** The sentences for a conflict of a folder that follows an upstream. */
const OF_SYNC: typeof SENTENCES = {
  current: "settled: the present state goes to the upstream",
  undo: "settled: the upstream's side was taken",
  merged: "settled: the merged content goes to the upstream",
};

export async function resolve(context: CommandContext): Promise<number> {
  const options = optionsOf(context);
  const workspace = await context.workspace({});
  const result = await workspace.resolve(await conflictNamed(context, workspace), options);
  if (context.json) {
    context.printJson(result);
    return EXIT.done;
  }
  const paths = context.paths(workspace);
  const style = { paint: context.paint, shown: (path: string) => paths.shown(path) };
  for (const line of changeLines(result.changes, style)) context.print(line);
  const sentences = result.conflict.cause === "sync" ? OF_SYNC : SENTENCES;
  context.print(`${style.shown(result.conflict.path)}: ${sentences[options.keep]}`);
  if (result.undo_id !== null) context.print(context.paint("dim", context.worded("take it back: chronicle undo")));
  return EXIT.done;
}
