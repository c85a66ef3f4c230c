import type { EventDraft, LogEvent, RecordBody } from "../values/event.ts";
import { type Hash, isHash } from "../values/hash.ts";
import type { Json } from "../values/canonical-json.ts";

/**
 * The mark at the end of a commit. A commit consists of the events of one durable append. The record of the
 * commit's last event has the mark:
 *
 *     "commit": {"first": <seq of the commit's first event>, "root": <Merkle root of the files after the commit>}
 *
 * `root` is optional.
 *
 * The mark cannot be in a record of a user, nor in the empty record of a `delete`. If the last event has such a record,
 * a `commit:` event with the mark follows in the same append.
 */
export interface CommitMark {
  /** The seq of the first event of the commit. */
  readonly first: number;
  /** The Merkle root of the files right after the commit. */
  readonly root?: Hash;
}

/**
 * Returns the id of the record in which a `commit:` event has the mark. `historyId` is the id of a workspace or of a
 * record store.
 */
function commitRecordId(historyId: string): string {
  return `commit:${historyId}`;
}

function canHoldMark({ op, recordId }: Pick<EventDraft, "op" | "recordId">): boolean {
  return op !== "delete" && !recordId.startsWith("user:");
}

/** Turns the drafts of one append into a commit. Marks the last draft, or appends a draft that has the mark. */
export function asCommit(drafts: readonly EventDraft[], historyId: string, mark: CommitMark): readonly EventDraft[] {
  const last = drafts.at(-1);
  if (last === undefined) return drafts;
  const commit: Json = mark.root === undefined ? { first: mark.first } : { first: mark.first, root: mark.root };
  if (canHoldMark(last)) return drafts.with(-1, { ...last, record: { ...last.record, commit } });
  return [...drafts, { op: "upsert", recordId: commitRecordId(historyId), record: { commit } }];
}

/**
 * Returns the mark of an event. Returns a text if the mark is faulty, and `undefined` if the event does not end a
 * commit.
 */
function readMark({
  op,
  recordId,
  record,
}: Pick<LogEvent, "op" | "recordId" | "record">): CommitMark | string | undefined {
  const value = canHoldMark({ op, recordId }) ? record["commit"] : undefined;
  if (value === undefined) return undefined;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return "commit is not an object";
  const { first, root, ...rest } = value as RecordBody;
  if (typeof first !== "number" || !Number.isSafeInteger(first) || first < 1) return "commit.first is not a seq";
  if (Object.keys(rest).length > 0) return `commit has the unknown field ${Object.keys(rest)[0] ?? ""}`;
  if (root === undefined) return { first };
  return typeof root === "string" && isHash(root) ? { first, root } : "commit.root is not a hash";
}

/** Returns the mark of an event; `undefined` if the event does not end a commit, or if the mark is faulty. */
export function markOf(event: Pick<LogEvent, "op" | "recordId" | "record">): CommitMark | undefined {
  const mark = readMark(event);
  return typeof mark === "string" ? undefined : mark;
}

/** Reads the events of a log in order, and finds the end of each commit. */
export class CommitFollower {
  /**
   * The seq of the first event of the current commit. In a copy that lacks the history's first events, this is
   * `undefined` until the first mark, because such a copy may begin within a commit.
   */
  #first: number | undefined;
  readonly #after: number;

  /**
   * `after`: the seq of the event before the first event that `take` gets; 0 if there is no earlier event. The event at
   * this seq must end a commit, unless `isCopy` is true.
   */
  constructor(after: number, isCopy = false) {
    this.#first = isCopy && after > 0 ? undefined : after + 1;
    this.#after = after;
  }

  /**
   * Processes the next event. Returns the event's mark; a text if the mark is faulty; `undefined` if the event does not
   * end a commit.
   */
  take(event: LogEvent): CommitMark | string | undefined {
    const mark = readMark(event);
    if (mark === undefined || typeof mark === "string") return mark;
    const isRight = this.#first === undefined ? mark.first <= this.#after + 1 : mark.first === this.#first;
    const expected = this.#first ?? this.#after + 1;
    if (!isRight)
      return `its mark says that the commit began at event ${mark.first}, but it began at event ${expected}`;
    this.#first = event.seq + 1;
    return mark;
  }
}
