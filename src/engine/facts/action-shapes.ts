import type { ActionShape } from "../../api/action-shapes.ts";
import type { Context } from "../log/context.ts";
import { actionShape, type LoggedAction } from "./actions.ts";
import { withCopiesThere } from "./copies-there.ts";

/** Returns actions in the form of the API. Their omitted changes say which copies are still kept aside. */
export async function actionShapes(context: Context, actions: readonly LoggedAction[]): Promise<ActionShape[]> {
  return (await withCopiesThere(context, actions)).map(actionShape);
}
