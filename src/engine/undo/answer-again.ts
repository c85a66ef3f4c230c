import type { RestoreShape, UndoShape } from "../../api/shapes.ts";
import { meanwhile } from "../capture/in-the-way.ts";
import { conflictsIn } from "../facts/open-conflicts.ts";
import { ownChanges } from "../facts/own-changes.ts";
import { type DoneRequest, doneRequest, usedBefore } from "../facts/taken-ids.ts";
import type { Caller, Context } from "../log/context.ts";
import { conflictShape, skippedShape } from "../log/shape.ts";
import { detailedShapes } from "../read/change-details.ts";
import { MAX_STAYED, MOST_REQUEST_CHARS, intentOfRequest } from "../../core/records/records.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import { unmergedShape } from "./conflicts.ts";
import { listOperations, operationShape, stackOf } from "./operations.ts";
import { optional } from "../../util/optional.ts";

/**
 * A `restore`, `rollback`, `undo` or `redo` with a request id is carried out only once. The id of its intent is derived
 * from the request id, and the intent stores a hash of the call. A crash between the intent and the answer changes
 * nothing about this rule, because interrupted operations are finished before a request id is looked up.
 */

/** The parts of a call that are compared with those of an earlier call that had the same request id. */
export interface AskedCall {
  readonly method: "restore" | "rollback" | "undo" | "redo";
  /** The moment of a restore, or the id of the action that is rolled back. */
  readonly what?: string;
  readonly options: object;
}

type Request = NonNullable<Caller["request"]>;

/**
 * Returns the request id and the hash of the call; `undefined` if the caller gave no id. Throws `USAGE` for an id that
 * is empty, too long or not well-formed.
 */
export function requestOf({ requestId }: Caller, call: AskedCall): Request | undefined {
  if (requestId === undefined) return undefined;
  if (requestId === "" || requestId.length > MOST_REQUEST_CHARS || !requestId.isWellFormed()) {
    throw new ChronicleError("USAGE", "the id of a request is empty, too long or not well-formed text", {
      hint: `use at most ${MOST_REQUEST_CHARS} characters, or leave the id out`,
    });
  }
  const { method, what, options } = call;
  // Functions, such as `onProgress`, do not change what is done.
  const given = Object.entries(options).filter(([, value]) => value !== undefined && typeof value !== "function");
  const text = JSON.stringify([method, what ?? null, given.sort(([a], [b]) => (a < b ? -1 : 1))]);
  return { id: requestId, asked: sha256(text) };
}

interface Again extends DoneRequest {
  readonly id: string;
  readonly shape: RestoreShape;
  readonly notes: readonly string[];
}

/**
 * Returns what an earlier call with the same request id did; `undefined` if there was no such call. Throws `USAGE` if
 * the id was used for a different call.
 */
async function again(context: Context, { id: request, asked }: Request): Promise<Again | undefined> {
  const id = intentOfRequest(request);
  const done = await doneRequest(context, id);
  if (done === undefined) return undefined;
  const { intent, row } = done;
  if (intent.asked !== asked) throw usedBefore(request);
  const span = { fromSeq: intent.fromSeq, toSeq: row.seq };
  const { changes } = await ownChanges(context, span, { isOwn: (record) => record.intent === id });
  const { stayed = [], keptAt = [] } = intent;
  const shape: RestoreShape = {
    changes: await detailedShapes(context, changes),
    undo_id: id,
    // For each path that could not be changed, the intent stores the cause on disk. `meanwhile` turns these causes into
    // the reported reasons.
    skipped: (await meanwhile(context, stayed)).map(skippedShape),
    conflicts: keptAt.map(conflictShape),
    dry_run: false,
    finished: [],
  };
  const isPart =
    stayed.length === MAX_STAYED ? [`at most ${MAX_STAYED} of the paths that were left alone are named`] : [];
  const aside =
    intent.aside === undefined ? [] : ["files outside of the record that were put back are not named again"];
  return {
    ...done,
    id,
    shape,
    notes: [`this request was done before, at ${row.ts}: it was not done again`, ...isPart, ...aside],
  };
}

/**
 * Returns the answer to a restore or rollback that was already carried out; `undefined` if it was not. Throws `USAGE`
 * as `again` does.
 */
export async function restoredBefore(context: Context, request: Request): Promise<RestoreShape | undefined> {
  const known = await again(context, request);
  return known === undefined ? undefined : { ...known.shape, notes: [...known.notes] };
}

/**
 * Returns the answer to an undo or redo that was already carried out; `undefined` if it was not. Throws `USAGE` as
 * `again` does.
 */
export async function undoneBefore(context: Context, request: Request): Promise<UndoShape | undefined> {
  const known = await again(context, request);
  if (known === undefined) return undefined;
  const { intent, id, shape, notes } = known;
  const operations = await listOperations(context);
  const target = operations.find((one) => one.id === intent.target);
  const left = (await conflictsIn(context, await context.index.records("conflict:"))).filter(
    ({ record }) => record.undo === id,
  );
  return {
    ...shape,
    operation: target === undefined ? null : operationShape(target, stackOf(operations)),
    direction: intent.kind === "redo" ? "redo" : "undo",
    ...optional({ selection: intent.selection }),
    notes: [...notes],
    unmerged: left.map(unmergedShape),
  };
}
