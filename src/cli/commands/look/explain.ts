import { join } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import type { ExplainShape } from "../../../api/shapes.ts";
import { NodeDisk } from "../../../disk/node-disk.ts";
import type { CommandContext } from "../../support/context.ts";
import { printable } from "../../../process/printable.ts";

const INCLUDING: ReadonlySet<string> = new Set(["default", "force-include", "git-index"]);

function ruleText(result: ExplainShape): string {
  if (result.rule === "default") return "nothing leaves it out";
  if (result.rule === "staging") return "a name that begins with .chronicle-tmp is Chronicle's own, and never recorded";
  const rule = result.pattern === undefined ? result.rule : `${result.rule} ${printable(result.pattern)}`;
  const whole = result.source === undefined ? rule : `${rule} (${printable(result.source)})`;
  return result.rule === "git-index"
    ? `git tracks it, although ${whole.replace("git-index", "gitignore")} names it`
    : whole;
}

function leftOutText(recorded: boolean, { reason, detail }: NonNullable<ExplainShape["omitted"]>): string {
  // The detail of `special` names the kind of the file, or the link in its path.
  if (reason === "special") return `: ${printable(detail)}`;
  if (reason === "off-record") return `${recorded ? " as it is now" : ""}: off the record: ${detail}`;
  const why = `${reason}${detail === "" ? "" : ` (${printable(detail)})`}`;
  return recorded ? ` as it is now: ${why}; what was recorded before is kept` : `: ${why}`;
}

/**
 * Returns `something` if a path of the workspace exists on disk, and `nothing` if it does not. Also returns `something`
 * if this cannot be checked: for a path in another root (`@id:`), for a path written as `base64:…`, and for a folder on
 * another machine. `folder`: the folder of the workspace; empty if the workspace has no folder.
 */
function thereNow(context: CommandContext, path: string, folder: string): "something" | "nothing" {
  if (folder === "") return "nothing";
  if (/^(?:@[a-z0-9][a-z0-9-]*:|base64:)/.test(path) || context.remote !== undefined) return "something";
  return new NodeDisk().lstat(join(folder, path)) === undefined ? "nothing" : "something";
}

function sentence(result: ExplainShape, context: CommandContext, folder: string): string {
  const { paint } = context;
  if (result.omitted !== undefined)
    return `${paint("yellow", "not tracked")}${leftOutText(result.recorded, result.omitted)}`;
  const there = thereNow(context, result.path, folder);
  if (!result.recorded && result.tracked && there === "nothing")
    return `the path does not exist, and is not recorded; it would be tracked: ${ruleText(result)}`;
  if (!result.tracked) return `${paint("yellow", "not tracked")}: ${ruleText(result)}`;
  const tracked = paint("green", "tracked");
  if (INCLUDING.has(result.rule)) return `${tracked}: ${ruleText(result)}`;
  return `${tracked}: it is recorded already; a new path would be left out by ${ruleText(result)}`;
}

export async function explain(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const results: ExplainShape[] = [];
  for (const typed of context.input.args) results.push(await workspace.explain(await paths.toWorkspace(typed)));
  if (context.json) context.printJson(results.length === 1 ? results[0] : results);
  else {
    for (const result of results)
      context.print(`${paths.shown(result.path)}: ${sentence(result, context, workspace.path)}`);
  }
  return EXIT.done;
}
