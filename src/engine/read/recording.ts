import { type RecordingObstacle, recordingShape } from "../../api/recording.ts";
import type { RecorderShape, RecordingShape } from "../../api/shapes.ts";
import type { ChronicleError } from "../../core/values/errors.ts";
import { archivedSince } from "../commit/commit.ts";
import { openBrackets, type OpenSession } from "../facts/brackets.ts";
import { type Context, isHosted } from "../log/context.ts";
import { isHere, isOwnerAlive } from "../log/owner-process.ts";
import { optional } from "../../util/optional.ts";

/** The state of the recorder of a followed folder in this process. */
export interface FollowState {
  /** The time at which the recorder was started, in ms since the epoch. */
  readonly since: number;
  /** The error message of the last capture. Set only if this capture failed. */
  readonly trouble?: string;
}

/**
 * Returns whether changes are recorded at present, and by whom. Only living processes of this machine count. The
 * following do not count: a watch that was killed, a later process with the same id, and a process of another machine.
 * `follow`: the recorder in this process, if it follows the folder. `damage`: the damage of the log, if there is any.
 */
export async function recordingOf(
  context: Context,
  follow: FollowState | undefined,
  damage?: ChronicleError,
): Promise<RecordingShape> {
  if (damage !== undefined) {
    const { message: reason, hint = "`chronicle verify` names the damage" } = damage;
    return recordingShape([], { reason: `the history is damaged: ${reason}`, hint });
  }
  if (context.isCopy === true) {
    const hint = "`chronicle status` without --upstream says whether the folder is recorded";
    return recordingShape([], {
      reason: "this is the mirror of the origin's history, and only the origin records changes in this history",
      hint,
    });
  }
  const archived = await archivedSince(context);
  if (archived !== undefined) {
    const hint = `to record again: \`chronicle workspaces unarchive ${context.workspaceId}\``;
    return recordingShape([], { reason: `the workspace has been archived since ${archived}`, hint });
  }
  if (isHosted(context.worktree.roots)) {
    return recordingShape([{ kind: "writes", actor: null, since: null, pid: null }]);
  }
  return recordingShape(await recorders(context, follow), offRecordObstacle(context));
}

async function recorders(context: Context, follow: FollowState | undefined): Promise<RecorderShape[]> {
  const { watches, runs, agents } = await openBrackets(context);
  // A session without a process stays open until its end is reported. Such a session does not show that anybody works
  // now.
  const working = agents.filter(({ record }) => isHere(context, record));
  return [
    ...watches.map((one) => ofSession(context, "watch", one)),
    ...(follow === undefined ? [] : [ofServer(context, follow)]),
    ...runs.map((one) => ofSession(context, "run", one)),
    ...working.map((one) => ofSession(context, "agent", one)),
  ];
}

function ofSession(
  { processes }: Context,
  kind: "watch" | "run" | "agent",
  { id, record: { actor, started, pid, command } }: OpenSession,
): RecorderShape {
  const shape = { kind, actor, since: started, pid, session: id };
  const asked = kind === "run" ? { ...shape, command: [...command] } : shape;
  if (!processes.isStopped(pid)) return asked;
  const trouble = `process ${pid}, which records ${kind === "agent" ? "the agent's tool calls" : "the folder"}, is stopped`;
  return { ...asked, trouble, hint: `to continue the process: \`fg\` in its terminal, or \`kill -CONT ${pid}\`` };
}

function ofServer({ processes: { pid } }: Context, { since, trouble }: FollowState): RecorderShape {
  const hint = "the server tries again by itself; `chronicle doctor` shows its diagnostics";
  return {
    ...{ kind: "server", actor: null, since: new Date(since).toISOString(), pid },
    ...optional({ trouble: trouble === undefined ? undefined : `the server cannot record: ${trouble}` }),
    ...(trouble === undefined ? {} : { hint }),
  };
}

/**
 * Returns the reason why nothing is recorded while a command is running off the record: during this time, captures
 * leave out everything. Also returns a reason if the end of such a command is not noted yet. Returns `undefined` if
 * there is no such command.
 */
function offRecordObstacle(context: Context): RecordingObstacle | undefined {
  const going = context.offRecord.read()?.going ?? [];
  const [one] = going.filter((work) => isOwnerAlive(context, work));
  if (one === undefined) {
    if (going.length === 0) return undefined;
    return {
      reason: "a command off the record has ended, but its end is not noted yet",
      hint: "`chronicle snapshot` notes the end",
    };
  }
  const reason = `a command is running off the record (process ${one.pid})`;
  return { reason, hint: "recording continues when that command ends" };
}
