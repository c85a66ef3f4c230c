import type { PruneOptions } from "../api/action-api.ts";
import type { PruneShape } from "../api/action-shapes.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** Gives up what is older than the rules keep. */
export async function prune(_context: Context, _options: PruneOptions = {}): Promise<PruneShape> {
  return notYet("prune");
}

/** Keeps (or no longer keeps) an action or a snapshot from being pruned. */
export async function pin(_context: Context, _id: string, _pinned = true): Promise<void> {
  notYet("pin");
}
