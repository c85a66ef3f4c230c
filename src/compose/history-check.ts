import type { SigningReason } from "../api/shapes.ts";
import type { DoctorCheck } from "../api/store-api.ts";
import { ChronicleError, codedError } from "../core/values/errors.ts";
import { answer } from "../engine/log/answer.ts";
import { findDamage } from "../engine/log/chain-fault.ts";
import { signingShape } from "../engine/log/signing.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, workspaceIds } from "./store-tasks.ts";

/** A fault of a history: nothing can be written to it, or its events are not signed. */
export interface HistoryFault {
  readonly check: DoctorCheck;
  /** The reason why it is not signed, if that is the fault. */
  readonly reason: SigningReason | null;
}

/** Returns the histories that take no writes, or are not signed. Reads every line of each log, but no contents. */
export async function historyFaults(parts: StoreParts): Promise<HistoryFault[]> {
  const faults: HistoryFault[] = [];
  for (const id of workspaceIds(parts)) {
    const fault = await faultOf(parts, id);
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
}

async function faultOf(parts: StoreParts, id: string): Promise<HistoryFault | undefined> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      const { state, reason, detail, hint } = await answer(context, async ({ damage }) =>
        signingShape(context, damage ?? (await findDamage(context))),
      );
      if (state !== "read-only" && state !== "unsigned") return undefined;
      return { check: told(id, detail ?? state, hint), reason };
    } finally {
      await close();
    }
  } catch (error) {
    const known = codedError(error);
    if (!(known instanceof ChronicleError)) throw error;
    // Another process holds it, which says nothing about the history.
    return known.code === "LOCKED" ? undefined : { check: told(id, known.message, known.hint), reason: null };
  }
}

function told(id: string, detail: string, hint: string | null | undefined): DoctorCheck {
  return {
    name: "history",
    ok: false,
    detail: `workspace ${id}: ${detail}`,
    hint: hint ?? `\`chronicle -w ${id} verify\` says what is wrong with it`,
  };
}
