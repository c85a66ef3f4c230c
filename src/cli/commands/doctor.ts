import { EXIT } from "../../api/problems.ts";
import type { CommandContext } from "../context.ts";
import { printable } from "../render/printable.ts";

export async function doctor(context: CommandContext): Promise<number> {
  const store = await context.store();
  const result = await store.doctor();
  if (context.json) context.printJson(result);
  else {
    const { paint } = context;
    context.print(`store ${printable(result.store)}`);
    for (const check of result.checks) {
      const mark = check.ok ? paint("green", "ok  ") : paint("red", "BAD ");
      context.print(`${mark} ${printable(check.name)}: ${printable(check.detail)}`);
      if (!check.ok && check.hint !== undefined) context.print(`       ${printable(check.hint)}`);
    }
  }
  return result.ok ? EXIT.done : EXIT.failed;
}
