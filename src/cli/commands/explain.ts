import { EXIT } from "../../api/problems.ts";
import type { ExplainShape } from "../../api/shapes.ts";
import type { CommandContext } from "../context.ts";
import { printable } from "../render/printable.ts";

/** Rules that take a path in. */
const FOR: ReadonlySet<string> = new Set(["default", "force-include"]);

function ruleText(result: ExplainShape): string {
  if (result.rule === "default") return "nothing leaves it out";
  const rule = result.pattern === undefined ? result.rule : `${result.rule} ${printable(result.pattern)}`;
  return result.source === undefined ? rule : `${rule} (${printable(result.source)})`;
}

function sentence(result: ExplainShape, { paint }: CommandContext): string {
  if (!result.tracked) return `${paint("yellow", "not tracked")}: ${ruleText(result)}`;
  const tracked = paint("green", "tracked");
  if (FOR.has(result.rule)) return `${tracked}: ${ruleText(result)}`;
  return `${tracked}: it is recorded already; a new path would be left out by ${ruleText(result)}`;
}

export async function explain(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const results: ExplainShape[] = [];
  for (const typed of context.input.args) results.push(await workspace.explain(await paths.toWorkspace(typed)));
  if (context.json) context.printJson(results.length === 1 ? results[0] : results);
  else for (const result of results) context.print(`${paths.shown(result.path)}: ${sentence(result, context)}`);
  return EXIT.done;
}
