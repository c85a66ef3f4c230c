import type { CommandContext } from "../context.ts";
import { hookCommand } from "../hooking/hook-command.ts";

export function hook({ io, input }: CommandContext): Promise<number> {
  return hookCommand(io, {
    agent: input.args[0] ?? "",
    strict: input.flag("strict"),
    direct: input.flag("direct"),
    store: input.text("store"),
  });
}
