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
 * of a path is based on the state that the origin recorded at `seq`.
 */
export interface Stood {
  readonly ownSeq: number;
  readonly seq: number;
}

/** The maximum number of a path's last changes that are searched. */
const MOST_LOOKED_BACK = 50;
/**
 * The maximum distance, in events, between the record of a conflict's settlement and the merge that settled the
 * conflict.
 */
const NEAR = 32;

type JudgedEntry = Pick<WriteBackEntry, "path" | "entry" | "localSeq" | "seen">;

export interface StoodParts {
  readonly context: HistoryContext;
  readonly mirror: Pick<Mirror, "iterationAt">;
  readonly origin: () => string;
}

/**
 * Finds the origin's event on which the folder's state of a path is based. This event follows from the last of three
 * kinds of events in the folder's own log: a proposal, a state that came from the origin, or a merge with the origin's
 * state. The step (reconciliation) that recorded such an event knew the origin's state at that time.
 */
export class StoodOn {
  readonly #parts: StoodParts;

  constructor(parts: StoodParts) {
    this.#parts = parts;
  }

  /**
   * Returns the origin's event on which the folder's state of the path is based, as of the event `upTo` of the folder's
   * own log. `rows` are the path's iterations in that log, up to `upTo`. Returns `undefined` if the origin's event does
   * not follow from the log. Events that exist only in a base of the log are not considered.
   */
  async at(path: WorkspacePath, rows: readonly IterationRow[], upTo: number): Promise<Stood | undefined> {
    const met = await this.#met(path, rows);
    const proposed = await this.#proposed(path, upTo);
    return proposed === undefined || (met !== undefined && met.ownSeq > proposed.ownSeq) ? met : proposed;
  }

  /**
   * True if the change is overtaken: the state of the origin's event `seen`, on which the change is based, or an older
   * state came into the folder again after the change. If the change were sent, it would undo the state that came. Two
   * kinds of changes are not overtaken, and are still sent:
   * - a change after which a state later than `seen` came; the origin keeps such a change as a version;
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
   * Finds the last step that removed the path because the folder could not hold the origin's state. Returns the step's
   * event in the folder's own log, and the origin's event with that state. After such a step, the path is absent
   * without a deletion by anybody. No state from before the step is the base of a later state on either side.
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
   * Returns the seq of the origin's event whose state came into the folder with the event `ownSeq` of the folder's own
   * log. Returns `undefined` if that event brought no state of the origin, or exists only in a base.
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
   * True if the origin's event has recorded the state `entry`. The event may be another one than before, because an
   * origin that was put back to an earlier state uses the seqs of its lost events again. Also true if the mirror no
   * longer holds the event, because the event then cannot be checked.
   */
  async #isState(path: WorkspacePath, { seq }: UpstreamIteration, entry: Entry | undefined): Promise<boolean> {
    const there = await this.#parts.mirror.iterationAt(path, seq);
    return there === undefined || (there.entry?.kind === entry?.kind && there.entry?.hash === entry?.hash);
  }

  /**
   * True if the event of the folder's own log is a merge of both sides. A merge is made by a step, or by a person who
   * settles a conflict with the origin. The settlement of the conflict is recorded before its merge.
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
   * Returns the file record of an event of the folder's own log. Returns `undefined` if the event is about another
   * path, or exists only in a base.
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
