import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspaceApi } from "../workspace-api.ts";

/**
 * Returns the seq after which a stream of events begins; without `after`, the present head. Called before anything is
 * streamed, so that a request for missing events gets an error. Throws `PRUNED` for events that a compaction has
 * dropped, `NOT_FOUND` for events that are not recorded yet; `data.after` is a seq from which the caller can continue.
 */
export async function eventStart(on: WorkspaceApi, after: number | undefined): Promise<number> {
  const [last] = await on.log({ reverse: true, limit: 1 });
  const end = last?.seq ?? 0;
  if (after === undefined || after === end) return end;
  if (after > end) {
    throw new ChronicleError("NOT_FOUND", `there is no event ${after} yet: the last one is ${end}`, {
      hint: `go on after event ${end}`,
      data: { seq: after, after: end },
    });
  }
  const [next] = await on.log({ from: after + 1, limit: 1 });
  if (next === undefined || next.seq === after + 1) return after;
  throw new ChronicleError(
    "PRUNED",
    `event ${after + 1} is in no log any more: the history begins at event ${next.seq}`,
    {
      hint: `go on after event ${next.seq - 1}; what was recorded before is in the list of files`,
      data: { seq: after + 1, after: next.seq - 1 },
    },
  );
}
