import type { Head, EventDraft } from "../../core/values/event.ts";
import { type IntentRecord, intentOfRequest } from "../../core/records/records.ts";
import { isWithin } from "../../core/values/path.ts";
import type { LoggedAction } from "../facts/actions.ts";
import { innermost, openBrackets, type Brackets, type OpenTransaction } from "../facts/brackets.ts";
import type { Context } from "../log/context.ts";
import { Nesting, placeOf } from "../facts/nesting.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { optional } from "../../util/optional.ts";
import type { FileWriteShape } from "../../api/file-api.ts";
import type { Change } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { IndexHead } from "../../storage/index-store.ts";
import { closing, fileDraft, opening } from "../commit/operation-drafts.ts";
import { refuseErased } from "../facts/erased-look.ts";
import { refuseTakenId } from "../facts/taken-ids.ts";
import { planWrite, type PlanGround } from "./plan-write.ts";
import { usedBefore } from "../facts/taken-ids.ts";
import { answerAgain, targetOf, writeShape, type WriteDone } from "./write-answer.ts";
import { talliedAfter, type Tally } from "./write-limits.ts";
import { WriteState } from "./write-state.ts";

/** The outcome of one write: its answer, or the error that prevented it. */
export type Outcome = { readonly answer: FileWriteShape } | { readonly error: unknown };

export interface PlannedWrite {
  readonly id: string;
  readonly write: ReadyWrite;
  readonly intent: IntentRecord;
  readonly changes: readonly Change[];
  /**
   * The events of the write: the open intent, the changes, and the closed intent. If there are no changes, the closed
   * intent is the only event. If a crash prevents the closed intent, `settle` finishes or undoes the write later.
   */
  readonly drafts: readonly EventDraft[];
  /** The data for the answer to the write. The answer is sent once the events are durable. */
  readonly done: WriteDone;
}

export interface BatchGround {
  readonly head: IndexHead;
  readonly tally: Tally;
  readonly isUnrecordedFolder: PlanGround["isUnrecordedFolder"];
  readonly areHoldersRecorded?: PlanGround["areHoldersRecorded"];
  /** Throws if the changes are not allowed. Default: all changes are allowed. */
  readonly refuse?: (changes: readonly Change[]) => void;
}

/**
 * Plans the writes of one commit, one after the other. Each write sees the changes of earlier writes in the batch. A
 * write that cannot be done does not prevent the others. The caller must hold the workspace's lock.
 */
export class WriteBatch {
  readonly planned: PlannedWrite[] = [];
  readonly #context: Context;
  readonly #ground: BatchGround;
  readonly #state: WriteState;
  readonly #attribute: (write: ReadyWrite) => WriteAttribution;
  /** Maps ids of intents to the planned writes that have a request id. */
  readonly #requests = new Map<string, PlannedWrite>();
  readonly #sessions = new Set<string>();
  #seq: number;
  #tally: Tally;

  private constructor(context: Context, ground: BatchGround, attribute: (write: ReadyWrite) => WriteAttribution) {
    this.#context = context;
    this.#ground = ground;
    this.#state = new WriteState(context.index, ground.head.seq);
    this.#attribute = attribute;
    this.#seq = ground.head.seq;
    this.#tally = ground.tally;
  }

  static async begin(context: Context, ground: BatchGround): Promise<WriteBatch> {
    return new WriteBatch(context, ground, await writeAttributor(context, ground.head));
  }

  /**
   * Plans a write. If this batch has the same request already, returns the plan of that request. If the request was
   * done before, or if there is nothing to record, returns the answer instead of a plan. Throws if the write cannot be
   * done. If `isAsIs` is true, the disk already has the state that the write asks for. No change is then planned, even
   * if the history does not have this state.
   */
  async plan(write: ReadyWrite, isAsIs = false): Promise<PlannedWrite | FileWriteShape> {
    const { requestId } = write.by;
    await this.#refuseTaken(write.by.session);
    const id = requestId === undefined ? this.#context.newId() : intentOfRequest(requestId);
    if (requestId !== undefined) {
      const same = this.#requests.get(id);
      if (same !== undefined && same.write.asked !== write.asked) throw usedBefore(requestId);
      const again = same ?? (await answerAgain(this.#context, id, write));
      if (again !== undefined) return again;
      if (write.kind === "put" && write.content.onlyCompared === true) throw forgotten(requestId);
    }
    const changes = isAsIs ? [] : await this.#changesOf(write);
    this.#ground.refuse?.(changes);
    if (changes.length === 0 && requestId === undefined) return writeShape(write, await this.#unchanged(write));
    this.#tally = talliedAfter(this.#context, write, { changes, tally: this.#tally });
    const planned = await this.#record({ id, write, changes });
    if (requestId !== undefined) this.#requests.set(id, planned);
    this.planned.push(planned);
    return planned;
  }

  #changesOf(write: ReadyWrite): Promise<Change[]> {
    return planWrite(write, {
      state: this.#state,
      now: Math.floor(this.#context.now()),
      isUnrecordedFolder: this.#ground.isUnrecordedFolder,
      areHoldersRecorded: this.#ground.areHoldersRecorded,
      refuseErased: (entries) => refuseErased(this.#context, entries),
    });
  }

  /** Throws `USAGE` if `session` is the id of a run, an action, a transaction or another operation. */
  async #refuseTaken(session: string | undefined): Promise<void> {
    if (session === undefined || this.#sessions.has(session)) return;
    await refuseTakenId(this.#context, session);
    this.#sessions.add(session);
  }

  async #unchanged(write: ReadyWrite): Promise<WriteDone> {
    return { seq: this.#seq, now: await this.#state.at(targetOf(write)), changes: [], id: undefined };
  }

  async #record({ id, write, changes }: Pick<PlannedWrite, "id" | "write" | "changes">): Promise<PlannedWrite> {
    const { client } = write.by.caller;
    const { requestId } = write.by;
    const intent: IntentRecord = {
      kind: "write",
      state: "done",
      summary: write.summary.toWellFormed(),
      ...(client === undefined ? {} : { client: client.toWellFormed() }),
      ...this.#attribute(write),
      started: new Date(this.#context.now()).toISOString(),
      paths: changes.length,
      fromSeq: this.#seq,
      ...(requestId === undefined ? {} : { request: requestId, asked: write.asked }),
    };
    const drafts: EventDraft[] = changes.length === 0 ? [] : [opening(id, intent)];
    for (const change of changes) {
      const { iteration } = await this.#state.at(change.path);
      drafts.push(fileDraft({ id, intent }, change, iteration + 1));
    }
    drafts.push(closing(id, intent, { blocked: [] }));
    await this.#state.take(changes, this.#seq + 2);
    this.#seq += drafts.length;
    const isNothing = changes.length === 0;
    const now = await this.#state.at(targetOf(write));
    return {
      id,
      write,
      intent,
      changes,
      drafts,
      done: { seq: this.#seq, now, changes, id: isNothing ? undefined : id },
    };
  }
}

/**
 * Returns the error for a request whose answer is no longer known. When its content arrived, the index still knew an
 * earlier request with this id. The content was therefore only hashed, and cannot be written now.
 */
function forgotten(request: string): ChronicleError {
  return new ChronicleError(
    "REFUSED",
    `the request ${JSON.stringify(request)} was done before, but its answer is no longer known: nothing was changed`,
    {
      hint: "send the request again",
    },
  );
}

/**
 * The outcome of a write at its target. `overtaken` is set if the write failed because somebody edited one of its paths
 * between the capture and the change. Another attempt can succeed.
 */
export type TargetOutcome = Outcome & { readonly overtaken?: true };

export function isPlanned(what: PlannedWrite | FileWriteShape): what is PlannedWrite {
  return "drafts" in what;
}

/** Returns the outcome for an error that concerns one write only. Throws any other error, which ends the batch. */
export function ofOneWrite(error: unknown): Outcome {
  if (error instanceof ChronicleError && OF_ONE_WRITE.has(error.code)) return { error };
  throw error;
}

const OF_ONE_WRITE: ReadonlySet<string> = new Set([
  "PRECONDITION_FAILED",
  "NOT_FOUND",
  "REFUSED",
  "USAGE",
  "LIMIT_EXCEEDED",
  "PATH_INVALID",
  "UNSAFE",
  // A move throws these codes if an old content cannot be put at the new path.
  "ERASED",
  "PRUNED",
  "BLOB_MISSING",
]);

type WriteAttribution = Pick<IntentRecord, "actor" | "session" | "action" | "transaction">;

/**
 * Returns a function that attributes writes. Unlike a change that a capture finds, a write has a known writer. A write
 * belongs to the first of these that exists:
 * - the open action that declared the path of the write, unless the action and the write are of different sessions;
 * - the open action of the write's session whose scope is the whole workspace;
 * - the innermost transaction that is open to all sessions or is of the write's session.
 *
 * If several actions qualify, the write belongs to no action. If several transactions qualify, the write belongs to no
 * transaction.
 */
async function writeAttributor(context: Context, head: Head): Promise<(write: ReadyWrite) => WriteAttribution> {
  const brackets = await openBrackets(context, head);
  const nesting = await Nesting.of(context, brackets);
  const { within } = await placeOf(context, nesting, { pid: context.processes.pid });
  const around = within.run === undefined ? new Set<string>() : nesting.around(within.run);
  return (write) => {
    const { actor, session } = write.by;
    const action = actionFor(write, brackets.actions);
    const its = session ?? (action === undefined ? within.run : action.session);
    const transaction = action === undefined ? transactionFor(session, brackets, around) : undefined;
    return {
      // The action's actor comes before the caller's actor, because a caller without an actor of its own counts as the
      // one who opened the workspace.
      actor: actor ?? action?.actor ?? write.by.caller.actor,
      ...optional({ session: its }),
      ...(action === undefined ? {} : { action: action.id }),
      ...(transaction === undefined ? {} : { transaction: transaction.id }),
    };
  };
}

/**
 * Returns the only open action that qualifies for the write (see `writeAttributor`); `undefined` if no action or
 * several actions qualify.
 */
function actionFor(write: ReadyWrite, open: readonly LoggedAction[]): LoggedAction | undefined {
  const { session } = write.by;
  const own = open.filter((one) => session === undefined || one.session === undefined || one.session === session);
  const paths = write.kind === "move" ? [write.path, write.to] : [write.path];
  const declared = own.filter((one) => one.paths.some((named) => paths.some((path) => isWithin(path, named))));
  const meant =
    declared.length > 0 ? declared : own.filter((one) => one.scope === "workspace" && one.session === session);
  return meant.length === 1 ? meant[0] : undefined;
}

/**
 * Returns the innermost open transaction that can own the write. Returns `undefined` if no transaction can own the
 * write, or if several transactions are innermost. A transaction that contains a run (`holds`) owns only writes from
 * within this run.
 */
function transactionFor(
  session: string | undefined,
  { transactions }: Brackets,
  around: ReadonlySet<string>,
): OpenTransaction | undefined {
  const own = transactions.filter(({ id, record }) => {
    const isMeant = record.session === undefined || record.session === session;
    return isMeant && (record.holds === undefined || around.has(id));
  });
  const [only, second] = innermost(own);
  return second === undefined ? only : undefined;
}
