import { EXIT } from "../../../api/problems.ts";
import type { DiffShape } from "../../../api/shapes.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { withCandidates } from "../../support/find-file.ts";
import type { Input } from "../../../process/input.ts";
import { changeLines, countsOf } from "../../render/changes.ts";
import { patchLines, statLines } from "../../render/patch.ts";
import type { UserPaths } from "../../../process/user-path.ts";

/** Reads up to two moments before `--`; everything else is a path. */
function readArguments(input: Input): { from: string; to: string; typed: readonly string[] } {
  const [from = "latest", to = "now", ...more] = input.before;
  return { from, to, typed: [...more, ...input.after] };
}

function linesOf(context: CommandContext, result: DiffShape, paths: UserPaths): string[] {
  const { paint, input, io } = context;
  const shown = (path: string) => paths.shown(path);
  if (input.flag("patch")) return patchLines(result.changes, { paint, escape: io.out.isTerminal });
  const lines = input.flag("stat")
    ? statLines(result.changes, { paint, shown })
    : changeLines(result.changes, { paint, shown });
  return [...lines, countsOf(result.changes) === "nothing" ? "no difference" : countsOf(result.changes)];
}

/** Adds a hint to the error for an unknown moment: it may have been meant as a path. */
function withPathHint(error: unknown, input: Input): unknown {
  const known =
    error instanceof ChronicleError && ["NOT_FOUND", "USAGE"].includes(error.code) && error.data["path"] === undefined;
  if (!known || input.before.length === 0) return error;
  const { code, message, data, hint } = error;
  const more = "to compare a path, write -- before it: chronicle diff -- PATH";
  return new ChronicleError(code, message, {
    data,
    hint: hint === undefined ? more : `${hint}\n${more}`,
    cause: error,
  });
}

export async function diff(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const { input } = context;
  const { from, to, typed } = readArguments(input);
  const wanted = await Promise.all(typed.map((path) => paths.toWorkspace(path)));
  const patch = input.flag("patch") || input.flag("stat");
  try {
    const result = await workspace.diff(from, to, { patch, ...(wanted.length === 0 ? {} : { paths: wanted }) });
    if (context.json) context.printJson(result);
    else for (const line of linesOf(context, result, paths)) context.print(line);
  } catch (error) {
    throw withPathHint(await withCandidates(workspace, error), input);
  }
  return EXIT.done;
}
