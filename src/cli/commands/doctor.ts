import { EXIT } from "../../api/problems.ts";
import type { DoctorShape } from "../../api/store-api.ts";
import { agentChecks } from "../agents/doctor-checks.ts";
import type { CommandContext } from "../context.ts";
import { placesOf } from "../places.ts";
import { printable } from "../render/printable.ts";

export async function doctor(context: CommandContext): Promise<number> {
  const { io, input } = context;
  const store = await context.store();
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: io.cwd(), store: input.text("store") });
  const own = await store.doctor();
  // Agents work where they are installed: on this machine.
  const checks = [...own.checks, ...(context.remote === undefined ? await agentChecks(io, places) : [])];
  const result: DoctorShape = { ...own, ok: checks.every((check) => check.ok), checks };
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
