import type { ActionRecord } from "../../core/records/action-record.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { ChronicleError, errnoOf, type ErrorCode } from "../../core/values/errors.ts";
import { markedOutside, outsidePath } from "../../core/records/outside-record.ts";
import { pathInRoot, ROOT } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";

/** The receipt of a capture that failed, for an action that goes on without it because its caller has said `warn`. */

const TROUBLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["IO", "LIMIT_EXCEEDED"]);

/** True for a lack of room or trouble with the disk, which is nobody's mistake. */
export function isNoRoomOrTrouble(error: unknown): boolean {
  return error instanceof ChronicleError ? TROUBLE.has(error.code) : errnoOf(error) !== undefined;
}

/** Returns the omissions of a capture that took nothing: everything that the action may touch. */
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
