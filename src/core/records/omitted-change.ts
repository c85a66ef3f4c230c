import type { OmissionReason } from "./coverage.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import type { WorkspacePath } from "../values/path.ts";
import { flag, list, object, oneOf, optionalText, text } from "../values/record-fields.ts";
import { optional } from "../../util/optional.ts";

/**
 * A change of a session or action to a path that no capture takes because a rule or a limit leaves it out. No iteration
 * of the path is recorded: only this line in the record of the session or action mentions it.
 */
export interface OmittedChange {
  readonly path: WorkspacePath;
  readonly type: OmittedChangeType;
  readonly reason: OmissionReason;
  /** For people: the rule that leaves the path out. */
  readonly detail?: string;
  /** True if its earlier content was kept aside: undo brings it back. */
  readonly kept: boolean;
  /** True if its earlier content is gone for good. */
  readonly lost: boolean;
  /**
   * Set if the history has an earlier state of it, and what became of it could not be recorded (too large, unreadable): undo leaves
   * it.
   */
  readonly recorded?: true;
}

export type OmittedChangeType = "created" | "modified" | "deleted";

const TYPES: ReadonlySet<OmittedChangeType> = new Set(["created", "modified", "deleted"]);

/** Most changes of omitted paths that a record lists. Losses come first. */
const MOST_LISTED = 2_000;

/** Encodes the list as a record holds it. */
export function encodeOmittedChanges(changes: readonly OmittedChange[]): Json {
  const listed = [...changes.filter((one) => one.lost), ...changes.filter((one) => !one.lost)].slice(0, MOST_LISTED);
  return listed.map(({ path, type, reason, detail, kept, lost, recorded }) => ({
    ...encodePath(path),
    type,
    reason,
    ...(detail === undefined ? {} : { detail: detail.toWellFormed() }),
    kept,
    lost,
    ...optional({ recorded }),
  }));
}

/** Decodes the list in a record's field. Returns an empty list if the record lacks the field. */
export function decodeOmittedChanges(body: RecordBody, key: string): readonly OmittedChange[] {
  if (body[key] === undefined) return [];
  return list(body, key).map((item) => {
    const one = object(item, "a change of an omitted path");
    const detail = optionalText(one, "detail");
    return {
      path: decodePath(one),
      type: oneOf(one, "type", TYPES),
      reason: text(one, "reason") as OmissionReason,
      ...optional({ detail }),
      kept: flag(one, "kept"),
      lost: flag(one, "lost"),
      ...(one["recorded"] === true ? { recorded: true as const } : {}),
    };
  });
}
