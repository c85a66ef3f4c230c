import { conflictShape } from "../log/shape.ts";
import { tellOfCopies } from "../log/tell-of-copies.ts";
import { type Entry, sameEntry } from "../../core/values/entry.ts";
import { type WorkspacePath, isWithin } from "../../core/values/path.ts";
import type { UpstreamChange, WrittenState } from "../../core/tree/upstream-change.ts";
import {
  type WriteBackEntry,
  type AcceptedEntry,
  type RejectedEntry,
  type WriteBackAnswer,
  versionDraft,
  versionRecordId,
  writeBackDraft,
  type VersionRecord,
  type WriteBackBatch,
  type WriteBackReason,
  type WriteBackRules,
} from "../../core/records/write-back.ts";
import { type TakenEntry, type PlannedWriteBack, type RefusedEntry, planWriteBack } from "./write-back-plan.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { fileRecordId } from "../../core/values/file-record.ts";
import { optional } from "../../util/optional.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { type IntentRecord, idOfText } from "../../core/records/records.ts";
import type { BlockedPath, PathStat } from "../../worktree/worktree.ts";
import { capture } from "../capture/capture.ts";
import type { Commit } from "../commit/commit.ts";
import { untilSettled } from "../undo/before-change.ts";
import { writtenDraft } from "../commit/operation-drafts.ts";
import { type Context, isHosted } from "../log/context.ts";
import type { Tally } from "../write/write-limits.ts";
import { perform, todoOf, withSettledCommit } from "../capture/operate.ts";
import { noteRemembered } from "../capture/remember-recorded.ts";
import { openWriteBack, settledWriteBack, type OpenWriteBack } from "./settled-write-back.ts";
import { refusalOf } from "./write-back-rules.ts";

/**
 * The maximum number of attempts to write a path, by the reason why the path could not be written. After the last
 * attempt, the entries of the path are refused. `changed`: the path is edited again and again at the origin.
 * `not-empty`: files appear again and again in a folder that is to be deleted. For any other reason, there is one
 * attempt.
 */
const ATTEMPTS: { readonly [reason in BlockedPath["reason"]]?: number } = { changed: 5, "not-empty": 3 };

interface Deciding extends OpenWriteBack {
  readonly planned: PlannedWriteBack;
  readonly changes: readonly UpstreamChange[];
  /** True if `planned` covers only the first part of the batch. */
  readonly isPart: boolean;
}

/**
 * Decides each entry of a replica's batch. Such an entry is one edit that was made at the replica. An entry that is
 * based on the present state of its path becomes the new state, with the attribution that the entry names. An entry
 * that is based on an older state is refused as `stale`, and kept as a version. `WriteBackReason` lists the other
 * reasons for a refusal. The answers are recorded in the same commit as the states. An entry that was decided by an
 * earlier call gets the same answer, or no answer if that answer is no longer remembered.
 *
 * The caller must have stored the contents, and must hold a lease on them until the promise resolves. When the promise
 * resolves, the decisions are durable. Throws `READ_ONLY` if the workspace is read-only, and `UNAVAILABLE` if the
 * folder cannot be written now. Also throws `ROLLBACK_DETECTED` as `openWriteBack` does, and the errors that any change
 * can throw.
 */
export async function acceptWriteBack(
  context: Context,
  batch: WriteBackBatch,
  rules: WriteBackRules = {},
): Promise<WriteBackAnswer> {
  return new Decision(context, batch, rules).decide();
}

/**
 * The decision about one batch.
 *
 * In a hosted workspace, one append records everything. After a crash, possibly only the first events of the append
 * exist, but the files are consistent after each event. In a workspace with a folder, the paths are captured first, so
 * that nothing overwrites a state that the replica has not seen. Then the intent is recorded, the files are changed,
 * and a commit closes the intent and records the answers. After a crash, `settle` finishes the intent. In both kinds of
 * workspace, a replica that got no answer sends the batch again, and then gets the answer.
 */
class Decision {
  readonly #context: Context;
  readonly #batch: WriteBackBatch;
  readonly #rules: WriteBackRules;
  readonly #isHosted: boolean;
  /** Maps a path to the reason why entries for this path are refused. The replica must not write to these paths. */
  readonly #barred = new Map<WorkspacePath, WriteBackReason>();
  #attempts = 0;

  constructor(context: Context, batch: WriteBackBatch, rules: WriteBackRules) {
    this.#context = context;
    this.#batch = batch;
    this.#rules = rules;
    this.#isHosted = isHosted(context.worktree.roots);
  }

  decide(): Promise<WriteBackAnswer> {
    return untilSettled(this.#context, async () => {
      const tally = this.#isHosted ? undefined : await this.#capture();
      return withSettledCommit(this.#context, (commit) => this.#underLock(commit, tally));
    });
  }

  /**
   * Captures the paths of those undecided entries that the rules do not refuse. Bars each path to which a replica must
   * not write, and each path that could not be captured. Returns the totals of the workspace.
   */
  async #capture(): Promise<Tally> {
    const { upTo } = await settledWriteBack(this.#context, this.#batch.replica);
    const { roots } = this.#context.worktree;
    const only = new Set<WorkspacePath>();
    for (const entry of this.#batch.entries) {
      const isOpen = entry.localSeq > upTo && refusalOf(entry, roots, this.#rules) === undefined;
      if (isOpen) only.add(entry.path);
    }
    const folders: WorkspacePath[] = [];
    const files: WorkspacePath[] = [];
    const stats = await this.#context.worktree.stats([...only]);
    for (const [i, path] of [...only].entries()) {
      const stat = stats[i];
      if (await this.#isBarred(path, stat)) this.#barred.set(path, "path");
      else (typeof stat === "object" && stat.kind === "dir" ? folders : files).push(path);
    }
    const how = { cause: "capture", reserve: true } as const;
    // Folders are captured without `named`, because `named` would also capture files in them that the rules leave out.
    const before = folders.length === 0 ? undefined : await capture(this.#context, { ...how, only: folders });
    const captured = await capture(this.#context, { ...how, only: files, named: true, holders: true });
    const inFolders = before?.coverage.omitted ?? [];
    this.#barUncaptured(files, captured.coverage.omitted);
    this.#barUncaptured(
      folders,
      inFolders.filter(({ reason }) => reason !== "excluded"),
    );
    // A folder cannot be deleted or replaced while it holds files that the rules leave out, so such a folder is barred.
    const going = folders.filter((path) => this.#batch.entries.some((one) => one.path === path && !isFolder(one)));
    this.#barUncaptured(going, inFolders);
    return captured;
  }

  /**
   * True if a replica must not write to the path. Git's own state is barred, because a git hook in it would run at a
   * person's next commit. Also barred is an unrecorded file on disk that the rules leave out. The replica cannot have
   * seen that file, so the entry would be refused anyway. The bar keeps the file from being captured and sent to the
   * replica.
   */
  async #isBarred(path: WorkspacePath, stat: PathStat): Promise<boolean> {
    const { worktree, index } = this.#context;
    const { rule, tracked } = await worktree.explain(path);
    if (rule === "git") return true;
    if (tracked || stat === undefined) return false;
    return (await index.iterationAt(path, (await index.head()).seq))?.entry === undefined;
  }

  /** Bars paths whose state could not be captured, because nobody could bring this state back once it is replaced. */
  #barUncaptured(paths: readonly WorkspacePath[], omitted: readonly Omission[]): void {
    for (const path of paths) {
      if (omitted.some((one) => isWithin(path, one.path) || isWithin(one.path, path))) this.#barred.set(path, "path");
    }
  }

  /**
   * Decides the entries that are not decided yet, or the first part of them. Resolves to `undefined` if another part is
   * left, or if a path could not be written and must be tried again.
   */
  async #underLock(commit: Commit, captured: Tally | undefined): Promise<WriteBackAnswer | undefined> {
    const open = await openWriteBack(this.#context, this.#batch);
    if (open.batch.entries.length === 0) return open.earlier;
    const deciding = await this.#plan(
      commit,
      open,
      captured ?? (await this.#context.worktree.scan({}, () => undefined)),
    );
    const isAppend = this.#isHosted || deciding.changes.length === 0;
    const answer = await (isAppend ? this.#append(commit, deciding) : this.#write(commit, deciding));
    return deciding.isPart ? undefined : answer;
  }

  async #plan(commit: Commit, open: OpenWriteBack, tally: Tally): Promise<Deciding> {
    const { worktree } = this.#context;
    const { batch, going } = open;
    const planned = await planWriteBack(this.#context, batch, {
      head: (await commit.head()).seq,
      tally,
      rules: this.#rules,
      barred: this.#barred,
      going,
      isUnrecordedFolder: async (path) => !this.#isHosted && (await worktree.inspect(path))?.kind === "dir",
    });
    if (this.#isHosted) return { ...open, planned, changes: [], isPart: false };
    const { changes, backAt } = changesOf(batch.replica, planned.taken);
    if (backAt < 0) return { ...open, planned, changes, isPart: false };
    // If a path returned to its first state within one part, the path would not be written, and the states in between
    // would not be recorded. The entry that brings the first state back therefore begins the next part.
    const cut = batch.entries.findIndex((one) => one === planned.taken[backAt]?.entry);
    const first = { ...batch, entries: batch.entries.slice(0, cut) };
    return { ...(await this.#plan(commit, { ...open, batch: first }, tally)), isPart: true };
  }

  /** Records a batch that changes no file on disk, because the workspace is hosted or no entry is taken. */
  async #append(commit: Commit, deciding: Deciding): Promise<WriteBackAnswer> {
    const { seq } = await commit.head();
    const files = await this.#drafts(deciding.planned.taken, seq);
    const { answer, records } = answerOf({ ...this.#recorded(deciding), files, firstSeq: seq + 1 });
    await commit.append([...files, ...records]);
    return answer;
  }

  async #drafts(taken: readonly TakenEntry[], head: number): Promise<EventDraft[]> {
    const iterations = new Map<WorkspacePath, number>();
    const drafts: EventDraft[] = [];
    for (const { entry, changes } of taken) {
      for (const { path, after } of changes) {
        const last = iterations.get(path) ?? (await this.#context.index.iterationAt(path, head))?.iteration ?? 0;
        iterations.set(path, last + 1);
        drafts.push(writtenDraft(path, writtenBy(this.#batch.replica, entry, after), last + 1));
      }
    }
    return drafts;
  }

  async #write(commit: Commit, deciding: Deciding): Promise<WriteBackAnswer | undefined> {
    const { seq } = await commit.head();
    const { changes } = deciding;
    let answer: WriteBackAnswer | undefined;
    const report = await perform(this.#context, commit, {
      // All write-backs of a replica share one intent record.
      id: idOfText(`chronicle write-back\0${this.#batch.replica}`),
      intent: await this.#intent(changes, seq),
      operation: { changes, onBlocked: "fail" },
      also: (files, { blocked }) => {
        const left = new Set(blocked.map(({ path }) => path));
        // The events of the files begin after the event that opens the intent.
        const done = answerOf({ ...this.#recorded(deciding), files, firstSeq: seq + 2, left });
        answer = done.answer;
        return done.records;
      },
    });
    tellOfCopies(this.#context, report.conflicts.map(conflictShape));
    if (answer === undefined) this.#bar(report.blocked);
    else if (report.blocked.length === 0) noteRemembered(this.#context, { from: seq, to: (await commit.head()).seq });
    return answer;
  }

  /**
   * Returns the input of `answerOf`, without the events of the files. `last` is the last entry of this part. If the
   * part has only entries of earlier batches (`going`), `last` is the entry that was decided before this part.
   */
  #recorded({ planned, earlier, going, batch, decided }: Deciding) {
    return { replica: batch.replica, planned, last: batch.entries.at(-1) ?? decided, earlier, going };
  }

  async #intent(changes: readonly UpstreamChange[], fromSeq: number): Promise<IntentRecord> {
    const states = changes.flatMap(({ written = [] }) => written);
    return {
      kind: "replica",
      state: "open",
      summary: `write back from ${this.#batch.replica}`,
      actor: this.#context.caller.actor,
      started: new Date(this.#context.now()).toISOString(),
      ...(await todoOf(this.#context, changes, states.length)),
      paths: changes.length,
      fromSeq,
      contents: states.flatMap(({ entry }) => entry?.hash ?? []),
    };
  }

  /**
   * Bars paths that could not be written, once their attempts are used up. Throws `UNAVAILABLE` if the disk is full or
   * a file is busy, because a later attempt can succeed.
   */
  #bar(blocked: readonly BlockedPath[]): void {
    this.#attempts += 1;
    for (const { path, reason, detail } of blocked) {
      if (reason === "no-space" || reason === "busy") {
        throw new ChronicleError("UNAVAILABLE", `a replica's changes cannot be written to the folder now: ${detail}`, {
          hint: "check the disk of that folder; the replica sends the changes again by itself",
        });
      }
      // A path that is not barred is tried again. The next attempt first captures the edit that blocked the path.
      if (this.#attempts >= (ATTEMPTS[reason] ?? 1)) this.#barred.set(path, BARRED[reason]);
    }
  }
}

function isFolder({ entry }: WriteBackEntry): boolean {
  return entry?.kind === "dir";
}

/** Maps the reason why the path of an entry could not be written to the reason with which the entry is refused. */
const BARRED: Readonly<Record<Exclude<BlockedPath["reason"], "no-space" | "busy">, WriteBackReason>> = {
  changed: "stale",
  "no-folder": "stale",
  // The files that remain in the folder are never recorded, so it would not help to send the entry again.
  "not-empty": "path",
  "not-permitted": "read-only",
  "content-missing": "content-missing",
  outside: "path",
  "not-held": "path",
};

/** Returns a state with its attribution: the author of the entry, and the entry's event at the replica. */
function writtenBy(replica: string, entry: WriteBackEntry, state: Entry | undefined): WrittenState {
  const { actor, session, turn, action, localSeq } = entry;
  const by = {
    actor: actor.toWellFormed(),
    ...(session === undefined ? {} : { session: session.toWellFormed() }),
    ...(turn === undefined ? {} : { turn: turn.toWellFormed() }),
    ...(action === undefined ? {} : { action: action.toWellFormed() }),
  };
  return { entry: state, by, replica: { id: replica, localSeq } };
}

/**
 * Returns one change for each path, with all states that the entries give the path. Stops at the first entry that
 * brings a path back to the state before all entries. `backAt` is the position of that entry, or -1.
 */
function changesOf(
  replica: string,
  taken: readonly TakenEntry[],
): { readonly changes: UpstreamChange[]; readonly backAt: number } {
  const changes = new Map<WorkspacePath, UpstreamChange & { readonly written: readonly WrittenState[] }>();
  for (const [i, { entry, changes: own }] of taken.entries()) {
    for (const { path, before, after } of own) {
      const earlier = changes.get(path);
      const first = earlier === undefined ? before : earlier.before;
      if (sameEntry(first, after)) return { changes: [...changes.values()], backAt: i };
      const written = [...(earlier?.written ?? []), writtenBy(replica, entry, after)];
      changes.set(path, { path, before: first, after, written });
    }
  }
  return { changes: [...changes.values()], backAt: -1 };
}

interface RecordedWriteBack {
  readonly replica: string;
  readonly planned: PlannedWriteBack;
  readonly last: Pick<WriteBackEntry, "localSeq" | "eventHash">;
  readonly files: readonly EventDraft[];
  readonly firstSeq: number;
  /** Paths that the plan changes, but that were not written. */
  readonly left?: ReadonlySet<WorkspacePath>;
  /** Remembered answers to entries of this batch that an earlier call decided. */
  readonly earlier: WriteBackAnswer;
  /**
   * Entries of earlier batches that were planned once more with this batch. Each of these entries was answered with its
   * own batch.
   */
  readonly going: readonly WriteBackEntry[];
}

/**
 * The maximum number of answers to a batch that are remembered. If a batch has more answers, none of them is
 * remembered. A replica that did not receive the answers then asks which entries are settled.
 */
const MOST_ANSWERS = 1_000;

/**
 * Returns the answers to a batch, and the records to append after its file events: the versions of refused entries, and
 * the answers.
 */
function answerOf(recorded: RecordedWriteBack): {
  readonly answer: WriteBackAnswer;
  readonly records: EventDraft[];
} {
  const { replica, planned, last, left, earlier } = recorded;
  const seqs = seqsOf(recorded);
  const resent = new Set(recorded.going.map(({ localSeq }) => localSeq));
  const isLeft = ({ entry }: { readonly entry: WriteBackEntry }): boolean => left?.has(entry.path) === true;
  const done = planned.taken.filter((one) => !isLeft(one));
  const lost: RefusedEntry[] = planned.taken.filter(isLeft).map((one) => ({ ...one, reason: "stale" }));
  const refused = [...planned.refused, ...lost].map((one) => ({
    ...one,
    against: finite(one.against, one.entry, seqs),
  }));
  const accepted = [
    ...done.map(({ entry }): AcceptedEntry => ({ localSeq: entry.localSeq, ...eventOf(entry, seqs) })),
    ...planned.known.map(({ entry, iteration, seq }) => {
      const own = seq === Infinity ? seqs.get(iterationKey(fileRecordId(entry.path), iteration)) : undefined;
      return { localSeq: entry.localSeq, iteration, sequence: own?.sequence ?? finite(seq, entry, seqs) ?? 0 };
    }),
  ];
  const answer = {
    accepted: ordered(earlier.accepted, accepted, resent),
    rejected: ordered(earlier.rejected, refused.map(rejectedOf), resent),
  };
  const isLong = answer.accepted.length + answer.rejected.length > MOST_ANSWERS;
  const kept = isLong ? { accepted: [], rejected: [] } : answer;
  const versions = refused.flatMap((one) => versionOf(replica, one));
  const records = [
    ...versions.filter(({ localSeq }) => !resent.has(localSeq)).map(versionDraft),
    ...done.filter(({ entry }) => resent.has(entry.localSeq)).map(({ entry }) => forgetting(replica, entry)),
    writeBackDraft(replica, {
      settled: last.localSeq,
      ...optional({ hash: last.eventHash }),
      ...kept,
      going: planned.going,
    }),
  ];
  return { answer, records };
}

interface Recorded {
  readonly iteration: number;
  readonly sequence: number;
}

/**
 * Returns a map of the events of a batch. Each event has three keys: path and `localSeq`, path and iteration, and path
 * alone. The path alone leads to the last event of the path.
 */
function seqsOf({ files, firstSeq }: RecordedWriteBack): ReadonlyMap<string, Recorded> {
  const found = new Map<string, Recorded>();
  for (const [i, { recordId, record }] of files.entries()) {
    const one = { iteration: record["iteration"] as number, sequence: firstSeq + i };
    const { local_seq } = (record["replica"] ?? {}) as { local_seq?: number };
    found.set(recordId, one);
    found.set(keyOf(recordId, local_seq ?? 0), one);
    found.set(iterationKey(recordId, one.iteration), one);
  }
  return found;
}

function keyOf(recordId: string, localSeq: number): string {
  return `${localSeq} ${recordId}`;
}

function iterationKey(recordId: string, iteration: number): string {
  return `#${iteration} ${recordId}`;
}

function eventOf({ path, localSeq }: WriteBackEntry, seqs: ReadonlyMap<string, Recorded>): Recorded {
  return seqs.get(keyOf(fileRecordId(path), localSeq)) ?? { iteration: 0, sequence: 0 };
}

/**
 * Returns `seq`, except for `Infinity`, which stands for an event of this batch. For `Infinity`, returns the seq of the
 * path's last event in the batch.
 */
function finite(
  seq: number | undefined,
  { path }: WriteBackEntry,
  seqs: ReadonlyMap<string, Recorded>,
): number | undefined {
  return seq === Infinity ? (seqs.get(fileRecordId(path))?.sequence ?? 0) : seq;
}

function rejectedOf({ entry, reason, against, awaits = 0 }: RefusedEntry): RejectedEntry {
  const { localSeq } = entry;
  if (against === undefined) return { localSeq, reason };
  return {
    localSeq,
    reason,
    currentSequence: Math.max(against, awaits),
    kept: { contentHash: entry.entry?.hash ?? null },
  };
}

function versionOf(replica: string, { entry, against }: RefusedEntry): VersionRecord[] {
  return against === undefined ? [] : [{ ...entry, replica, against }];
}

/**
 * Returns the event that deletes the version of an entry. The entry was first refused and kept as a version, and has
 * been taken now.
 */
function forgetting(replica: string, { localSeq }: WriteBackEntry): EventDraft {
  return { op: "delete", recordId: versionRecordId({ replica, localSeq }), record: {} };
}

/**
 * Returns the earlier answers and `these`, sorted by `localSeq`. Leaves out the answers in `these` whose `localSeq` is
 * in `without`.
 */
function ordered<Answer extends { readonly localSeq: number }>(
  earlier: readonly Answer[],
  these: readonly Answer[],
  without: ReadonlySet<number>,
): Answer[] {
  const asked = these.filter(({ localSeq }) => !without.has(localSeq));
  return [...earlier, ...asked].sort((a, b) => a.localSeq - b.localSeq);
}
