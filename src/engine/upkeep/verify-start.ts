import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";
import type { BaseBatch, BaseRecord } from "../../core/log/base.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import { leafHash } from "../../core/log/log-tree.ts";
import { displayPath } from "../../core/values/path.ts";
import { checkHeldRecord } from "./check-record.ts";

/** Checks the state on which a history starts that does not have the events before it. */

/** Returns the message of the error that a check throws; `undefined` if it throws none. */
export function faultOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof ChronicleError) return error.message;
    throw error;
  }
}

/**
 * Returns the faults in the rows of the base `at` on which a history goes on with event `seq`, if nothing else tells of
 * the events before it: none of the rows may be younger, and each record must be what its id says.
 */
export function heldFaults({ entries = [], records = [] }: BaseBatch, at: string, seq: number): Problem[] {
  const kind = "base-wrong";
  const late = entries.find((one) => one.seq >= seq);
  const problems: Problem[] = [];
  if (late !== undefined)
    problems.push({ kind, where: `${at}: ${displayPath(late.path)}`, detail: `stands there as of event ${late.seq}` });
  for (const one of records) {
    const where = `${at}: ${one.recordId}`;
    if (one.seq >= seq) problems.push({ kind, where, detail: `stands there as of event ${one.seq}` });
    const detail = faultOf(() => checkHeldRecord(one));
    if (detail !== undefined) problems.push({ kind, where, detail });
  }
  return problems;
}

/**
 * Returns the contradictions between an anchor and its base, in which `own` is the workspace's record: the anchor's
 * workspace and time must be those of that record, and a frontier of an odd size must end with the anchor's own event.
 */
export function anchorFaults({ workspace, ts, seq, hash, frontier }: HistoryAnchor, own?: BaseRecord): Problem[] {
  const [kind, where] = ["anchor-wrong", "anchor.json"];
  const problems: Problem[] = [];
  if (own === undefined) problems.push({ kind, where, detail: `its base holds no record of workspace ${workspace}` });
  else if (own.ts !== ts) problems.push({ kind, where, detail: `its ts is ${ts}, that of its base ${own.ts}` });
  if (seq % 2 === 1 && frontier.at(-1) !== leafHash(hash))
    problems.push({ kind, where, detail: `its frontier does not end with event ${seq}` });
  return problems;
}
