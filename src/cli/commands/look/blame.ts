import type { UserPaths } from "../../../process/user-path.ts";
import { EXIT } from "../../../api/problems.ts";
import type { BlameOptions, BlameShape } from "../../../api/file-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { withCandidates } from "../../support/find-file.ts";
import { originCells } from "../../render/origins.ts";
import { columns } from "../../render/columns.ts";
import { printable, printableText } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { optional } from "../../../util/optional.ts";

/** Parses `10`, `10,20`, `10,` and `10,+5`: the first line, and the last one or the number of lines. */
function linesIn(range: string | undefined): Pick<BlameOptions, "fromLine" | "toLine"> {
  if (range === undefined) return {};
  const match = /^(\d{1,9})(?:(,)(?:(\+?)(\d{1,9}))?)?$/.exec(range);
  const fromLine = Number(match?.[1] ?? 0);
  if (match === null || fromLine < 1)
    throw usageError(
      `not lines of a file: ${range}`,
      "give them as 10, 10,20 (from, to), 10,+5 (from, how many) or 10,",
    );
  const [, , comma, plus, second] = match;
  if (second === undefined) return comma === undefined ? { fromLine, toLine: fromLine } : { fromLine };
  const toLine = plus === "+" ? fromLine + Number(second) - 1 : Number(second);
  if (toLine < fromLine) throw usageError(`not lines of a file: ${range}`, "the last line comes after the first");
  return { fromLine, toLine };
}

/** Returns one line for each line of the file. A column without an entry is left out. */
function blameLines(context: CommandContext, { path, lines, origins }: BlameShape, paths: UserPaths): string[] {
  const { paint, io } = context;
  const heads = origins.map((origin) => {
    const [id, who, turn, when] = originCells(origin, io.now());
    const from = origin.path === path ? "" : paths.shown(origin.path);
    return [paint("yellow", id), paint("cyan", printable(who)), paint("dim", turn), from, paint("dim", when)];
  });
  const isUsed = [0, 1, 2, 3, 4].map((at) => origins.some((_, i) => (heads[i]?.[at] ?? "") !== paint("dim", "")));
  const shown = columns(
    lines.map(({ origin, line }) => [
      ...(heads[origin] ?? []).filter((_, at) => isUsed[at]),
      paint("dim", String(line)),
    ]),
    "<".repeat(isUsed.filter(Boolean).length) + ">",
  );
  const escape = io.out.isTerminal;
  return lines.map(({ text }, i) => `${shown[i]}  ${escape ? printableText(text) : text}`.trimEnd());
}

export async function blame(context: CommandContext): Promise<number> {
  const { input } = context;
  const range = linesIn(input.text("lines"));
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const path = await paths.toWorkspace(input.args[0] ?? "");
  const at = input.text("at");
  const found = await workspace.blame(path, { ...range, ...optional({ at }) }).catch(async (error: unknown) => {
    // A path that only did not exist at the moment is named by the engine's own error.
    const isUnknown = error instanceof ChronicleError && error.data["candidates"] !== undefined;
    throw isUnknown ? await withCandidates(workspace, error, paths) : error;
  });
  if (context.json) {
    context.printJson(found);
    return EXIT.done;
  }
  for (const line of blameLines(context, found, paths)) context.print(line);
  if (found.deleted === true) context.say("the file is deleted; these are the lines of its last content");
  if (found.total_lines === 0) context.say("the file is empty");
  for (const note of found.notes) context.say(printable(note));
  if (context.io.err.isTerminal && found.origins.some(({ action }) => action !== undefined))
    context.say(context.paintErr("dim", context.worded("chronicle changes --action ID -p shows the whole change")));
  return EXIT.done;
}
