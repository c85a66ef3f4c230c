import { EXIT } from "../../../api/problems.ts";
import type { ConfigShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { configChange, configKey, isListKey } from "../../support/config-value.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";

function shown(value: ConfigShape[keyof ConfigShape]): string {
  return Array.isArray(value) ? value.map(printable).join("  ") : String(value);
}

function wantedChange(context: CommandContext, key: keyof ConfigShape | undefined): Partial<ConfigShape> | undefined {
  const values = context.input.args.slice(1);
  const clear = context.input.flag("clear");
  if (clear && (key === undefined || !isListKey(key) || values.length > 0)) {
    throw usageError("--clear takes the key of a list and no values", "chronicle config excludePatterns --clear");
  }
  if (key === undefined || (values.length === 0 && !clear)) return undefined;
  return configChange(key, values);
}

async function printRetention(context: CommandContext, workspace: WorkspaceApi): Promise<void> {
  const { sources, ...limits } = await workspace.retention();
  const rows = Object.entries(sources).map(([name, source]) => {
    return [name, String(limits[name as keyof typeof limits]), context.paint("dim", printable(source))];
  });
  context.print();
  for (const line of columns(rows)) context.print(line);
}

export async function config(context: CommandContext): Promise<number> {
  const [typed] = context.input.args;
  const key = typed === undefined ? undefined : configKey(typed);
  const change = wantedChange(context, key);
  const workspace = await (change === undefined ? context.reading() : context.workspace({}));
  const result = change === undefined ? await workspace.config() : await workspace.configure(change);
  if (context.json)
    context.printJson(key === undefined ? { ...result, retention: await workspace.retention() } : result);
  else if (key !== undefined && change === undefined) {
    const value = result[key];
    for (const line of Array.isArray(value) ? value : [String(value)]) context.print(printable(line));
  } else {
    const rows = Object.entries(result).map(([name, value]) => [name, shown(value)]);
    for (const line of columns(rows)) context.print(line);
    if (key === undefined) await printRetention(context, workspace);
  }
  return EXIT.done;
}
