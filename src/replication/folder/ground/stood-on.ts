import { decodeConflict } from "../../../core/records/conflict-record.ts";
import type { Entry } from "../../../core/values/entry.ts";
import { changeOf, type FileRecord, isOriginsState, type UpstreamIteration } from "../../../core/values/file-record.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import { proposalRecordId } from "../../../core/records/proposal-record.ts";
import type { WriteBackEntry } from "../../../core/records/write-back.ts";
import type { IterationRow } from "../../../storage/index-store.ts";
import type { HistoryContext } from "../../../engine/log/context.ts";
import { isInBase } from "../../../engine/log/read-base.ts";
import { readEvent, readEvents } from "../../../engine/log/read-events.ts";
import { ReplicaState } from "../../../engine/replica/replica-state.ts";
import type { Mirror } from "../../replica/mirror.ts";

/**
 * An event of the folder's own log (`ownSeq`), and an event of the origin (`seq`). From `ownSeq` on, the folder's state
 * of a path is based on `seq`.
 */
export interface Stood {
  readonly ownSeq: number;
  readonly seq: number;
}

/** The maximum number of a path's last changes that are searched. */
const MOST_LOOKED_BACK = 50;
/** The maximum distance, in events, from the end of a conflict to the merge that settled the conflict. */
const NEAR = 32;

type JudgedEntry = Pick<WriteBackEntry, "path" | "entry" | "localSeq" | "seen">;

export interface StoodParts {
  readonly context: HistoryContext;
  readonly mirror: Pick<Mirror, "iterationAt">;
  readonly origin: () => string;
}

/**
 * Finds out from a folder's own log on which of the origin's events the folder's state of a path is based. The evidence
 * is the last proposal, the last state that came from the origin, or the last merge with the origin's state. The step
 * that wrote this evidence knew the origin's state at that time.
 */
export class StoodOn {
  readonly #parts: StoodParts;

  constructor(parts: StoodParts) {
    this.#parts = parts;
  }

  /**
   * Returns the event of the origin on which the path is based as of the own event `upTo` (an event of the folder's own
   * log). Returns `undefined` if no own event up to `upTo` shows this. An own event that exists only in a base of the
   * log shows nothing. `rows` are the path's own iterations up to `upTo`.
   */
  async at(path: WorkspacePath, rows: readonly IterationRow[], upTo: number): Promise<Stood | undefined> {
    const met = await this.#met(path, rows);
    const proposed = await this.#proposed(path, upTo);
    return proposed === undefined || (met !== undefined && met.ownSeq > proposed.ownSeq) ? met : proposed;
  }

  /**
   * A change in the folder has seen a certain state of the origin. True if that state, or an older one, came into the
   * folder again after the change. If the change were sent, it would undo the state that came. Two kinds of changes are
   * still sent:
   * - a change of an older state; the origin keeps it as a version;
   * - a file in place of a folder, even if the folder came back because of a change beneath it at the origin.
   */
  async isOvertaken({ path, entry, localSeq, seen }: JudgedEntry): Promise<boolean> {
    const { index } = this.#parts.context;
    const last = await index.iterationAt(path, (await index.head()).seq);
    if (last === undefined || last.seq <= localSeq) return false;
    if (last.entry?.kind === "dir" && entry !== undefined && entry.kind !== "dir") return false;
    const upstream = originsOf(await this.#fileOf(path, last.seq));
    return upstream !== undefined && upstream.seq <= seen;
  }

  /**
   * Returns the last step that removed the path because the folder could not hold the origin's state. After such a
   * step, the path is absent, but nobody has deleted it. No state from before the step is the base of a later state on
   * either side.
   */
  async leftOut(path: WorkspacePath, rows: readonly IterationRow[]): Promise<Stood | undefined> {
    for (const { seq: ownSeq, entry } of rows.slice(-MOST_LOOKED_BACK).toReversed()) {
      const upstream = entry === undefined ? originsOf(await this.#fileOf(path, ownSeq)) : undefined;
      const there = upstream && (await this.#parts.mirror.iterationAt(path, upstream.seq));
      if (upstream !== undefined && there?.entry !== undefined) return { ownSeq, seq: upstream.seq };
    }
    return undefined;
  }

  /**
   * Returns the origin's event whose state came into the folder with the own event `ownSeq`. Returns `undefined` if the
   * own event brought no state of the origin, or exists only in a base.
   */
  async broughtBy(path: WorkspacePath, ownSeq: number): Promise<number | undefined> {
    return originsOf(await this.#fileOf(path, ownSeq))?.seq;
  }

  async #met(path: WorkspacePath, rows: readonly IterationRow[]): Promise<Stood | undefined> {
    for (const { seq: ownSeq, entry } of rows.slice(-MOST_LOOKED_BACK).toReversed()) {
      const file = await this.#fileOf(path, ownSeq);
      const upstream = originsOf(file);
      if (upstream !== undefined && (await this.#isState(path, upstream, entry))) return { ownSeq, seq: upstream.seq };
      if (file !== undefined && (await this.#isMerge(path, file, ownSeq))) return this.#asOf(path, ownSeq);
    }
    return undefined;
  }

  /**
   * True if the origin's event has this state. The state must be compared, because an origin that was put back to an
   * earlier state reuses the seqs of its lost events. An event that the mirror no longer holds cannot be checked, and
   * is accepted.
   */
  async #isState(path: WorkspacePath, { seq }: UpstreamIteration, entry: Entry | undefined): Promise<boolean> {
    const there = await this.#parts.mirror.iterationAt(path, seq);
    return there === undefined || (there.entry?.kind === entry?.kind && there.entry?.hash === entry?.hash);
  }

  /**
   * True if the own event is a merge of both sides, either by a step, or by a person who settled a conflict with the
   * origin. The end of such a conflict is recorded before the merge.
   */
  async #isMerge(path: WorkspacePath, { cause, upstream }: FileRecord, ownSeq: number): Promise<boolean> {
    if (cause === "merge") return true;
    if (cause !== "resolve" || upstream !== undefined) return false;
    const { context, origin } = this.#parts;
    const query = { from: Math.max(1, ownSeq - NEAR), to: ownSeq - 1, limit: NEAR, descending: true };
    const before = await context.index.events(query);
    const other = before.findIndex(({ recordId }) => !/^(conflict:|file)/.test(recordId));
    const near = other === -1 ? before : before.slice(0, other);
    const settled = near.filter(({ recordId }) => recordId.startsWith("conflict:"));
    return (await readEvents(context, settled)).some(({ record }) => {
      const conflict = decodeConflict(record);
      return conflict.path === path && conflict.state === "settled" && conflict.sync?.origin === origin();
    });
  }

  async #proposed(path: WorkspacePath, upTo: number): Promise<Stood | undefined> {
    const rows = await this.#parts.context.index.recordHistory(proposalRecordId(path));
    const last = rows.findLast(({ seq }) => seq <= upTo);
    return last === undefined ? undefined : this.#asOf(path, last.seq);
  }

  async #asOf(path: WorkspacePath, ownSeq: number): Promise<Stood | undefined> {
    const { context, mirror, origin } = this.#parts;
    const standing = await ReplicaState.at(context, origin(), ownSeq);
    if (standing === undefined) return undefined;
    return { ownSeq, seq: await standing.baseOf(path, (at, seq) => mirror.iterationAt(at, seq)) };
  }

  /**
   * Returns the file record of an own event; `undefined` if the event is about another path, or exists only in a base.
   */
  async #fileOf(path: WorkspacePath, ownSeq: number): Promise<FileRecord | undefined> {
    const { context } = this.#parts;
    const row = await context.index.locate(ownSeq);
    if (row === undefined || isInBase(row)) return undefined;
    return changeOf(await readEvent(context, row), path);
  }
}

function originsOf(file: FileRecord | undefined): UpstreamIteration | undefined {
  return file !== undefined && isOriginsState(file) ? file.upstream : undefined;
}
