import { EXIT } from "../../api/problems.ts";
import type { ExplainShape } from "../../api/shapes.ts";
import type { CommandContext } from "../context.ts";
import { printable } from "../render/printable.ts";

function sentence(result: ExplainShape): string {
  const rule = result.pattern === undefined ? result.rule : `${result.rule} ${printable(result.pattern)}`;
  return result.source === undefined ? rule : `${rule} (${printable(result.source)})`;
}

export async function explain(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const results: ExplainShape[] = [];
  for (const typed of context.input.args) results.push(await workspace.explain(await paths.toWorkspace(typed)));
  if (context.json) context.printJson(results.length === 1 ? results[0] : results);
  else {
    const { paint } = context;
    for (const result of results) {
      const verdict = result.tracked ? paint("green", "tracked") : paint("yellow", "not tracked");
      const kept = result.recorded && !result.tracked ? "; recorded already, so it stays tracked" : "";
      context.print(`${paths.shown(result.path)}: ${verdict}, by ${sentence(result)}${kept}`);
    }
  }
  return EXIT.done;
}
