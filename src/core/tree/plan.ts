import { ChronicleError } from "../values/errors.ts";
import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import { type Change, sameEntry, type Entry } from "../values/entry.ts";
import type { Json } from "../values/event.ts";
import { comparePaths, type WorkspacePath } from "../values/path.ts";
import { decodePath, decodeState, encodePath, encodeState } from "../values/file-record.ts";
import { object } from "../values/record-fields.ts";
import { decodeUpstreamFields, encodeUpstreamFields, type UpstreamChange } from "./upstream-change.ts";

/**
 * The plan of an operation: a list of changes. The intent keeps the plan as a blob, so that the operation can be
 * finished after a crash. The format is canonical JSON: `[{path | path_b64, root?, before, after}, …]`, sorted by path.
 * A state is `null` or `{kind, mode, size, mtime_ms, mtime_ns?, hash?}`. A change that comes from another copy of the
 * workspace may also have `cause`, `by`, `upstream`, `base` and `written`.
 */

export function encodePlan(changes: readonly UpstreamChange[]): Buffer {
  return Buffer.from(canonicalJson(encodeChanges(changes)));
}

export function encodeChanges(changes: readonly UpstreamChange[]): Json {
  const sorted = changes.toSorted((a, b) => comparePaths(a.path, b.path));
  return sorted.map(encodeChange);
}

/** Encodes a change with its keys in canonical order, so that the keys of long plans need no sorting. */
function encodeChange(change: UpstreamChange): Json {
  const { base, by, cause, upstream, written } = encodeUpstreamFields(change);
  const body: Record<string, Json> = { after: encodeState(change.after) };
  if (base !== undefined) body["base"] = base;
  body["before"] = encodeState(change.before);
  if (by !== undefined) body["by"] = by;
  if (cause !== undefined) body["cause"] = cause;
  Object.assign(body, encodePath(change.path));
  if (upstream !== undefined) body["upstream"] = upstream;
  if (written !== undefined) body["written"] = written;
  return body;
}

/**
 * Decodes a plan. Throws `LOG_DAMAGED` for an invalid plan or a path that leaves the workspace, and
 * `INTEGRITY_VIOLATION` for bytes that are not canonical JSON.
 */
export function decodePlan(bytes: Uint8Array): UpstreamChange[] {
  return decodeChanges(parseCanonical(Buffer.from(bytes).toString("utf8")));
}

/** Decodes the output of `encodeChanges`. Throws `LOG_DAMAGED` for an invalid value. */
export function decodeChanges(value: Json): UpstreamChange[] {
  if (!Array.isArray(value)) throw new ChronicleError("LOG_DAMAGED", "the plan of a restore is not a list");
  return value.map((item: Json) => {
    const body = object(item, "a change of a plan");
    const path = decodePath(body);
    const [before, after] = [decodeState(path, body["before"]), decodeState(path, body["after"])];
    return { path, before, after, ...decodeUpstreamFields(path, body) };
  });
}

/** Returns the change of one path between two states; `undefined` if the states are equal. */
export function changeBetween(
  path: WorkspacePath,
  before: Entry | undefined,
  after: Entry | undefined,
): Change | undefined {
  return sameEntry(before, after) ? undefined : { path, before, after };
}

export function invert(changes: readonly Change[]): Change[] {
  return changes.map(({ path, before, after }) => ({ path, before: after, after: before }));
}

/**
 * Combines two lists of changes. The changes of `second` must come after those of `first`, and neither list may have
 * two changes of the same path. Returns one change for each path, in path order. Leaves out paths whose state before
 * `first` is equal to the state after `second`.
 */
export function composeChanges(first: readonly Change[], second: readonly Change[]): Change[] {
  const composed = new Map<WorkspacePath, Change>(first.map((change) => [change.path, change]));
  for (const change of second) {
    const before = composed.get(change.path);
    const joined = before === undefined ? change : changeBetween(change.path, before.before, change.after);
    if (joined === undefined) composed.delete(change.path);
    else composed.set(change.path, joined);
  }
  return [...composed.values()].sort((a, b) => comparePaths(a.path, b.path));
}
