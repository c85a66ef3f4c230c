import { createHash } from "node:crypto";
import type { ActionEnd, ActionRequest } from "../api/action-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { SessionNote, SessionNotes } from "./session-note.ts";
import type { HookAdapter, HookCall } from "./hook-call.ts";
import type { Guarded } from "./refuse-persons-commands.ts";
import { optional } from "../util/optional.ts";

/** The note of the agent's session (its state between two hooks), and the workspace that the note names. */
interface Workplace {
  readonly note: SessionNote;
  readonly workspace: WorkspaceApi;
}

export interface HookParts {
  readonly notes: SessionNotes;
  /**
   * The agent's process id, or `null` if unknown. Once the agent's process has ended, the agent's open actions are
   * abandoned.
   */
  readonly owner: number | null;
  /**
   * Opens the nearest workspace around a folder. If there is none, creates a workspace in the folder if `create` is
   * true, and throws `NOT_FOUND` otherwise.
   */
  readonly open: (folder: string, create: boolean) => Promise<WorkspaceApi>;
  /** The files and folders that agents' shell commands must not touch. */
  readonly guarded: Guarded;
  /**
   * True if a tool must not run when the hook before its call fails. An input that is not understood also keeps the
   * tool from running, because it is possibly the input of the hook before a call.
   */
  readonly strict: boolean;
}

interface CallWork extends HookParts {
  readonly adapter: HookAdapter;
  readonly call: HookCall;
}

/** Thrown if the snapshot before a tool call cannot be made. The tool must then not run. */
export class SnapshotRefused extends Error {
  readonly reason: ChronicleError;

  constructor(reason: ChronicleError) {
    super(reason.message, { cause: reason });
    this.name = "SnapshotRefused";
    this.reason = reason;
  }
}

/**
 * Records what the call of a hook reports. Returns all warnings for the user as one text; `undefined` if there are
 * none. Throws `SnapshotRefused` if the tool must not run. Any other error is thrown unchanged.
 */
export async function performHook(adapter: HookAdapter, call: HookCall, parts: HookParts): Promise<string | undefined> {
  const told = await perform({ ...parts, adapter, call });
  return told.length === 0 ? undefined : told.join("; ");
}

async function perform(work: CallWork): Promise<readonly string[]> {
  switch (work.call.kind) {
    case "none":
      return [];
    case "session-start":
      return unsignedIn(await startSession(work), work);
    case "turn-start": {
      const { folder, troubles } = await beginTurn(work);
      return [...troubles, ...(await unsignedIn(folder, work))];
    }
    case "before":
      return [...(await beginTurnOf(work)), ...(await beforeTool(work))];
    case "after":
      return afterTool(work);
    case "turn-end":
      return endTurn(work);
    case "session-end":
      return endSession(work);
  }
}

async function unsignedIn(folder: string, { open }: HookParts): Promise<readonly string[]> {
  const { state, detail, hint } = await (await open(folder, false)).signing();
  return state === "unsigned" ? [`what is recorded is not signed: ${detail ?? ""} (${hint ?? ""})`] : [];
}

/**
 * Starts or continues the session, and returns the folder of its workspace. When an agent resumes a session or compacts
 * its context, the agent reports the start of the running session again, perhaps from another folder. The session then
 * keeps its workspace, its turn and its open actions.
 */
async function startSession(work: CallWork): Promise<string> {
  const present = await presentWorkplace(work, (error) => isForgotten(error) || isMissing(error));
  if (present === undefined) return (await beginSession(work)).note.workspace;
  await start(work, present.workspace);
  return present.note.workspace;
}

async function start({ adapter, call, owner }: CallWork, workspace: WorkspaceApi): Promise<void> {
  await workspace.startSession({ id: call.session, actor: adapter.name, pid: owner });
}

async function beginSession(work: CallWork): Promise<Workplace> {
  const { call, notes, open } = work;
  // A note that is there already was rejected, because its workspace was forgotten or its folder is missing.
  const rejected = JSON.stringify(notes.get(call.session));
  const workspace = await open(call.cwd, true);
  await start(work, workspace);
  // Another hook of the session may have stored its note in the meantime. Some agents call two hooks at the same time.
  const present = notes.get(call.session);
  if (present?.workspace === workspace.path && JSON.stringify(present) !== rejected)
    return { note: present, workspace };
  const note = { workspace: workspace.path, open: {} };
  notes.put(call.session, note);
  return { note, workspace };
}

/**
 * Returns the session's workplace. If there is none, begins the session now. A session has no workplace if the hooks
 * were installed after the session began, if its note was lost, or if its workspace was forgotten (`forget`).
 */
async function workplace(work: CallWork): Promise<Workplace> {
  return (await presentWorkplace(work, isForgotten)) ?? (await beginSession(work));
}

/**
 * Returns the workplace that the session's note names. Returns `undefined` if there is no note, or if opening the
 * workspace fails with an error for which `isGone` is true.
 */
async function presentWorkplace(
  { call, notes, open }: CallWork,
  isGone: (error: unknown) => boolean,
): Promise<Workplace | undefined> {
  const note = notes.get(call.session);
  if (note === undefined) return undefined;
  try {
    return { note, workspace: await open(note.workspace, false) };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isForgotten(error: unknown): boolean {
  return error instanceof ChronicleError && error.code === "NOT_FOUND";
}

/**
 * True if the error says that the workspace's folder is missing. Only `startSession` gives the session another
 * workspace in this case. At any other hook, the session keeps its workspace, because a tool call has possibly just
 * removed the folder.
 */
function isMissing(error: unknown): boolean {
  return error instanceof ChronicleError && errnoOf(error.cause) === "ENOENT";
}

/**
 * Begins a turn. Returns the workspace's folder, and a warning for each event that could not be recorded: the end of an
 * earlier call, or the beginning of the turn.
 */
async function beginTurn(work: CallWork): Promise<{ readonly folder: string; readonly troubles: readonly string[] }> {
  const { call, notes } = work;
  const { note, workspace } = await workplace(work);
  const troubles = await endEarlier({ note, workspace });
  const turn = call.turn ?? (await newTurn(workspace, call, () => isTold(work)));
  // Store the note even if abandoning the open calls fails, because the turn has begun in any case.
  try {
    // If no hook reported the end of the previous turn, the turn and its sub-agents were interrupted. A call that is
    // still open was then either denied by the person or stopped. No hook distinguishes these two cases, so it is
    // unknown whether the tool has run.
    const all = note.isIdle !== true;
    await abandon({ note, workspace }, call, { reason: "the next turn began", all, unsure: true });
    note.isIdle = false;
  } finally {
    // The note itself is changed, and not a copy, because other hooks of the session possibly hold it. Such a hook would
    // store the note of the former turn again.
    note.turn = turn;
    note.asked = hashOfPrompt(call);
    notes.put(call.session, note);
  }
  return { folder: note.workspace, troubles: [...troubles, ...(await recordTurn(work, workspace, turn))] };
}

/**
 * Begins the turn of a tool call, if the call contains the person's message and is the first call of the turn. Some
 * agents give the person's message only with tool calls.
 */
async function beginTurnOf(work: CallWork): Promise<readonly string[]> {
  const { call, notes } = work;
  if (call.prompt === undefined || notes.get(call.session)?.turn === call.turn) return [];
  const { folder, troubles } = await beginTurn(work);
  return [...troubles, ...(await unsignedIn(folder, work))];
}

/**
 * True if another hook has already reported the beginning of the same turn. This is so if the note has the hash of the
 * same message of the person, and no hook has reported the end of a turn after that message. The note is read again,
 * because the other hook has possibly just written it.
 */
function isTold({ call, notes }: CallWork): boolean {
  const note = notes.get(call.session);
  return note?.isIdle !== true && note?.asked === hashOfPrompt(call);
}

function hashOfPrompt({ session, prompt }: HookCall): string {
  return createHash("sha256")
    .update(JSON.stringify([session, prompt?.text]))
    .digest("hex")
    .slice(0, 16);
}

/**
 * Records the beginning of the turn and the person's message. Returns a list with one warning if this fails, and an
 * empty list otherwise.
 */
async function recordTurn(
  { adapter, call: { session, prompt } }: CallWork,
  workspace: WorkspaceApi,
  turn: string,
): Promise<readonly string[]> {
  const { text, transcript, message } = prompt ?? {};
  try {
    const actor = adapter.name;
    await workspace.startTurn({ session, turn, actor, ...optional({ prompt: text, transcript, message }) });
    return [];
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    const hint = error.hint === undefined ? "" : ` (${error.hint})`;
    return [`the beginning of this turn is not recorded: ${error.message}${hint}`];
  }
}

/**
 * Abandons the open actions of the agent that called the hook. With `all`, abandons the open actions of all agents of
 * the session. `unsure`: it is not known whether the tools have run.
 */
async function abandon(
  { note, workspace }: Workplace,
  { session, lane }: HookCall,
  { all, ...how }: { readonly reason: string; readonly all: boolean; readonly unsure: boolean },
): Promise<void> {
  const over = Object.keys({ ...note.open, ...note.doubted }).filter((key) => all || key.startsWith(`${lane} `));
  const except = Object.entries(note.open).flatMap(([key, id]) => (over.includes(key) ? [] : [id]));
  await workspace.abandonActions({ session, ...how, except });
  for (const key of over) forgetCall(note, key);
  if (note.waiting !== undefined) note.waiting = all ? [] : note.waiting.filter((one) => one.lane !== lane);
}

/**
 * Returns an id for a new turn of an agent that gives no ids of turns. The id is `startsTurn`, or is made from the
 * session's id and the seq of the newest event. There is one exception: if the newest event is the beginning of a turn
 * of this session, and `isSame` returns true, returns the id of that turn. Two installed hooks can report the same
 * beginning with different times.
 */
async function newTurn(
  workspace: WorkspaceApi,
  { session, startsTurn }: HookCall,
  isSame: () => boolean = () => true,
): Promise<string> {
  const [last] = await workspace.log({ reverse: true, limit: 1 });
  const begun = `turn:${session}:`;
  if (last?.record_id.startsWith(begun) === true && isSame()) return last.record_id.slice(begun.length);
  return startsTurn ?? `${session.slice(0, 8)}-${last?.seq ?? 0}`;
}

function keyOf({ lane, toolCall }: HookCall): string {
  return `${lane} ${toolCall ?? ""}`;
}

async function beforeTool(work: CallWork): Promise<readonly string[]> {
  const { call, notes, strict } = work;
  const { note, workspace } = await workplace(work);
  const key = keyOf(call);
  // The same hook can be installed several times: by the user, by the project and by a plugin. The first of these hooks
  // enters the call in the note, and the others find the call there.
  if (note.open[key] !== undefined && note.ends?.[key] === undefined) return [];
  const isKnown = isWaiting(note, key);
  if (strict && (isKnown || mustWait(note, call))) {
    note.waiting = note.waiting?.filter((one) => keyOf(one) !== key) ?? [];
    notes.put(call.session, note);
    throw new SnapshotRefused(new ChronicleError("REFUSED", TOGETHER, { hint: ALONE }));
  }
  if (isKnown) return [];
  if (mustWait(note, call)) {
    note.waiting = [...(note.waiting ?? []), call];
    notes.put(call.session, note);
    return [];
  }
  if (call.queue !== undefined) beginQueue(note, call.lane, call.queue);
  if (call.lane !== "") note.hasLanes = true;
  try {
    const troubles = await endEarlier({ note, workspace }, isInOrder(work) ? call.lane : undefined);
    await beginCall(work, { note, workspace });
    return troubles;
  } finally {
    notes.put(call.session, note);
  }
}

/**
 * The reason with which a strict hook refuses the second and later tool calls of one message of the model. The agent
 * waits for the hooks of all these calls before it runs the first tool. Only the hook after a tool could then make the
 * snapshot for the next call. If the agent does not call this hook, the next tool runs without a snapshot.
 */
const TOGETHER =
  "the tool was called together with another tool, so that no snapshot could be made right before it ran";
const ALONE = "call it again, alone";

async function beginCall(work: CallWork, { note, workspace }: Workplace): Promise<void> {
  const { call } = work;
  // If the beginning of the turn was not reported, the turn begins with this call.
  const turn = call.turn ?? (note.turn ??= await newTurn(workspace, call));
  const snapshot = await keep(() => workspace.snapshotAction(requestOf(work, turn)));
  if (snapshot !== null) noteOpen(note, keyOf(call), { id: snapshot.id, isUnsaid: call.action?.unsaid === true });
}

/** True if the beginning of a call means that the earlier calls of the agent have ended. */
function isInOrder({ adapter, call }: CallWork): boolean {
  return adapter.sequential || call.queue !== undefined;
}

/** True if an earlier call of the same message of the model has not ended. */
function mustWait({ open, queues = {} }: SessionNote, { lane, queue }: HookCall): boolean {
  return queue !== undefined && queues[lane] === queue && Object.keys(open).some((key) => key.startsWith(`${lane} `));
}

/**
 * Notes the message of the model to which the agent's calls belong from now on. Drops the calls of an earlier message
 * that are still waiting, because no action was begun for them.
 */
function beginQueue(note: SessionNote, lane: string, queue: string): void {
  if (note.queues?.[lane] === queue) return;
  note.queues = { ...note.queues, [lane]: queue };
  note.waiting = note.waiting?.filter((one) => one.lane !== lane) ?? [];
}

function isWaiting({ waiting = [] }: SessionNote, key: string): boolean {
  return waiting.some((one) => keyOf(one) === key);
}

/**
 * Begins the next waiting call of the agent, after the previous call has ended. The tool of the next call runs as soon
 * as the present hook has answered.
 */
async function beginWaiting(work: CallWork, { note, workspace }: Workplace): Promise<void> {
  const { lane } = work.call;
  const next = note.waiting?.find((one) => one.lane === lane);
  if (next === undefined) return;
  note.waiting = note.waiting?.filter((one) => one !== next) ?? [];
  await beginCall({ ...work, call: next }, { note, workspace });
}

function requestOf({ adapter, call, owner }: CallWork, turn: string): ActionRequest {
  return {
    type: call.action?.type ?? "unknown",
    payload: call.action?.payload ?? {},
    ...(call.action?.summary === undefined ? {} : { summary: call.action.summary }),
    actor: adapter.name,
    session: call.session,
    turn,
    ...optional({ toolCall: call.toolCall }),
    depth: call.depth,
    onFailure: "block",
    pid: owner,
  };
}

async function keep<T>(snapshot: () => Promise<T>): Promise<T> {
  try {
    return await snapshot();
  } catch (error) {
    if (error instanceof ChronicleError && NOT_KEPT.includes(error.code)) throw new SnapshotRefused(error);
    throw error;
  }
}

async function afterTool(work: CallWork): Promise<readonly string[]> {
  const { call, notes } = work;
  const { note, workspace } = await workplace(work);
  const key = keyOf(call);
  if (isWaiting(note, key)) return passOver(work, { note, workspace });
  const id = note.open[key] ?? note.doubted?.[key] ?? (await findUnfinished(workspace, call));
  // Without an id, there is no action to end. Either another hook has already recorded the end, or no hook recorded the
  // beginning. The latter happens, for example, if the hooks were installed during the call.
  if (id === undefined) return [];
  const { outcome = "done", reason } = call;
  try {
    await endCall({ note, workspace }, { key, id, end: { outcome, ...optional({ reason }) } });
    await beginWaiting(work, { note, workspace });
  } finally {
    notes.put(call.session, note);
  }
  return [];
}

/**
 * Records a call that has ended but, according to the note, still waits for the previous call. The end of the previous
 * call was not reported. The changes of the two calls can no longer be distinguished, and belong to the previous call.
 * Calls that waited between the two are recorded as denied.
 */
async function passOver(work: CallWork, { note, workspace }: Workplace): Promise<readonly string[]> {
  const { call, notes } = work;
  const queued = note.waiting?.filter((one) => one.lane === call.lane) ?? [];
  const passed = queued.slice(0, queued.findIndex((one) => keyOf(one) === keyOf(call)) + 1);
  note.waiting = note.waiting?.filter((one) => !passed.includes(one)) ?? [];
  try {
    const running = Object.keys(note.open).filter((key) => key.startsWith(`${call.lane} `));
    for (const key of running) note.ends = { [key]: SHARED_END, ...note.ends };
    const troubles = await endEarlier({ note, workspace });
    for (const one of passed) {
      const { outcome = "done", reason = SHARED_REASON } = call;
      const end = keyOf(one) === keyOf(call) ? { outcome, reason } : PASSED_END;
      await recordPassed({ ...work, call: one }, { note, workspace }, end);
    }
    await beginWaiting(work, { note, workspace });
    return troubles;
  } finally {
    notes.put(call.session, note);
  }
}

const SHARED_END: ActionEnd = {
  outcome: "failed",
  reason: "its end was not reported: what changed until the end of the next call is recorded here",
};

const SHARED_REASON = "what it changed is recorded with the call before it, whose end was not reported";

const PASSED_END: ActionEnd = { outcome: "denied", reason: "the agent went on without it" };

/**
 * Records the action of a call that has ended or never ran. If the snapshot fails, the call is not refused, because it
 * is too late for a refusal.
 */
async function recordPassed(work: CallWork, { note, workspace }: Workplace, end: ActionEnd): Promise<void> {
  const turn = work.call.turn ?? (note.turn ??= await newTurn(workspace, work.call));
  const snapshot = await workspace.snapshotAction({ ...requestOf(work, turn), onFailure: "warn" });
  if (snapshot !== null) await endCall({ note, workspace }, { key: keyOf(work.call), id: snapshot.id, end });
}

/**
 * Searches the log for the action of a call that is not in the note. Returns the action's id if the action is open or
 * abandoned, because an abandoned action can still be finished. Otherwise, returns `undefined`.
 */
async function findUnfinished(workspace: WorkspaceApi, { session, toolCall }: HookCall): Promise<string | undefined> {
  const all = await workspace.list();
  const last = all.findLast((one) => one.session === session && one.tool_call === toolCall);
  return last?.state === "open" || last?.state === "abandoned" ? last.id : undefined;
}

async function endTurn({ call, notes, open }: CallWork): Promise<readonly string[]> {
  const note = notes.get(call.session);
  if (note === undefined) return [];
  const workspace = await open(note.workspace, false);
  const troubles = await endEarlier({ note, workspace });
  try {
    await abandon({ note, workspace }, call, { reason: "the turn ended", all: false, unsure: false });
    note.isIdle = call.lane === "";
  } finally {
    notes.put(call.session, note);
  }
  return troubles;
}

async function endSession({ call, notes, open }: CallWork): Promise<readonly string[]> {
  const note = notes.get(call.session);
  notes.remove(call.session);
  try {
    const workspace = await open(note?.workspace ?? call.cwd, false);
    const troubles = note === undefined ? [] : await endEarlier({ note, workspace });
    await workspace.abandonActions({ session: call.session, reason: "the session ended", unsure: true });
    await workspace.endSession(call.session);
    return troubles;
  } catch (error) {
    // The session never began in a workspace, or its workspace was forgotten.
    if (!(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
    return [];
  }
}

/**
 * The codes of errors which mean that files could not be stored before or after a tool call. Errors with other codes
 * are faults of Chronicle itself.
 */
const NOT_KEPT: readonly string[] = ["REFUSED", "LIMIT_EXCEEDED", "IO", "UNSAFE", "PATH_INVALID", "FORBIDDEN"];

/**
 * Records the end of a call. If this fails, handles the failure and throws the error again:
 *
 * - If files could not be stored (`NOT_KEPT`), the action is closed all the same.
 * - If the history has no such action, the call is removed from the note.
 * - After any other error, the end stays in the note and is recorded at the next hook. Without its end, the action
 *   would stay open, and would be a candidate for the changes of all later actions of the turn.
 */
async function endCall(
  { note, workspace }: Workplace,
  { key, id, end }: { readonly key: string; readonly id: string; readonly end: ActionEnd },
): Promise<void> {
  note.open[key] = id;
  note.ends = { ...note.ends, [key]: end };
  try {
    await workspace.finishAction(id, end);
    forgetCall(note, key);
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    if (NOT_KEPT.includes(error.code)) {
      // The call has ended, so close the action, with the missing files in its coverage. The error, which is thrown
      // below, informs the user.
      await workspace.finishAction(id, { ...end, onFailure: "warn" });
      forgetCall(note, key);
    }
    if (error.code === "NOT_FOUND") forgetCall(note, key);
    throw error;
  }
}

function noteOpen(
  note: SessionNote,
  key: string,
  { id, isUnsaid }: { readonly id: string; readonly isUnsaid: boolean },
): void {
  forgetCall(note, key);
  note.open[key] = id;
  if (isUnsaid) note.unsaid = [...(note.unsaid ?? []), key];
}

function forgetCall(note: SessionNote, key: string): void {
  delete note.open[key];
  delete note.ends?.[key];
  delete note.doubted?.[key];
  if (note.unsaid !== undefined) note.unsaid = note.unsaid.filter((one) => one !== key);
}

/**
 * Records the end of each open call whose end was reported or can be inferred. `lane`: the agent that begins a call
 * now, if this means that its earlier calls have ended. Returns a warning for each end that could not be recorded (see
 * `troubleOf`).
 */
async function endEarlier(workplace: Workplace, lane?: string): Promise<string[]> {
  const { note } = workplace;
  const troubles: string[] = [];
  for (const key of Object.keys(note.open)) {
    const id = note.open[key];
    // Another hook has ended the call in the meantime.
    if (id === undefined) continue;
    try {
      const end = note.ends?.[key] ?? (await endOf(workplace, { key, id, lane }));
      if (end === undefined) continue;
      await endCall(workplace, { key, id, end });
      if (end.outcome === "denied") note.doubted = { ...note.doubted, [key]: id };
    } catch (error) {
      const told = troubleOf(error);
      if (told === undefined) forgetCall(note, key);
      else troubles.push(told);
    }
  }
  return troubles;
}

/**
 * Infers the outcome of a call whose end was not reported. Returns `undefined` if the call is possibly still running.
 */
async function endOf(
  { note, workspace }: Workplace,
  { key, id, lane }: { readonly key: string; readonly id: string; readonly lane: string | undefined },
): Promise<ActionEnd | undefined> {
  // The agent begins another call without having reported the end of this call. This call was probably denied or never
  // ran. If the agent reports the end of this call after all, the two calls ran in parallel.
  if (lane !== undefined && key.startsWith(`${lane} `)) {
    return PASSED_END;
  }
  // Codex never reports the end of a patch in a shell line. The call has ended once the files of the patch have
  // changed.
  if (note.unsaid?.includes(key) !== true) return undefined;
  const { changes } = await workspace.diffAction(id);
  return changes.length === 0 ? undefined : {};
}

/**
 * Returns a warning for the user about a call whose end could not be recorded. Returns `undefined` if the history has
 * no action for the call. This happens if the history was begun anew or restored from a copy.
 */
function troubleOf(error: unknown): string | undefined {
  if (!(error instanceof ChronicleError)) throw error;
  if (error.code === "NOT_FOUND") return undefined;
  const hint = error.hint === undefined ? "" : ` (${error.hint})`;
  return `the changes of an earlier call are not recorded: ${error.message}${hint}`;
}
