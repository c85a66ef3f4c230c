import type { RunShape, SessionShape, UndoShape } from "../api/shapes.ts";
import type { ProgressOptions, Recording, RunOptions, WatchOptions } from "../api/workspace-api.ts";
import type { Change } from "../core/change.ts";
import { maskCommand } from "../core/mask-secrets.ts";
import type { WorkspacePath } from "../core/path.ts";
import { quoteCommand } from "../core/quote-command.ts";
import { overLimit } from "./baseline.ts";
import { capture } from "./capture.ts";
import type { Context, ProcessEnd } from "./context.ts";
import { refuseHosted } from "./hosted.ts";
import { settle } from "./operate.ts";
import { changesOfSession } from "./own-changes.ts";
import { Recorder } from "./recorder.ts";
import { beginSession, closeAbandoned, endSession, sessionShape, type Session } from "./session.ts";
import { changeShape, coverageShape, shownPath } from "./shape.ts";
import { refuseOverQuota } from "./quota.ts";
import { nameMoment } from "./snapshot.ts";
import { commitRun, openTransaction, rollbackTransaction } from "./transaction.ts";

/** Records what is there, so that what follows is the session's own. */
async function prepare(context: Context, options: ProgressOptions): Promise<void> {
  refuseOverQuota(context);
  await settle(context);
  await closeAbandoned(context);
  const before = await capture(context, {
    cause: "capture",
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  const excess = before.exceeded[0];
  if (excess !== undefined) throw overLimit(context, excess);
  if (before.changes.length > 0) await nameMoment(context, before, { cause: "before-session" });
}

interface Finished {
  readonly session: Session;
  readonly changes: readonly Change[];
  readonly ambiguous: readonly WorkspacePath[];
  readonly coverage: RunShape["coverage"];
}

async function finish(
  context: Context,
  session: Session,
  given: { readonly recorder: Recorder; readonly end?: ProcessEnd },
): Promise<Finished> {
  const { recorder, end } = given;
  const { roots, last } = await recorder.stop();
  const { id, fromSeq } = session;
  const { changes, ambiguous } = await changesOfSession(context, id, { fromSeq, toSeq: last.seq });
  if (changes.length > 0) await nameMoment(context, last, { cause: session.kind, session: session.id });
  const notes = [...session.notes, ...missedNote(recorder.failure)];
  const ended = await endSession(
    context,
    { ...session, notes },
    {
      state: "ended",
      exitCode: end?.exitCode ?? null,
      signal: end?.signal ?? null,
      merkleRoots: roots,
      snapshots: changes.length > 0 ? 1 : 0,
      changed: changes.length,
    },
  );
  return { session: ended, changes, ambiguous, coverage: coverageShape(last.coverage) };
}

/** The last look made up for what one on the way could not record, but not for what came and went in between. */
function missedNote(failure: unknown): string[] {
  if (failure === undefined) return [];
  const reason = failure instanceof Error ? failure.message : "for an unknown reason";
  return [`a capture on the way failed (${reason.toWellFormed()}): states between two captures may be missing`];
}

/** Runs a command and records what it changes while it runs. */
export async function run(context: Context, options: RunOptions): Promise<RunShape> {
  refuseHosted(context, "run a command");
  await prepare(context, options);
  // Killed with this process, the transaction is rolled back by the next change of the workspace.
  const name = quoteCommand(maskCommand(options.command)).slice(0, MOST_NAME).toWellFormed();
  const transaction = options.rollbackOnFailure === true ? await openTransaction(context, { name }) : undefined;
  const session = await beginSession(context, { ...options, kind: "run" });
  const recorder = new Recorder(context, {
    cause: "run",
    ...(options.onCapture ? { onCapture: options.onCapture } : {}),
  });
  let end: ProcessEnd;
  try {
    await recorder.start();
    options.onStart?.();
    end = await context.processes.run(options.command, {
      cwd: options.cwd ?? context.worktree.roots[0]?.folder ?? "/",
      ...(options.env === undefined ? {} : { env: options.env }),
    });
  } catch (error) {
    await finish(context, session, { recorder });
    if (transaction !== undefined) await rollbackTransaction(context, transaction, { run: session.id });
    throw error;
  }
  const done = await finish(context, session, { recorder, end });
  const taken = transaction === undefined ? undefined : await land(context, transaction, { session, end });
  return {
    session: sessionShape(done.session),
    changes: done.changes.map(changeShape),
    ambiguous: done.ambiguous.map(shownPath),
    coverage: done.coverage,
    exit_code: end.code,
    signal: end.signal,
    undo_id: done.changes.length > 0 && taken === undefined ? session.id : null,
    rolled_back: taken !== undefined,
    skipped: taken?.skipped ?? [],
  };
}

const MOST_NAME = 200;

/** Ends the transaction of a run as the command has ended. Answers what was taken back, if anything was. */
async function land(
  context: Context,
  transaction: string,
  { session, end }: { readonly session: Session; readonly end: ProcessEnd },
): Promise<UndoShape | undefined> {
  if (end.code === 0) {
    await commitRun(context, transaction, session.id);
    return undefined;
  }
  const { undo } = await rollbackTransaction(context, transaction, { run: session.id });
  return undo.undo_id === null ? undefined : undo;
}

/** Records changes until it is stopped. */
export async function watch(context: Context, options: WatchOptions): Promise<Recording> {
  refuseHosted(context, "watch files");
  await prepare(context, options);
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
        finish(context, session, { recorder }).then((done) => resolve(sessionShape(done.session)), reject);
      }
      return promise;
    },
  };
}
