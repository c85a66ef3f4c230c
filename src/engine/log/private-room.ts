import { formatBytes } from "../../core/values/duration.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft } from "../../core/values/event.ts";
import type { Context } from "./context.ts";
import { namesPrivate } from "./history-needs.ts";
import { memoKey } from "./memo.ts";

/**
 * Private contents are prompts, states and objects of git, and files that were kept aside. All private contents of a
 * workspace share one budget, `max_private_bytes`. The functions of this file refuse contents that alone exceed the
 * whole budget. When all private contents together exceed the budget, the oldest are given up
 * (`upkeep/private-budget.ts`).
 */

type Limits = Pick<Context, "retention">;

/**
 * Returns the budget for the private contents of the workspace, in bytes; `Infinity` if the limit is 0, which means no
 * budget.
 */
export function privateRoom({ retention }: Limits): number {
  const most = retention.limits.max_private_bytes;
  return most === 0 ? Number.POSITIVE_INFINITY : most;
}

/** Returns the part of a message that says that something takes more than the whole budget. */
export function beyondPrivateRoom(context: Limits): string {
  return `more than max_private_bytes, which is ${formatBytes(privateRoom(context))}`;
}

/** Throws `LIMIT_EXCEEDED` if this number of bytes exceeds the whole budget. */
export function refuseBeyondPrivateRoom(context: Limits, bytes: number): void {
  if (bytes <= privateRoom(context)) return;
  throw new ChronicleError("LIMIT_EXCEEDED", beyondPrivateRoom(context), {
    hint: "raise max_private_bytes in config.yaml",
  });
}

const named = memoKey<true>("the budget for private contents must be looked at");

/** Notes that the budget must be checked if one of the drafts names private contents. */
export function notePrivates({ memo }: Pick<Context, "memo">, drafts: readonly EventDraft[]): void {
  if (drafts.some(namesPrivate)) memo.set(named, true);
}

/** Notes that the budget must be checked, because a person has asked for a pruning. */
export function askForBudget({ memo }: Pick<Context, "memo">): void {
  memo.set(named, true);
}

/** Returns true if a check of the budget was noted since the last call, and clears the note. */
export function takeBudgetAsked({ memo }: Pick<Context, "memo">): boolean {
  const isAsked = memo.get(named) === true;
  memo.delete(named);
  return isAsked;
}
