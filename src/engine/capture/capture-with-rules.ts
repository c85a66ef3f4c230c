import type { EventDraft } from "../../core/values/event.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { LoggedAction } from "../facts/actions.ts";
import { capture, type Capture, type CaptureOptions, type Found } from "./capture.ts";
import type { Context } from "../log/context.ts";
import { hiddenRules } from "./omitted-of-action.ts";

/** Options of a capture that closes actions in the same commit. */
interface ClosingCapture extends CaptureOptions {
  readonly also: (found: Found) => Promise<readonly EventDraft[]>;
}

/**
 * Captures and closes actions. Rule files that appeared in them and leave themselves out are recorded first: only if
 * there are such is everything scanned once more.
 */
export async function captureWithRules(
  context: Context,
  actions: readonly LoggedAction[],
  { also, ...how }: ClosingCapture,
): Promise<Capture> {
  let rules: readonly WorkspacePath[] = [];
  const captured = await capture(context, {
    ...how,
    also: async (found) => {
      rules = await hiddenRules(context, actions, found);
      return rules.length > 0 ? [] : also(found);
    },
  });
  if (rules.length === 0) return captured;
  await capture(context, { ...how, only: rules, named: true });
  return capture(context, { ...how, also });
}
