import { EXIT } from "../../../api/problems.ts";
import type { DoctorShape } from "../../../api/store-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { agentChecks } from "../../agents/doctor-checks.ts";
import type { CommandContext } from "../../support/context.ts";
import { recordingChecks } from "../../watching/recording-check.ts";
import { placesOf } from "../../../process/places.ts";
import { printable } from "../../../process/printable.ts";

/**
 * Returns the checks of the store. If the store cannot be opened or checked, returns only two checks: a failed check
 * with the reason, and the check of the access rights, which needs no open store. With `--remote`, throws the error
 * instead.
 */
async function storeChecks(context: CommandContext, places: ReturnType<typeof placesOf>): Promise<DoctorShape> {
  try {
    return await (await context.store()).doctor();
  } catch (error) {
    if (!(error instanceof ChronicleError) || context.remote !== undefined) throw error;
    const check = {
      name: "store",
      ok: false,
      detail: error.message,
      hint: error.hint ?? "choose another store with --store",
    };
    const { checkAccess } = await import("../../../open.ts");
    return { ok: false, store: places.home, checks: [check, checkAccess(places)] };
  }
}

export async function doctor(context: CommandContext): Promise<number> {
  const { io, input } = context;
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  const own = await storeChecks(context, places);
  // With `--remote`, the hooks of agents are not checked, because they are on this machine, and not on the machine of
  // the server.
  const checks = [
    ...own.checks,
    ...(context.remote === undefined ? await agentChecks(io, places) : []),
    ...(await recordingChecks(context)),
  ];
  const result: DoctorShape = { ...own, ok: checks.every((check) => check.ok), checks };
  if (context.json) context.printJson(result);
  else {
    const { paint } = context;
    context.print(`store ${printable(result.store)}`);
    for (const check of result.checks) {
      const mark = check.ok ? paint("green", "ok  ") : paint("red", "BAD ");
      context.print(`${mark} ${printable(check.name)}: ${printable(context.worded(check.detail))}`);
      if (!check.ok && check.hint !== undefined) context.print(`       ${printable(context.worded(check.hint))}`);
    }
  }
  return result.ok ? EXIT.done : EXIT.failed;
}
