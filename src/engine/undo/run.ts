import type { RunShape, SessionShape } from "../../api/shapes.ts";
import type { Change } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Json } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { coverageOf, type Omission } from "../../core/records/coverage.ts";
import { idOfText } from "../../core/records/records.ts";
import { isRestored, type OmittedChange } from "../../core/records/omitted-change.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { quoteCommand } from "../../core/shell/quote-command.ts";
import { targetsFor } from "../actions/outside.ts";
import { type Capture, capture } from "../capture/capture.ts";
import { type Context, refuseHosted } from "../log/context.ts";
import { unrecordedSince, statOmitted } from "../facts/omitted-changes.ts";
import { type BeforeSession, hiddenBySession, isRuleFile } from "../capture/omitted-of-action.ts";
import { GIT, type GitChange } from "../../core/records/git-record.ts";
import { isGitState, outermost } from "../capture/git-state.ts";
import { gitTouchedBy } from "../capture/left-out.ts";
import { gitChangesOf, gitNotesOfUnseenEnd, keepGit, loggedGit } from "../capture/git-work.ts";
import { lostGit, lostUnseen } from "../capture/lost-git.ts";
import { changesAside, endOfAside, type KeptAside, stillKept, keepAside } from "../capture/keep-aside.ts";
import { changesOfSession } from "../facts/changes-within.ts";
import type { OperationQueue } from "../capture/operation-queue.ts";
import { Recorder } from "../capture/recorder.ts";
import type { Session } from "../facts/actions.ts";
import { asJson, endSession, beginSession, findSession, sessionShape } from "../actions/session.ts";
import { coverageShape, gitShape, shownPath } from "../log/shape.ts";
import { endTransaction, reasonOf, type TransactionEnd } from "./run-transaction.ts";
import { detailedShapes } from "../read/change-details.ts";
import { nameMoment } from "../read/snapshot.ts";
import { tellOfCopies } from "../log/tell-of-copies.ts";
import { openTransaction, rollbackTransaction } from "./transaction.ts";
import { type UnknownBefore, unknownBeforeRun, unknownShape } from "./unknown-before.ts";
import { optional } from "../../util/optional.ts";
import type {
  CommandEnd,
  CommandRunner,
  ProgressOptions,
  Recording,
  RunOptions,
  WatchOptions,
} from "../../api/workspace-api.ts";
import { maskCommand } from "../../core/shell/mask-secrets.ts";
import { ROLE_VARIABLE } from "../../core/values/agents-role.ts";
import { overLimit } from "../capture/baseline.ts";
import { openBrackets } from "../facts/brackets.ts";
import { activeTransactions } from "../facts/transactions.ts";
import { Nesting, placeOf } from "../facts/nesting.ts";
import { refuseOverQuota } from "../log/quota.ts";

/**
 * Captures the workspace, so that only changes after this capture can belong to the session. Returns the present paths
 * that no capture takes, and the filters. Throws an error if the capture exceeds a limit of the workspace.
 */
async function prepare(context: Context, options: ProgressOptions): Promise<BeforeSession> {
  refuseOverQuota(context);
  const before = await capture(context, {
    cause: "capture",
    ...optional({ onProgress: options.onProgress }),
  });
  const excess = before.exceeded[0];
  if (excess !== undefined) throw overLimit(context, excess);
  if (before.changes.length > 0) await nameMoment(context, before, { cause: "before-session" });
  return { omitted: await statOmitted(context, before.coverage), filters: before.filters };
}

/** The environment variable that tells the command and its children the id of the run. */
const RUN_VARIABLE = "CHRONICLE_RUN";

/**
 * Derives the run's id from the caller's request id, so that a repeated request is recognised. Returns `undefined`
 * without a request id.
 */
function idOfRequest({ caller: { requestId } }: Context): string | undefined {
  return requestId === undefined ? undefined : idOfText(`chronicle run\0${requestId}`);
}

/**
 * Returns what was recorded of the run with the caller's request id; `undefined` if there is no such run, or if it has
 * not ended.
 */
async function recordedBefore(context: Context): Promise<RunShape | undefined> {
  const id = idOfRequest(context);
  if (id === undefined || (await context.index.record(`session:${id}`)) === undefined) return undefined;
  const session = await findSession(context, id);
  if (session.state === "running") return undefined;
  const { exitCode, signal } = session;
  return recordedRun(context, session, { exitCode, signal, code: exitCode ?? 1 });
}

/**
 * Returns the parts of git's own state that the command is about to remove or write, as far as its arguments show this.
 */
function gitRemovedBy(context: Context, { command, cwd }: RunOptions, { omitted }: BeforeSession): Omission[] {
  const there = [...omitted.values()].map(({ omission }) => omission).filter(isGitState);
  if (there.length === 0) return [];
  const named = targetsFor(context, "run_command", { command: quoteCommand(command), ...optional({ cwd }) });
  if (named.kind === "none") return [];
  const touched = new Map(gitTouchedBy(named, there).map((one) => [one.path, one]));
  return outermost(touched.keys()).flatMap((path) => touched.get(path) ?? []);
}

function exposedNote({ path, detail, reason }: Omission): string {
  return `${shownPath(path)} cannot be kept aside (${detail ?? reason}), so an undo does not bring it back`;
}

interface AskedRun extends RunOptions {
  /** The ids of the actions and of other work within which the caller starts the run. */
  readonly around: readonly string[];
}

interface Begun {
  readonly kept: Kept;
  readonly session: Session;
  /** The transaction that is rolled back if the command fails. */
  readonly transaction: string | undefined;
}

/**
 * Returns the caller's function that reads the network events; `{}` if the caller gave none. The function is called
 * after the command has ended.
 */
function networkAtEnd({ networkEvents }: RunOptions): Pick<Ending, "networkEvents"> | Record<never, never> {
  return typeof networkEvents === "function" ? { networkEvents } : {};
}

async function begin(context: Context, given: AskedRun, before: BeforeSession): Promise<Begun> {
  const networkEvents = typeof given.networkEvents === "function" ? [] : (given.networkEvents ?? []);
  const options = { ...given, networkEvents };
  const { pid } = context.processes;
  const nesting = await Nesting.of(context, await openBrackets(context));
  const place = await placeOf(context, nesting, { pid, within: given.around, inFolder: true });
  const id = idOfRequest(context) ?? context.newId();
  // The lease protects the kept-aside contents from garbage collection until the session's record names them.
  using _lease = await context.blobs.lease();
  const { entries, aside, trees, exposed } = await keepAside(
    context,
    before.omitted,
    gitRemovedBy(context, options, before),
  );
  const { git, notes: ofGit } = await keepGit(context);
  const notes = [...(options.notes ?? []), ...ofGit, ...exposed.map(exposedNote)];
  const kept = { ...before, entries, trees };
  if (options.rollbackOnFailure !== true)
    return {
      kept,
      session: await beginSession(context, { ...options, kind: "run", id, place, aside, git, notes }),
      transaction: undefined,
    };
  // If this process is killed, the next change of the workspace rolls the transaction back.
  const name = quoteCommand(maskCommand(options.command)).slice(0, MOST_NAME).toWellFormed();
  const transaction = await openTransaction(context, { name }, { holds: { id, within: place.within } });
  const within = { ...place.within, transaction };
  return {
    kept,
    session: await beginSession(context, {
      ...options,
      kind: "run",
      id,
      place: { ...place, within },
      aside,
      git,
      notes,
    }),
    transaction,
  };
}

export interface HowToRun {
  /** The ids of the actions around this call: the program makes the call in the functions of these actions. */
  readonly within?: readonly string[];
  /**
   * The queue in which the run takes turns with other operations. Default: none, because the caller has queued the
   * whole run.
   */
  readonly queue?: OperationQueue;
}

/**
 * Runs a command and records what it changes. If a run with the caller's request id has ended before, returns that run.
 */
export async function run(given: Context, options: RunOptions, how: HowToRun = {}): Promise<RunShape> {
  refuseHosted(given, "run a command");
  const { runner } = options;
  const context = runner === undefined ? given : { ...given, processes: { ...given.processes, ...ofRunner(runner) } };
  const { within = [], queue } = how;
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => queue?.inTurn(work) ?? work();
  const prepared = async (): Promise<Begun> => begin(context, { ...options, around }, await prepare(context, options));
  const around = [...within, ...(options.within === undefined ? [] : [options.within])];
  const look = (): Promise<RunShape | undefined> => recordedBefore(context);
  const before = await (queue?.change(look) ?? look());
  if (before !== undefined) return before;
  const begun = await (queue?.change(prepared) ?? prepared());
  const { session, transaction, kept } = begun;
  const recorder = new Recorder(context, {
    cause: "run",
    // The root existed when the command began. If the root is gone at the end, the command has removed it.
    ends: { absentRoot: "removed" },
    inTurn,
    ...optional({ onCapture: options.onCapture }),
  });
  let end: CommandEnd;
  try {
    await recorder.start();
    options.onStart?.();
    end = await context.processes.run(options.command, {
      cwd: options.cwd ?? context.worktree.roots[0]?.folder ?? "/",
      ...optional({ env: options.env, descriptors: options.descriptors, bytes: options.bytes }),
      moreEnv: { [RUN_VARIABLE]: session.id, [ROLE_VARIABLE]: "agent" },
    });
  } catch (error) {
    const isOpen = runner !== undefined && error instanceof ChronicleError && error.code === "UNAVAILABLE";
    if (isOpen) await recorder.giveUp();
    else await inTurn(() => endUnstarted(context, begun, recorder));
    throw error;
  }
  return inTurn(async () => {
    const done = await finishRun(context, session, { recorder, kept, end, ...networkAtEnd(options) });
    return runShape(context, done, { end, ended: await endTransaction(context, transaction, { end, done }) });
  });
}

function ofRunner(runner: CommandRunner): Pick<Context["processes"], "pid" | "run"> {
  return { pid: runner.pid, run: (command, surroundings) => runner.run(command, surroundings) };
}

/**
 * Ends the session of a command that could not be started or followed, and rolls back the session's transaction, if
 * any.
 */
async function endUnstarted(context: Context, begun: Begun, recorder: Recorder): Promise<void> {
  const { session, transaction, kept } = begun;
  await orTell(context, "the end of the run was not recorded", () => finish(context, session, { recorder, kept }));
  if (transaction === undefined) return;
  await orTell(context, "the run was not rolled back", async () =>
    tellOfCopies(context, (await rollbackTransaction(context, transaction)).undo.conflicts),
  );
}

async function runShape(
  context: Context,
  done: Finished,
  { end: { code, signal }, ended }: { readonly end: CommandEnd; readonly ended: TransactionEnd },
): Promise<RunShape> {
  return {
    session: sessionShape(done.session),
    changes: await detailedShapes(context, done.changes),
    ...(done.git.length === 0 ? {} : { git: done.git.map(gitShape) }),
    ambiguous: done.ambiguous.map(shownPath),
    ...unknownShape(done.unknown),
    coverage: done.coverage,
    not_recorded: ended.isRolledBack ? null : done.notRecorded,
    exit_code: code,
    signal,
    undo_id: isUndoable(done) && !ended.isRolledBack && done.notRecorded === null ? done.session.id : null,
    rolled_back: ended.isRolledBack && ended.left === null,
    not_rolled_back: ended.left,
    ...optional({ not_committed: ended.uncommitted }),
    skipped: ended.skipped,
    conflicts: ended.conflicts,
  };
}

const UNSEEN_END =
  "the process that recorded the run was gone when the run ended, so changed files that no capture takes are not listed";

/**
 * Records the end of a run whose command continued after the process that recorded the run was gone. If the end is
 * recorded already, returns the recorded run. Throws `NOT_FOUND` if there is no such session. Throws `USAGE` if the
 * session is no run, or if another process began it.
 */
export async function endRun(
  context: Context,
  { session: id, ...end }: NonNullable<RunOptions["ended"]>,
): Promise<RunShape> {
  const session = await findSession(context, id);
  if (session.kind !== "run" || session.pid !== context.processes.pid) {
    throw new ChronicleError("USAGE", `the end of ${id.slice(0, 8)} is recorded by the process that began it`, {
      hint: "`chronicle sessions` shows what is being recorded",
    });
  }
  if (session.state !== "running") return recordedRun(context, session, end);
  const transaction = await ownTransaction(context, id);
  const done = await orNotRecorded(context, session, end, () => finishLate(context, session, end));
  return runShape(context, done, { end, ended: await endTransaction(context, transaction, { end, done }) });
}

/** Returns what was recorded of a run that has ended, and ends the run's own transaction if it is still active. */
async function recordedRun(context: Context, session: Session, end: CommandEnd): Promise<RunShape> {
  const { changes, ambiguous } = await recordedSoFar(context, session.id, session.fromSeq);
  const coverage = { complete: false, omitted: [] };
  const git = (await loggedGit(context, ({ recordId }) => recordId === `${GIT}${session.id}`))[0]?.changes ?? [];
  const done = { session, changes, ambiguous, git, unknown: NONE_UNKNOWN, coverage, notRecorded: null };
  const ended = await endTransaction(context, await ownTransaction(context, session.id), { end, done });
  return runShape(context, done, { end, ended });
}

/**
 * Returns the active transaction that was begun for the session. A transaction around the session is not returned,
 * because that transaction continues after the session.
 */
async function ownTransaction(context: Context, session: string): Promise<string | undefined> {
  return (await activeTransactions(context)).find(({ holds }) => holds === session)?.id;
}

async function finishLate(context: Context, session: Session, end: CommandEnd): Promise<Finished> {
  const { id, fromSeq } = session;
  const last = await capture(context, { cause: "run", root: true, absentRoot: "removed" });
  const { changes, ambiguous } = await changesOfSession(context, id, { fromSeq, toSeq: last.seq });
  if (changes.length > 0) await nameMoment(context, last, { cause: session.kind, session: id });
  using _lease = await context.blobs.lease();
  const { aside: _before, ...begun } = session;
  const lost = await lostUnseen(context, session);
  const { changes: omittedChanges, aside } = await endOfAside(context, session, lost);
  const notes = [...session.notes, UNSEEN_END, ...lost.notes, ...gitNotesOfUnseenEnd(session)];
  const ended = await endSession(
    context,
    { ...begun, notes, omittedChanges, ...optional({ aside }) },
    endOf(end, { roots: last.root === undefined ? [] : [last.root], changed: changes.length }),
  );
  return {
    session: ended,
    changes,
    ambiguous,
    git: [],
    unknown: NONE_UNKNOWN,
    coverage: coverageShape(last.coverage),
    notRecorded: null,
  };
}

function endOf(
  end: CommandEnd | undefined,
  { roots, changed }: { readonly roots: readonly Hash[]; readonly changed: number },
): Parameters<typeof endSession>[2] {
  return {
    state: "ended",
    exitCode: end?.exitCode ?? null,
    signal: end?.signal ?? null,
    merkleRoots: roots,
    snapshots: changed > 0 ? 1 : 0,
    changed,
  };
}

/**
 * Runs work after a failure. A `ChronicleError` of this work is only passed to `tell`, so that the caller gets the
 * first failure.
 */
async function orTell(context: Context, what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    context.tell?.(`${what}: ${error.message}`);
  }
}

/** The maximum length of the name of a run's transaction, in UTF-16 code units. */
const MOST_NAME = 200;

/**
 * Records the changes of the folder as a session, until `stop` of the result is called. If the recorder cannot start,
 * ends the session and throws the error.
 */
export async function watch(context: Context, options: WatchOptions): Promise<Recording> {
  refuseHosted(context, "watch files");
  const before = await prepare(context, options);
  const session = await beginSession(context, { kind: "watch", command: [] });
  const recorder = new Recorder(context, {
    cause: "watch",
    ...(options.onCapture ? { onCapture: options.onCapture } : {}),
    ...(options.onSettings ? { onSettings: options.onSettings } : {}),
  });
  const ending = { recorder, kept: { ...before, entries: new Map(), trees: [] } };
  try {
    await recorder.start();
  } catch (error) {
    // If the session stayed open, later edits would be attributed to it.
    await orTell(context, "the end of the recording was not recorded", () => finish(context, session, ending));
    throw error;
  }
  const { promise, resolve, reject } = Promise.withResolvers<SessionShape>();
  let stopping = false;
  return {
    sessionId: session.id,
    done: promise,
    stop: () => {
      if (!stopping) {
        stopping = true;
        finish(context, session, ending).then((done) => resolve(sessionShape(done.session)), reject);
      }
      return promise;
    },
  };
}

const NONE_UNKNOWN: UnknownBefore = { paths: [], notes: [] };

interface Finished {
  readonly session: Session;
  readonly changes: readonly Change[];
  readonly ambiguous: readonly WorkspacePath[];
  /** The changes of the state of git. */
  readonly git: readonly GitChange[];
  readonly unknown: UnknownBefore;
  readonly coverage: RunShape["coverage"];
  /** The reason why changes of the command were not recorded; `null` if they were recorded. */
  readonly notRecorded: RunShape["not_recorded"];
}

/** The paths that no capture takes, as they were before a session, and the contents kept aside for the session. */
type Kept = BeforeSession &
  Pick<KeptAside, "entries"> & {
    /** The folders with git's own state that are kept aside as a whole. */
    readonly trees: readonly Omission[];
  };

interface Ending {
  readonly recorder: Recorder;
  readonly kept: Kept;
  readonly end?: CommandEnd;
  /** Returns the network events that a proxy wrote while the command ran. */
  readonly networkEvents?: () => readonly unknown[];
}

async function finish(context: Context, session: Session, ending: Ending): Promise<Finished> {
  const { recorder, kept, end } = ending;
  const { roots, last: found } = await recorder.stop();
  const { last, hidden: byRules } = await takeRules(recorder, await hiddenBySession(context, kept, found), found);
  const hidden = [...byRules, ...(await unrecordedSince(context, kept.omitted, last.coverage.omitted))];
  const { id, fromSeq } = session;
  const { changes, ambiguous } = await changesOfSession(context, id, { fromSeq, toSeq: last.seq });
  if (changes.length > 0) await nameMoment(context, last, { cause: session.kind, session: session.id });
  const network = networkOf(session, ending);
  const notes = [...session.notes, ...missedNote(recorder.failure), ...network.notes];
  const { networkEvents } = network;
  using _lease = await context.blobs.lease();
  const { aside: before, ...begun } = session;
  const lost = await lostGit(context, session.git, (path) => kept.trees.some((one) => isWithin(path, one.path)));
  const trees = [...kept.trees, ...lost.trees];
  const entries = new Map([...(await stillKept(context, kept.entries, before)), ...lost.entries]);
  // Everything in `trees` is compared path by path, so paths within them are left out of `omitted` and `hidden`.
  const isInTree = (path: WorkspacePath): boolean => trees.some((one) => isWithin(path, one.path));
  const omitted = new Map([...kept.omitted].filter(([path]) => !isInTree(path)));
  const { changes: omittedChanges, aside } = await changesAside(
    context,
    { omitted, id, entries },
    hidden.filter(({ path }) => !isInTree(path)),
    trees,
  );
  const git = await gitChangesOf(context, session);
  const ended = await endSession(
    context,
    { ...begun, notes: [...notes, ...lost.notes, ...git.notes], networkEvents, omittedChanges, ...optional({ aside }) },
    { ...endOf(end, { roots, changed: changes.length }), also: git.drafts },
  );
  const unknown = await unknownBeforeRun(context, changes, { fromSeq, omitted: kept.omitted });
  const coverage = coverageShape(last.coverage);
  return { session: ended, changes, ambiguous, git: git.changes, unknown, coverage, notRecorded: null };
}

/**
 * Captures the rule files (`.gitignore`) that the session changed and that the rules themselves exclude. Other excluded
 * files are only listed.
 */
async function takeRules(
  recorder: Recorder,
  hidden: readonly OmittedChange[],
  last: Capture,
): Promise<{ readonly last: Capture; readonly hidden: readonly OmittedChange[] }> {
  const rules = new Set(hidden.filter(isRuleFile).map(({ path }) => path));
  if (rules.size === 0) return { last, hidden };
  const { seq } = await recorder.take([...rules]);
  const coverage = coverageOf(
    last.coverage.omitted.filter(({ path }) => !rules.has(path)),
    last.coverage.unapplied,
  );
  return { last: { ...last, coverage, seq }, hidden: hidden.filter(({ path }) => !rules.has(path)) };
}

function isUndoable({ changes, git, session }: Finished): boolean {
  return changes.length + git.length > 0 || session.omittedChanges.some(isRestored);
}

/**
 * Returns a note if captures failed during the command. The last capture recorded the changes that the failed captures
 * missed, but not the states in between.
 */
function missedNote(failure: unknown): string[] {
  if (failure === undefined) return [];
  const reason = failure instanceof Error ? failure.message : "for an unknown reason";
  return [`a capture during the work failed (${reason.toWellFormed()}): states between two captures may be missing`];
}

interface Network {
  readonly networkEvents: readonly Json[];
  readonly notes: readonly string[];
}

/** If the network events cannot be read, returns a note instead of an error, because the command has already run. */
function networkOf(session: Session, { networkEvents: read }: Ending): Network {
  if (read === undefined) return { networkEvents: session.networkEvents, notes: [] };
  try {
    return { networkEvents: read().map(asJson), notes: [] };
  } catch (error) {
    return { networkEvents: [], notes: [`the network events were not recorded: ${reasonOf(error)}`] };
  }
}

/**
 * Finishes a run. If the end of the command cannot be recorded, returns the reason, a command that helps, and the known
 * changes.
 */
function finishRun(
  context: Context,
  session: Session,
  ending: Ending & { readonly end: CommandEnd },
): Promise<Finished> {
  return orNotRecorded(context, session, ending.end, () => finish(context, session, ending));
}

async function orNotRecorded(
  context: Context,
  session: Session,
  { exitCode, signal }: CommandEnd,
  work: () => Promise<Finished>,
): Promise<Finished> {
  try {
    return await work();
  } catch (error) {
    const { id, fromSeq } = session;
    const { changes, ambiguous } = await recordedSoFar(context, id, fromSeq);
    const hint = `chronicle restore seq:${fromSeq}`;
    const advice = error instanceof ChronicleError && error.hint !== undefined ? ` (${error.hint})` : "";
    return {
      session: { ...session, exitCode, signal },
      changes,
      ambiguous,
      git: [],
      unknown: NONE_UNKNOWN,
      coverage: { complete: false, omitted: [] },
      notRecorded: { reason: `${reasonOf(error)}${advice}`, hint },
    };
  }
}

async function recordedSoFar(
  context: Context,
  id: string,
  fromSeq: number,
): Promise<Pick<Finished, "changes" | "ambiguous">> {
  try {
    const { seq } = await context.index.head();
    return await changesOfSession(context, id, { fromSeq, toSeq: seq });
  } catch (error) {
    if (error instanceof ChronicleError) return { changes: [], ambiguous: [] };
    throw error;
  }
}
