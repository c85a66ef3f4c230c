import type { ExplainShape } from "../api/shapes.ts";
import type { Context } from "./context.ts";
import { parseGivenPath } from "./given-path.ts";
import { shownPath } from "./shape.ts";

/** Why a path is or is not tracked. What is recorded stays tracked until it is gone, whatever the rules say by now. */
export async function explain(context: Context, given: string): Promise<ExplainShape> {
  const path = parseGivenPath(given);
  const { tracked, rule, pattern, source } = await context.worktree.explain(path);
  const { seq } = await context.index.head();
  const recorded = (await context.index.iterationAt(path, seq))?.entry !== undefined;
  return {
    path: shownPath(path),
    tracked: tracked || recorded,
    recorded,
    rule,
    ...(pattern === undefined ? {} : { pattern }),
    ...(source === undefined ? {} : { source }),
  };
}
