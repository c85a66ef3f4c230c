import type {
  SettledWriteBack,
  WriteBackAnswer,
  WriteBackBatch,
  WriteBackEntry,
  WriteBackReason,
  WriteBackRules,
} from "../core/records/write-back.ts";
import type { WorkspaceContents } from "../replication/contents/content-server.ts";
import type { SecretContents } from "../replication/contents/session-contents.ts";
import {
  ReceivedContents,
  type WriteBackTarget,
  type WriteBackParts,
} from "../replication/origin/write-back-intake.ts";
import type { Context } from "../engine/log/context.ts";
import { refuseOverQuota } from "../engine/log/quota.ts";
import { acceptWriteBack } from "../engine/replica/accept-write-back.ts";
import { settledWriteBack } from "../engine/replica/settled-write-back.ts";
import { refusalOf } from "../engine/replica/write-back-rules.ts";
import { keepToBudget } from "../engine/upkeep/private-budget.ts";
import { openQueue } from "../engine/undo/open-queue.ts";
import type { OperationQueue } from "../engine/capture/operation-queue.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { wasMoved } from "../core/tree/moved-folder.ts";
import type { AnnouncedContent } from "../core/records/announced-content.ts";
import { FileReplicaCursors } from "../replication/origin/file-replica-cursors.ts";
import { HistoryContents } from "../replication/contents/history-contents.ts";
import { HistoryTrees } from "../replication/origin/history-trees.ts";
import { LogHistory } from "../replication/contents/log-history.ts";
import type { OriginOptions } from "../replication/origin/origin-session.ts";
import { MOST_HELD } from "../replication/origin/replica-cursors.ts";
import { NODE_TIMERS, type Timers } from "../util/timers.ts";
import { Signal } from "../util/signal.ts";
import type { HeldLock } from "../storage/lock.ts";
import { answer } from "../engine/log/answer.ts";
import { capture } from "../engine/capture/capture.ts";
import { catchUp } from "../engine/log/catch-up.ts";
import { isInBase } from "../engine/log/read-base.ts";
import { refuseMoved } from "../engine/commit/commit.ts";
import { folderPresence } from "../store/folder-identity.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks } from "./store-tasks.ts";
import { watchLog } from "../store/watch-log.ts";
import { groupedDigits } from "../util/grouped-digits.ts";

/**
 * A session's lease of a workspace that replicas follow. All sessions in this process share the open workspace.
 * Disposal ends the lease.
 */
export interface OriginLease extends Disposable {
  /** The context of the engine that decides about the write-backs of replicas. */
  readonly context: Context;
  readonly options: Pick<
    OriginOptions,
    | "history"
    | "contents"
    | "blocks"
    | "secrets"
    | "cursors"
    | "signedHead"
    | "trees"
    | "writeBack"
    | "folderAway"
    | "foreseen"
    | "look"
  >;
}

interface OriginsOptions {
  /** Default: the timers of the platform. */
  readonly timers?: Timers;
  /** Receives errors that the operator of the server should know. Default: the errors are dropped. */
  readonly onError?: (error: unknown) => void;
}

/** The time in ms for which a workspace stays open after its last session, because most replicas soon connect again. */
const IDLE_MS = 10_000;

/** The maximum time, in ms, to wait for other writers before the end of the log is read. */
const HOLD_OFF_MS = 250;

/** The delay in ms before changed cursors are written. */
const CURSORS_MS = 1_000;

interface Place {
  readonly opened: Promise<OpenedOrigin>;
  leases: number;
  closing: Disposable | undefined;
  isClosed: boolean;
}

interface OpenedOrigin extends Pick<OriginLease, "context" | "options"> {
  close(): Promise<void>;
}

/** The open workspaces of a store that replicas follow. Each workspace is open once for all its sessions. */
export class Origins implements AsyncDisposable {
  readonly #parts: StoreParts;
  readonly #how: Required<OriginsOptions>;
  readonly #places = new Map<string, Place>();
  readonly #ending = new Set<Promise<void>>();

  constructor(parts: StoreParts, { timers = NODE_TIMERS, onError = () => undefined }: OriginsOptions = {}) {
    this.#parts = parts;
    this.#how = { timers, onError };
  }

  /**
   * Leases a workspace for a session, and opens it if it is not open. `id` must be the full id, not a prefix. A
   * workspace whose folder was moved is opened again at the new place.
   */
  async lease(id: string): Promise<OriginLease> {
    const place = this.#places.get(id) ?? this.#open(id);
    place.leases += 1;
    place.closing?.[Symbol.dispose]();
    place.closing = undefined;
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      place.leases -= 1;
      if (place.leases > 0) return;
      if (this.#places.get(id) !== place) void this.#close(id, place);
      else place.closing = this.#how.timers.after(IDLE_MS, () => void this.#close(id, place));
    };
    try {
      const { context, options } = await place.opened;
      if (await isMoved(context)) {
        if (this.#places.get(id) === place) this.#places.delete(id);
        release();
        return await this.lease(id);
      }
      return { context, options, [Symbol.dispose]: release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * Closes the workspaces that have no lease, and waits for all workspaces that are being closed. Throws the error of a
   * failed close.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const [id, place] of this.#places) if (place.leases === 0) void this.#close(id, place);
    await Promise.all(this.#ending);
  }

  #open(id: string): Place {
    const opened = openOrigin(this.#parts, id, this.#how);
    const place: Place = { opened, leases: 0, closing: undefined, isClosed: false };
    this.#places.set(id, place);
    opened.catch(() => {
      place.isClosed = true;
      if (this.#places.get(id) === place) this.#places.delete(id);
    });
    return place;
  }

  #close(id: string, place: Place): Promise<void> {
    place.closing?.[Symbol.dispose]();
    place.closing = undefined;
    if (place.isClosed) return Promise.resolve();
    place.isClosed = true;
    if (this.#places.get(id) === place) this.#places.delete(id);
    const ending = place.opened.then(async (one) => one.close());
    this.#ending.add(ending);
    // Keep a failed close in the set, so that disposal throws its error, too.
    ending.then(
      () => this.#ending.delete(ending),
      () => undefined,
    );
    return ending;
  }
}

async function isMoved(context: Context): Promise<boolean> {
  try {
    await answer(context, () => refuseMoved(context));
    return false;
  } catch (error) {
    if (wasMoved(error)) return true;
    throw error;
  }
}

function tooMany(id: string, holder: string): ChronicleError {
  return new ChronicleError(
    "LIMIT_EXCEEDED",
    `${holder} has presented more than ${groupedDigits(MOST_HELD)} replicas of workspace ${id}: those that were absent for the longest time are forgotten`,
    {
      hint: "a sandbox that is made again with the same folder and store keeps its id; if you do not know who presents them, revoke the token",
    },
  );
}

async function openOrigin(
  parts: StoreParts,
  id: string,
  { timers, onError }: Required<OriginsOptions>,
): Promise<OpenedOrigin> {
  const { disk } = parts.backends;
  const files = parts.layout.workspace(id);
  await using closing = new AsyncDisposableStack();
  const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id) });
  closing.defer(close);
  const log = await parts.backends.openLog(files);
  closing.defer(() => log.close());
  const history = new LogHistory(id, log, {
    others: { holdOff: async () => holdOff(context), timers },
    locate: (seq) => locate(context, seq),
  });
  for (const signal of [parts.decided, parts.recorded]) {
    closing.use(
      signal.listen(({ workspaceId, events }) => {
        if (workspaceId === id) history.recorded(events);
      }),
    );
  }
  const foreseen = new Signal<AnnouncedContent>();
  closing.use(
    parts.foreseen.listen(({ workspaceId, ...content }) => {
      if (workspaceId === id) foreseen.emit(content);
    }),
  );
  closing.use(watchLog(disk, files.log, { timers, onGrown: () => history.grown() }));
  const delay = { timers, ms: CURSORS_MS };
  const onDropped = (holder: string): void => onError(tooMany(id, holder));
  const cursors = closing.use(new FileReplicaCursors(disk, files.replicas, { delay, onFailed: onError, onDropped }));
  const contents = new HistoryContents(context);
  const signedHead = async (): Promise<string | undefined> => {
    const kept = context.heads.last(id);
    return kept?.valid === true ? kept.note : undefined;
  };
  const writeBack = closing.use(openWriteBack(context, contents)).parts;
  const folderAway = folderPresence(disk, context.worktree.roots[0]?.folder ?? "", () => context.now());
  const open = closing.move();
  return {
    context,
    options: {
      history,
      ...{ contents, blocks: contents, secrets: contents },
      cursors,
      signedHead,
      trees: new HistoryTrees(context),
      writeBack,
      foreseen,
      folderAway,
      look: async () => {
        if (folderAway() === undefined) await recordFolder(context, onError);
      },
    },
    close: () => open.disposeAsync(),
  };
}

/**
 * Records the state of the folder. Does nothing if the workspace is read-only. Passes an error to `onError`, and also
 * throws it.
 */
async function recordFolder(context: Context, onError: (error: unknown) => void): Promise<void> {
  if (context.readOnly) return;
  try {
    await capture(context, { cause: "capture" });
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "READ_ONLY") return;
    onError(error);
    throw error;
  }
}

/**
 * Takes the lock that excludes all writers. Then moves a torn end of the log (the remains of an interrupted write)
 * away. A replica must not receive these bytes, because the log does not keep them.
 */
async function holdOff(context: Context): Promise<HeldLock> {
  const held = await context.lock.exclusive(HOLD_OFF_MS);
  try {
    await catchUp(context, { recover: true });
    return held;
  } catch (error) {
    // The lines before the damage are sound, and can still be sent.
    if (error instanceof ChronicleError && error.code === "LOG_DAMAGED") return held;
    held[Symbol.dispose]();
    throw error;
  }
}

async function locate({ index }: Context, seq: number) {
  const row = await index.locate(seq);
  return row === undefined || isInBase(row) ? undefined : { seq, offset: row.offset };
}

export interface OpenWriteBack extends AsyncDisposable {
  readonly parts: WriteBackParts;
}

/**
 * Opens the engine that decides about the write-backs of replicas. No other operation queue of this process may use
 * `context`. Disposal waits for the engine's work.
 */
export function openWriteBack(
  context: Context,
  contents: WorkspaceContents & Partial<SecretContents>,
  rules: WriteBackRules = {},
): OpenWriteBack {
  const queue = openQueue(context, keepToBudget, async () => undefined);
  const received = new ReceivedContents(context.blobs, contents);
  return {
    parts: { target: new EngineWriteBack(context, queue, rules), blobs: context.blobs, received },
    [Symbol.asyncDispose]: () => queue.close(),
  };
}

class EngineWriteBack implements WriteBackTarget {
  readonly #context: Context;
  readonly #queue: OperationQueue;
  readonly #rules: WriteBackRules;

  constructor(context: Context, queue: OperationQueue, rules: WriteBackRules) {
    this.#context = context;
    this.#queue = queue;
    this.#rules = rules;
  }

  settled(replica: string): Promise<SettledWriteBack> {
    return this.#queue.read(() => settledWriteBack(this.#context, replica));
  }

  reserve(bytes: number): void {
    if (bytes > 0) refuseOverQuota(this.#context, bytes);
  }

  refusal(entry: WriteBackEntry): WriteBackReason | undefined {
    return refusalOf(entry, this.#context.worktree.roots, this.#rules);
  }

  decide(batch: WriteBackBatch): Promise<WriteBackAnswer> {
    return this.#queue.change(() => acceptWriteBack(this.#context, batch, this.#rules));
  }
}
