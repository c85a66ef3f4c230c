import type { RecorderShape, RecordingShape } from "./shapes.ts";
import type { SyncShape, SyncState } from "./sync-api.ts";

/** A reason why nothing is recorded, even if recorders run, and the next step for a person. */
export interface RecordingObstacle {
  readonly reason: string;
  readonly hint: string;
}

/**
 * Returns what is recorded at present. With an obstacle, nothing is recorded. A recorder with a `trouble` does not
 * record. If no recorder works, the `trouble` of the first one is the reason.
 */
export function recordingShape(by: readonly RecorderShape[], obstacle?: RecordingObstacle): RecordingShape {
  if (obstacle !== undefined) return { state: "nothing", by: [...by], ...obstacle };
  const working = by.filter(({ trouble }) => trouble === undefined);
  const none = { by: [...by], reason: null, hint: null };
  if (working.some(({ kind }) => kind !== "agent")) return { state: "everything", ...none };
  if (working.length > 0) return { state: "tool_calls", ...none };
  const [{ trouble: reason = null, hint = null } = {}] = by;
  return { state: "nothing", by: [...by], reason, hint };
}

/**
 * Adds recorders to a shape. The reason of the shape stays in force if it is an obstacle and not the `trouble` of a
 * recorder.
 */
export function withRecorders(shape: RecordingShape, more: readonly RecorderShape[]): RecordingShape {
  if (more.length === 0) return shape;
  const { by, reason, hint } = shape;
  const isObstacle = reason !== null && by.every(({ trouble }) => trouble !== reason);
  const known = new Set(by.map(({ kind, pid }) => `${kind} ${pid}`));
  const all = [...by, ...more.filter(({ kind, pid }) => !known.has(`${kind} ${pid}`))];
  return recordingShape(all, isObstacle ? { reason, hint: hint ?? "" } : undefined);
}

/** The states in which a sync records the edits in its folder. It also does so while the origin cannot be reached. */
const RECORDING: ReadonlySet<SyncState> = new Set(["connecting", "syncing", "in-sync", "offline"]);

/**
 * Adds the sync of the folder, which the workspace does not know. If the sync is paused or halted and nobody else
 * records, this is the reason. `pid`: the process that runs the sync; `null` if it is unknown.
 */
export function withSync(
  shape: RecordingShape,
  sync: Pick<SyncShape, "state"> | undefined,
  pid: number | null,
): RecordingShape {
  if (sync === undefined || sync.state === "stopped") return shape;
  if (RECORDING.has(sync.state)) return withRecorders(shape, [{ kind: "sync", actor: null, since: null, pid }]);
  if (shape.state !== "nothing" || shape.reason !== null) return shape;
  return {
    ...shape,
    reason: `the sync of this folder is ${sync.state}`,
    hint: "`chronicle sync status` says why, and `chronicle sync resume` continues it",
  };
}
