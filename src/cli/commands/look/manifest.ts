import { EXIT } from "../../../api/problems.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { modeText } from "../../render/changes.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";

const LETTERS = { file: "-", symlink: "l", dir: "d" } as const;

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
