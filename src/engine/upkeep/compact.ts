import type { CompactShape, VerifyProblemShape } from "../../api/shapes.ts";
import type { CompactOptions } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { decodeSentinel, encodeSentinel, sentinelId, type Sentinel } from "../../core/records/sentinel.ts";
import type { IndexHead } from "../../storage/index-store.ts";
import { addAll } from "../../util/long-lists.ts";
import { openBrackets } from "../facts/brackets.ts";
import { capture } from "../capture/capture.ts";
import { checkBase } from "./check-base.ts";
import { withCommit, type Commit } from "../commit/commit.ts";
import { workspaceRecord } from "../log/own-record.ts";
import type { Context } from "../log/context.ts";
import { UNOWNED_HOURS } from "../log/owner-process.ts";
import { keepHead } from "../commit/head.ts";
import { IndexAudit } from "./index-audit.ts";
import { IndexDisagrees } from "../log/index-disagrees.ts";
import { openIntents } from "../capture/operate.ts";
import { readEvent } from "../log/read-events.ts";
import { endIdleSessions } from "../actions/agent-session.ts";
import { refuseUnsent } from "../facts/followed-origin.ts";
import { listSessions } from "../actions/session.ts";
import { latestSnapshot, nameMoment } from "../read/snapshot.ts";
import { rootToState } from "../state/root-to-state.ts";
import { refuseUnsigned } from "../log/signing.ts";
import { presentOf } from "./verify-copy.ts";
import { verifyLog } from "./verify-log.ts";
import { writeBase } from "./write-base.ts";
import { optional } from "../../util/optional.ts";

/**
 * Moves the log into the archive and begins a new log with a sentinel (a `compact` event, which names a base). As long
 * as the archive exists, every moment can be restored. With `dropArchive`, the archive is removed, and the history
 * begins at the sentinel. Before that, this call or an earlier one has verified the log from its first line, and has
 * compared the base with the replayed state.
 *
 * Throws `NOT_FOUND` if nothing is recorded. Throws `REFUSED` if the history is not signed, if an operation is
 * interrupted, or if the log or its state cannot be proved. With `dropArchive`, also throws `REFUSED` if work is open,
 * or if the workspace follows an origin that has not answered all changes yet.
 */
export async function compact(context: Context, options: CompactOptions = {}): Promise<CompactShape> {
  const drop = options.dropArchive === true;
  if (drop) await prepareToDrop(context, options);
  using _lease = await context.blobs.lease();
  return await withCommit(context, async (commit) => {
    const head = await commit.head();
    if (head.seq === 0) throw nothingRecorded();
    await refuseUnsigned(context, "compaction");
    // Work may have begun since the check in `prepareToDrop`, which was made without the lock.
    if (drop) await refuseOpenWork(context);
    await refuseOpenIntents(context);
    if (drop) await refuseUnsent(context);
    const present = await sentinelOfLog(context);
    const isFresh = present !== undefined && head.seq === context.log.firstSeq;
    const isDone = isFresh && (!drop || present.dropsArchive);
    const shape = isDone
      ? { events_archived: 0, base: present.base, seq: head.seq, archive: null }
      : await sealLog(context, commit, { head, options });
    if (!drop) return { ...shape, dropped: 0 };
    return {
      ...shape,
      archive: null,
      dropped: await dropArchive(context, commit, { base: shape.base as Hash, isDone }),
    };
  });
}

interface Sealing {
  readonly head: IndexHead;
  readonly options: CompactOptions;
}

async function sealLog(
  context: Context,
  commit: Commit,
  { head, options }: Sealing,
): Promise<Omit<CompactShape, "dropped">> {
  const { seq, hash, frontier } = head;
  if (hash === "") throw nothingRecorded();
  const first = context.log.firstSeq;
  await proveIndex(context, seq);
  const { base, root } = await writeBase(context, seq);
  const dropsArchive = options.dropArchive === true;
  if (dropsArchive) await verifyBeforeDrop(context, { base, root, options });
  const workspace = await workspaceRecord(context);
  // The sentinel names the present head. This head is signed and kept first, so that the sentinel can be checked
  // against the kept head.
  await keepHead(context);
  const sentinel: Sentinel = {
    base,
    root,
    range: [first, seq],
    head: hash,
    size: seq,
    frontier,
    workspace,
    dropsArchive,
  };
  const recordId = sentinelId(context.workspaceId);
  const event = await commit.seal({ op: "compact", recordId, record: encodeSentinel(sentinel) });
  await keepHead(context);
  const archive = (await context.log.archived()).at(-1)?.name ?? null;
  return { events_archived: seq - first + 1, base, seq: event.seq, archive };
}

/**
 * Compares every row of the index with the log, because the base is made from the index. Throws `IndexDisagrees` if a
 * row differs. The index is then rebuilt, and the operation is repeated. Throws `REFUSED` if the log cannot be replayed
 * to its end.
 */
async function proveIndex(context: Context, seq: number): Promise<void> {
  const audit = await IndexAudit.begin(context.index);
  const problems: VerifyProblemShape[] = [];
  const log = await verifyLog(context, {
    ...{ audit, problems, notes: [], seqsOfInterest: new Set() },
    bound: seq,
  });
  if (log.broken) throw notProved(problems);
  const [wrong] = await audit.finish();
  if (wrong !== undefined) throw new IndexDisagrees(wrong.detail, { seq });
}

async function sentinelOfLog(context: Context): Promise<Sentinel | undefined> {
  const row = context.log.firstSeq === 1 ? undefined : await context.index.locate(context.log.firstSeq);
  return row === undefined ? undefined : decodeSentinel(await readEvent(context, row));
}

interface Dropping {
  readonly base: Hash;
  /** True if an earlier call has verified and sealed the log, but did not finish. */
  readonly isDone: boolean;
}

async function dropArchive(context: Context, commit: Commit, { base, isDone }: Dropping): Promise<number> {
  const archived = await context.log.archived();
  if (archived.length === 0) return 0;
  if (isDone) {
    const [fault] = (await checkBase(context.blobs, base)) ?? [{ where: base, detail: "it is not in the store" }];
    if (fault !== undefined) throw notDropped([`base: ${fault.where}: ${fault.detail}`]);
  }
  await commit.dropArchive();
  return archived.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

interface ToVerify {
  readonly base: Hash;
  readonly root: Hash;
  readonly options: CompactOptions;
}

/**
 * Throws `REFUSED` unless every line is sound, every needed content is present, and the base equals the replayed state.
 */
async function verifyBeforeDrop(context: Context, { base, root, options }: ToVerify): Promise<void> {
  const problems: { kind: string; where: string; detail: string }[] = [];
  const kept = context.heads.last(context.workspaceId);
  const { seq } = await context.index.head();
  const log = await verifyLog(context, {
    problems,
    notes: [],
    bound: seq,
    seqsOfInterest: new Set(kept === undefined ? [] : [kept.seq]),
    ...optional({ onProgress: options.onProgress }),
    atEnd: async (index) => {
      const faults = (await checkBase(context.blobs, base, { root, against: index })) ?? [];
      addAll(
        problems,
        faults.map((fault) => ({ kind: "base-wrong", ...fault })),
      );
    },
  });
  const needed = await presentOf(context, log.needed);
  const stored = await context.blobs.has([...needed.keys()]);
  for (const [hash, { where }] of needed) {
    if (!stored.has(hash))
      problems.push({ kind: "blob-missing", where, detail: `the content ${hash} is not in the store` });
  }
  if (kept?.valid === true && kept.seq >= log.firstSeq && log.hashes(kept.seq) !== kept.hash) {
    problems.push({ kind: "log-replaced", where: `event ${kept.seq}`, detail: "it is not what the kept head says" });
  }
  if (log.lastSeq !== seq) problems.push({ kind: "log-truncated", where: "log", detail: `it ends at ${log.lastSeq}` });
  if (problems.length > 0) throw notDropped(problems.map((one) => `${one.kind}: ${one.where}: ${one.detail}`));
}

function notDropped(reasons: readonly string[]): ChronicleError {
  const shown = reasons.slice(0, 3).join("; ");
  return new ChronicleError("REFUSED", `nothing was removed, because the history could not be verified: ${shown}`, {
    hint: "run `chronicle verify` for the whole list",
    data: { problems: reasons },
  });
}

function notProved([first]: readonly VerifyProblemShape[]): ChronicleError {
  const why = first === undefined ? "the log cannot be read to its end" : `${first.where}: ${first.detail}`;
  return new ChronicleError("REFUSED", `the log was not compacted, since its state cannot be proved: ${why}`, {
    hint: "`chronicle verify` lists what is damaged; put it back from a copy, then compact",
    data: { problems: first === undefined ? [] : [first] },
  });
}

function nothingRecorded(): ChronicleError {
  return new ChronicleError("NOT_FOUND", "nothing is recorded yet, so there is nothing to compact", {
    hint: "run `chronicle init`",
  });
}

/**
 * Throws `REFUSED` if an intent is open. `OperationQueue.change` has finished all open intents before this call, so the
 * operation of this intent was interrupted later. The next call of `OperationQueue.change` finishes the operation.
 */
async function refuseOpenIntents(context: Context): Promise<void> {
  const [open] = await openIntents(context);
  if (open === undefined) return;
  throw new ChronicleError("REFUSED", `the ${open.intent.kind} ${open.id} is not finished`, { hint: "try again" });
}

/**
 * Throws `REFUSED` if work is open, because the beginning of the work would be lost. Then makes sure that the last
 * state has a snapshot. After the drop, no earlier state can be restored.
 */
async function prepareToDrop(context: Context, options: CompactOptions): Promise<void> {
  await endIdleSessions(context);
  await refuseOpenWork(context);
  const progress = options.onProgress === undefined ? {} : { onProgress: options.onProgress };
  const captured = await capture(context, { cause: "capture", ...progress });
  const latest = await latestSnapshot(context);
  const root = await withCommit(context, async (commit) => rootToState(context, (await commit.head()).seq));
  if (latest?.root !== root) await nameMoment(context, captured, { cause: "compact" });
}

async function refuseOpenWork(context: Context): Promise<void> {
  const running = (await listSessions(context)).find((one) => one.state === "running");
  if (running !== undefined) {
    const { id, kind, actor } = running;
    const named = kind === "agent" ? `session ${id} of ${actor}` : `session ${id.slice(0, 8)}`;
    throw stillOpen(`the ${named} is being recorded`, kind === "agent" ? IDLE : WAIT);
  }
  const { actions, transactions } = await openBrackets(context);
  const [transaction] = transactions;
  if (transaction !== undefined) {
    const id = transaction.id.slice(0, 8);
    throw stillOpen(
      `the transaction ${id} is active`,
      `\`chronicle transaction commit ${id}\` ends it, or \`rollback\``,
    );
  }
  const [action] = actions;
  if (action === undefined) return;
  const what = `the action ${action.id.slice(0, 8)} (${action.summary}) is not finished`;
  throw stillOpen(what, action.pid === null ? UNOWNED : WAIT);
}

const WAIT = "try again when it has ended";
const IDLE = `end the agent; a session counts as ended if nothing was recorded in it for ${UNOWNED_HOURS} hours`;
const UNOWNED = `try again when its agent has ended; after ${UNOWNED_HOURS} hours, the action counts as abandoned`;

function stillOpen(what: string, hint: string): ChronicleError {
  return new ChronicleError("REFUSED", `${what}: its changes could not be undone without the archive`, { hint });
}
