import type { Selection } from "../api/action-api.ts";
import type { ChangesShape } from "../api/action-shapes.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** What somebody did. */
export async function changesOfSelection(
  _context: Context,
  _selection: Selection,
  _options: { readonly patch?: boolean } = {},
): Promise<ChangesShape> {
  return notYet("changes");
}
