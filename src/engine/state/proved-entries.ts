import type { Entry } from "../../core/values/entry.ts";
import { displayPath } from "../../core/values/path.ts";
import { disagreeing, IndexDisagrees } from "../log/index-disagrees.ts";
import { type ProofContext, provedState } from "./proved-state.ts";

/** Returns the proved entries after an event, in path order: none is missing, none is added. */
export async function provedEntries(context: ProofContext, seq: number): Promise<Entry[]> {
  return disagreeing(async () => {
    const entries: Entry[] = [];
    for await (const rows of context.index.entriesAt(seq))
      for (const { entry } of rows) if (entry !== undefined) entries.push(entry);
    const state = await provedState(context, seq);
    await state.prove(entries.map((entry) => ({ path: entry.path, entry })));
    const found = new Set(entries.map((entry) => entry.path));
    for await (const path of state.paths()) {
      if (!found.has(path)) throw new IndexDisagrees(`about ${displayPath(path)}`, { path, seq });
    }
    state.letGo();
    return entries;
  });
}
