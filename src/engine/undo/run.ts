import type { RunShape, SessionShape } from "../../api/shapes.ts";
import type { ProgressOptions, Recording, RunOptions, WatchOptions } from "../../api/workspace-api.ts";
import { maskCommand } from "../../core/shell/mask-secrets.ts";
import { ROLE_VARIABLE } from "../../core/values/agents-role.ts";
import { quoteCommand } from "../../core/shell/quote-command.ts";
import { overLimit } from "../capture/baseline.ts";
import { openBrackets } from "../facts/brackets.ts";
import { capture } from "../capture/capture.ts";
import type { Context, ProcessEnd } from "../log/context.ts";
import { refuseHosted } from "../log/hosted.ts";
import type { BeforeSession } from "../capture/hidden-by-session.ts";
import { keepAside } from "../capture/keep-aside.ts";
import { Nesting, placeOf } from "../facts/nesting.ts";
import { statOmitted } from "../facts/omitted-changes.ts";
import { Recorder } from "../capture/recorder.ts";
import { finish, finishRun, isUndoable, type Kept, land, NOT_ASKED, type Ending } from "./run-end.ts";
import type { Session } from "../facts/logged-sessions.ts";
import { beginSession, sessionShape } from "../actions/session.ts";
import { changeShape, shownPath } from "../log/shape.ts";
import { refuseOverQuota } from "../log/quota.ts";
import { nameMoment } from "../read/snapshot.ts";
import { openTransaction, rollbackTransaction } from "./transaction.ts";
import { optional } from "../../util/optional.ts";

/** Records what is there, so that what follows is the session's own. Returns what is there and no capture takes. */
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

/** Tells the command, and what it starts, within which run it works. */
const RUN_VARIABLE = "CHRONICLE_RUN";

/** A run that is asked for, and the ids of what its caller knows to be around it. */
interface AskedRun extends RunOptions {
  readonly around: readonly string[];
}

/** A run that has begun. */
interface Begun {
  readonly kept: Kept;
  readonly session: Session;
  /** The transaction that is rolled back if the command fails. */
  readonly transaction: string | undefined;
}

/** The network events, if they can be read only after the command: those of a function. */
function networkAtEnd({ networkEvents }: RunOptions): Pick<Ending, "networkEvents"> | Record<never, never> {
  return typeof networkEvents === "function" ? { networkEvents } : {};
}

async function begin(context: Context, given: AskedRun, before: BeforeSession): Promise<Begun> {
  const networkEvents = typeof given.networkEvents === "function" ? [] : (given.networkEvents ?? []);
  const options = { ...given, networkEvents };
  const { pid } = context.processes;
  const nesting = await Nesting.of(context, await openBrackets(context));
  const place = await placeOf(context, nesting, { pid, within: given.around, inFolder: true });
  const id = context.newId();
  // Keeps the collector away from the first content until the session's record names it.
  using _lease = await context.blobs.lease();
  const { entries, aside } = await keepAside(context, before.omitted);
  const kept = { ...before, entries };
  if (options.rollbackOnFailure !== true)
    return {
      kept,
      session: await beginSession(context, { ...options, kind: "run", id, place, aside }),
      transaction: undefined,
    };
  // Killed with this process, the transaction is rolled back by the next change of the workspace.
  const name = quoteCommand(maskCommand(options.command)).slice(0, MOST_NAME).toWellFormed();
  const transaction = await openTransaction(context, { name }, { holds: { id, within: place.within } });
  const within = { ...place.within, transaction };
  return {
    kept,
    session: await beginSession(context, { ...options, kind: "run", id, place: { ...place, within }, aside }),
    transaction,
  };
}

/** Runs a command and records what it changes while it runs. `within`: the actions in whose function it was called. */
export async function run(context: Context, options: RunOptions, within: readonly string[] = []): Promise<RunShape> {
  refuseHosted(context, "run a command");
  const around = [...within, ...(options.within === undefined ? [] : [options.within])];
  const { session, transaction, kept } = await begin(context, { ...options, around }, await prepare(context, options));
  const recorder = new Recorder(context, {
    cause: "run",
    // The command was alone with a folder that was there: where it is not any more, the command has removed it.
    ends: { absentRoot: "removed" },
    ...(options.onCapture ? { onCapture: options.onCapture } : {}),
  });
  let end: ProcessEnd;
  try {
    await recorder.start();
    options.onStart?.();
    end = await context.processes.run(options.command, {
      cwd: options.cwd ?? context.worktree.roots[0]?.folder ?? "/",
      ...optional({ env: options.env, descriptors: options.descriptors, bytes: options.bytes }),
      moreEnv: { [RUN_VARIABLE]: session.id, [ROLE_VARIABLE]: "agent" },
    });
  } catch (error) {
    await finish(context, session, { recorder, kept });
    if (transaction !== undefined) await rollbackTransaction(context, transaction);
    throw error;
  }
  const done = await finishRun(context, session, { recorder, kept, end, ...networkAtEnd(options) });
  const landed = transaction === undefined ? NOT_ASKED : await land(context, transaction, { end, done });
  return {
    session: sessionShape(done.session),
    changes: done.changes.map(changeShape),
    ambiguous: done.ambiguous.map(shownPath),
    coverage: done.coverage,
    not_recorded: landed.isTaken ? null : done.notRecorded,
    exit_code: end.code,
    signal: end.signal,
    undo_id: isUndoable(done) && !landed.isTaken && done.notRecorded === null ? session.id : null,
    rolled_back: landed.isTaken && landed.left === null,
    not_rolled_back: landed.left,
    skipped: landed.skipped,
  };
}

const MOST_NAME = 200;

/** Records changes until it is stopped. */
export async function watch(context: Context, options: WatchOptions): Promise<Recording> {
  refuseHosted(context, "watch files");
  const before = await prepare(context, options);
  const session = await beginSession(context, { kind: "watch", command: [] });
  const recorder = new Recorder(context, {
    cause: "watch",
    ...(options.onCapture ? { onCapture: options.onCapture } : {}),
    ...(options.onSettings ? { onSettings: options.onSettings } : {}),
  });
  await recorder.start();
  const { promise, resolve, reject } = Promise.withResolvers<SessionShape>();
  let stopping = false;
  return {
    sessionId: session.id,
    done: promise,
    stop: () => {
      if (!stopping) {
        stopping = true;
        finish(context, session, { recorder, kept: { ...before, entries: new Map() } }).then(
          (done) => resolve(sessionShape(done.session)),
          reject,
        );
      }
      return promise;
    },
  };
}
