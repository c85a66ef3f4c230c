import type { OriginIterationShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { changeOf, fileRecordId, type UpstreamIteration } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { answer } from "../log/answer.ts";
import type { Context } from "../log/context.ts";
import { readEvents } from "../log/read-events.ts";
import { optional } from "../../util/optional.ts";

/**
 * Returns what an origin tells of iterations of a path that came from it, by its events. Their owners and times stand
 * in the copy of its history: if that does not go back so far, or cannot be read, only their number is known.
 */
export async function originIterations(
  context: Context,
  path: WorkspacePath,
  taken: readonly UpstreamIteration[],
): Promise<ReadonlyMap<number, OriginIterationShape>> {
  const found = new Map<number, OriginIterationShape>(taken.map((one) => [one.seq, { ...one }]));
  if (found.size === 0) return found;
  try {
    await using copy = await context.store.copy();
    const events = copy === undefined ? [] : await heldEvents(copy.context, [...found.keys()]);
    for (const event of events) {
      const known = found.get(event.seq);
      if (known !== undefined && event.recordId === fileRecordId(path))
        found.set(event.seq, { ...known, ...saidBy(event, path) });
    }
  } catch (error) {
    // The workspace's own history is whole without it.
    if (!(error instanceof ChronicleError)) throw error;
    context.tell?.(`whose work it was at the origin is not known: ${error.message}; \`chronicle --upstream verify\``);
  }
  return found;
}

/** Returns those of some events whose lines the copy holds. */
function heldEvents(copy: Context, seqs: readonly number[]): Promise<readonly LogEvent[]> {
  return answer(copy, async () => {
    const rows = [];
    for (const seq of seqs) rows.push((await copy.index.locate(seq)) ?? []);
    return readEvents(copy, rows.flat());
  });
}

function saidBy(event: LogEvent, path: WorkspacePath): Partial<OriginIterationShape> {
  const { actor, session, turn, action } = changeOf(event, path) ?? {};
  return { timestamp: Date.parse(event.ts), ...optional({ actor, session, turn, action }) };
}
