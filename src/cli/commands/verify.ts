import { EXIT } from "../../api/problems.ts";
import type { VerifyShape } from "../../api/shapes.ts";
import { formatBytes } from "../../core/duration.ts";
import type { CommandContext } from "../context.ts";
import { readUserFile } from "../read-json-list.ts";
import { columns } from "../render/columns.ts";
import { counted } from "../render/counted.ts";
import { printable } from "../render/printable.ts";

async function expectedHead(context: CommandContext): Promise<string | undefined> {
  const file = context.input.text("expect");
  if (file === undefined) return undefined;
  return file === "-" ? context.io.readStdin() : readUserFile(file, context.io.cwd());
}

function printResult(context: CommandContext, result: VerifyShape): void {
  const { paint } = context;
  const rows = result.problems.map((problem) => [
    paint("red", problem.kind),
    printable(problem.where),
    printable(problem.detail),
  ]);
  for (const line of columns(rows)) context.print(line);
  for (const note of result.notes) context.print(paint("yellow", `note: ${printable(note)}`));
  const rate =
    result.seconds > 0 ? `, ${Math.round(result.events / result.seconds).toLocaleString("en-US")} events/s` : "";
  const size = `${counted(result.events, "event")}, ${counted(result.blobs, "blob")}, ${formatBytes(result.bytes)}`;
  const verdict = result.ok
    ? paint("green", "ok")
    : paint("red", `DAMAGED: ${counted(result.problems.length, "problem")}`);
  context.print(`${verdict}: ${size} in ${result.seconds.toFixed(2)} s${rate}`);
  if (result.anchored_to !== null) context.print(`held to the signed head at seq ${result.anchored_to}`);
  else if (result.ok) context.print("no signed head was found to hold the log to");
}

export async function verify(context: CommandContext): Promise<number> {
  const expect = await expectedHead(context);
  const workspace = await context.reading();
  const result = await workspace.verify({
    quick: context.input.flag("quick"),
    ...(expect === undefined ? {} : { expect }),
    ...context.progress(),
  });
  if (context.json) context.printJson(result);
  else printResult(context, result);
  return result.ok ? EXIT.done : EXIT.damaged;
}
