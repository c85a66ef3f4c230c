import type { ActionEnd } from "../api/action-api.ts";
import type { HookCall } from "./hook-call.ts";

/**
 * The state of an agent's session that is kept between two hooks. If the note is lost, open actions are found again in
 * the log.
 */
export interface SessionNote {
  /**
   * The workspace's folder. A session stays in the workspace in which it began, even if its agent changes to another
   * folder.
   */
  readonly workspace: string;
  /** The id of the current turn, for agents that do not give this id with each call. */
  turn?: string;
  /** A hash of the person's message with which the current turn began. */
  asked?: string;
  /** True if the main agent has ended its turn. From then on, only sub-agents work, in the background. */
  isIdle?: boolean;
  /**
   * True if sub-agents have worked in the session. The open calls are then stored durably, because the log does not
   * name the sub-agent of a call.
   */
  hasLanes?: boolean;
  /**
   * Maps the key of an open call to the id of its action. The key is `<lane> <call>`. The lane is the id of the
   * sub-agent, or empty for the main agent. The call is the id of the tool call.
   */
  readonly open: Record<string, string>;
  /**
   * The queued calls that have not begun yet, in their order. Each begins when the call before it has ended (see
   * `HookCall.queue`).
   */
  waiting?: readonly HookCall[];
  /** Maps a lane to the `HookCall.queue` of its latest call. */
  queues?: Record<string, string>;
  /** The keys of open calls whose end is possibly never reported (see `HookAction.unsaid`). */
  unsaid?: readonly string[];
  /**
   * Maps the key of a call that was recorded as denied to the id of the call's action. The call was recorded as denied
   * because the agent began another call. The denied call is possibly still running in parallel.
   */
  doubted?: Record<string, string>;
  /** Maps the keys of calls to their ends. These ends were reported or inferred, but are not recorded yet. */
  ends?: Record<string, ActionEnd>;
}

/**
 * Stores notes. A server keeps them in memory, and partly in files. A hook that runs without a server keeps them in
 * files.
 */
export interface SessionNotes {
  get(session: string): SessionNote | undefined;
  put(session: string, note: SessionNote): void;
  remove(session: string): void;
}
