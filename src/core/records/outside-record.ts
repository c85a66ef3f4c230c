import type { Entry } from "../values/entry.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { decodeState, encodeState } from "../values/file-record.ts";
import {
  isUtf8Path,
  parsePath,
  pathFromBytes,
  pathInRoot,
  pathToBytes,
  splitRoot,
  type WorkspacePath,
} from "../values/path.ts";
import { damaged, flag, optionalText, recordedPath, text, whole } from "../values/record-fields.ts";

/**
 * `outside:<absolute path>`: the state of a path outside of the workspace, kept because a tool was about to change it.
 * This state is never part of a Merkle root, and is never replicated. The code handles the path as a path relative to
 * `/`.
 */
export interface OutsideRecord {
  /** The state; `undefined` if the path did not exist. */
  readonly entry: Entry | undefined;
  /** The number of the iteration. Each path has the iterations 1, 2, 3 … */
  readonly iteration: number;
  /** The time of the state: before the action (`before`) or after the action (`after`). */
  readonly phase: OutsidePhase;
  /** The action for which the state was kept. */
  readonly action: string;
  readonly actor: string;
  /** True if everything beneath the path was kept, too. */
  readonly deep: boolean;
}

export type OutsidePhase = "before" | "after";

const SLASH = 0x2f;

const PHASES: ReadonlySet<string> = new Set<OutsidePhase>(["before", "after"]);

/** The root id with which a `Coverage` names paths outside of the workspace, such as `@outside:etc/hosts`. */
const OUTSIDE_ROOT = "outside";

/** Converts an absolute, normalised path to a path relative to `/`. Throws `PATH_INVALID` for an invalid path. */
export function outsidePath(absolute: string): WorkspacePath {
  return parsePath(absolute.replace(/^\//, ""));
}

/**
 * Converts a path relative to `/` to the form that a `Coverage` uses: a path in the root `outside`, shown as
 * `@outside:etc/hosts`.
 */
export function markedOutside(path: WorkspacePath): WorkspacePath {
  return pathInRoot(OUTSIDE_ROOT, path);
}

/** Converts a path in the root `outside` to the absolute path, for messages. */
export function shownOutside(path: WorkspacePath): string {
  return `/${splitRoot(path).path}`;
}

/**
 * Returns the record id of a path relative to `/`. The id is `outside:/…`, or `outside64:` with Base64 if the path is
 * not UTF-8.
 */
export function outsideRecordId(path: WorkspacePath): string {
  if (isUtf8Path(path)) return `outside:/${path}`;
  return `outside64:${Buffer.concat([Buffer.from("/"), pathToBytes(path)]).toString("base64")}`;
}

/**
 * Returns the path, relative to `/`, that a record id names; `undefined` for other records. Throws `LOG_DAMAGED` for an
 * invalid id.
 */
export function pathOfOutsideId(recordId: string): WorkspacePath | undefined {
  if (recordId.startsWith("outside:/")) return recordedPath(() => parsePath(recordId.slice("outside:/".length)));
  if (!recordId.startsWith("outside64:")) return undefined;
  const encoded = recordId.slice("outside64:".length);
  const bytes = Buffer.from(encoded, "base64");
  const path = recordedPath(() => pathFromBytes(bytes.subarray(1)));
  // Another encoding of the same path is refused, because each path has exactly one id.
  const isOne = bytes[0] === SLASH && bytes.toString("base64") === encoded && !isUtf8Path(path);
  return isOne ? path : damaged(`${JSON.stringify(recordId)} is not the record id of the path that it names`);
}

export function encodeOutside(record: OutsideRecord): RecordBody {
  const state = encodeState(record.entry);
  const { hash } = record.entry ?? {};
  const body: Record<string, Json> = {
    state,
    iteration: record.iteration,
    phase: record.phase,
    action: record.action,
    actor: record.actor.toWellFormed(),
    deep: record.deep,
  };
  // The hash is written a second time, next to the state. All records that need a content name the content in this
  // field.
  if (hash !== undefined) body["hash"] = hash;
  return body;
}

function decodeOutside(path: WorkspacePath, body: RecordBody): OutsideRecord {
  const phase = text(body, "phase");
  const entry = decodeState(path, body["state"]);
  if (!PHASES.has(phase)) damaged(`phase is ${JSON.stringify(phase)}`);
  if (optionalText(body, "hash") !== entry?.hash) damaged("hash is not that of the state");
  return {
    entry,
    iteration: iterationIn(body),
    phase: phase as OutsidePhase,
    action: text(body, "action"),
    actor: text(body, "actor"),
    deep: flag(body, "deep"),
  };
}

function iterationIn(body: RecordBody): number {
  const iteration = whole(body, "iteration");
  return iteration >= 1 ? iteration : damaged(`iteration is ${iteration}`);
}

/** Decodes an outside record and the path that its id names. Throws `LOG_DAMAGED` for an invalid record or id. */
export function readOutside(
  recordId: string,
  body: RecordBody,
): { readonly path: WorkspacePath; readonly record: OutsideRecord } {
  const path = pathOfOutsideId(recordId);
  if (path === undefined) return damaged(`${JSON.stringify(recordId)} names no path outside`);
  return { path, record: decodeOutside(path, body) };
}
