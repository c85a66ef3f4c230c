import type { ActionRecord } from "../../core/records/action-record.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { ChronicleError, errnoOf, type ErrorCode } from "../../core/values/errors.ts";
import { markedOutside, outsidePath } from "../../core/records/outside-record.ts";
import { pathInRoot, ROOT } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";

/** What an action goes on without, where its caller has said `warn`. */

const TROUBLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["IO", "LIMIT_EXCEEDED"]);

/** No room, or trouble with the disk: nobody's mistake. */
export function isNoRoomOrTrouble(error: unknown): boolean {
  return error instanceof ChronicleError ? TROUBLE.has(error.code) : errnoOf(error) !== undefined;
}

/** The receipt of which nothing could be taken: everything that an action may have to do with. */
export function allOmitted(
  { worktree }: Context,
  { paths, outside, scope }: Pick<ActionRecord, "paths" | "outside" | "scope">,
  error: unknown,
): Omission[] {
  const detail = error instanceof Error ? error.message : String(error);
  const all = [
    ...(scope === "workspace" ? worktree.roots.map(({ id }) => pathInRoot(id, ROOT)) : []),
    ...paths,
    ...outside.map((one) => markedOutside(outsidePath(one))),
  ];
  return all.map((path) => ({ path, reason: "unreadable" as const, detail }));
}
