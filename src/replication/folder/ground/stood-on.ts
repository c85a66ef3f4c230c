import { decodeConflict } from "../../../core/records/conflict-record.ts";
import type { Entry } from "../../../core/values/entry.ts";
import {
  decodeFile,
  isOriginsState,
  pathOfRecordId,
  type FileRecord,
  type UpstreamIteration,
} from "../../../core/values/file-record.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import { proposalRecordId } from "../../../core/records/proposal-record.ts";
import type { WriteBackEntry } from "../../../core/records/write-back.ts";
import type { IterationRow } from "../../../storage/index-store.ts";
import type { HistoryContext } from "../../../engine/log/context.ts";
import { isInBase } from "../../../engine/log/read-base.ts";
import { readEvent, readEvents } from "../../../engine/log/read-events.ts";
import { ReplicaState } from "../../../engine/replica/replica-state.ts";
import type { Mirror } from "../../replica/mirror.ts";

/** An own event that says on which event of the origin the folder's state of a path stands since then. */
export interface Stood {
  readonly ownSeq: number;
  readonly seq: number;
}

/** Of a path that was changed more often, earlier changes are not asked about. */
const MOST_LOOKED_BACK = 50;
/** A merge that somebody has decided on stands this close behind the end of its conflict. */
const NEAR = 32;

/** What is asked of an own change. */
type JudgedEntry = Pick<WriteBackEntry, "path" | "entry" | "localSeq" | "seen">;

/** What a folder's own log is read with. */
export interface StoodParts {
  readonly context: HistoryContext;
  readonly mirror: Pick<Mirror, "iterationAt">;
  /** The origin's workspace. */
  readonly origin: () => string;
}

/**
 * Reads from a folder's own log what its state of a path stands on: the last state that came from the origin, merge with what the origin
 * had, or proposal. A step has written each of them, knowing what the origin had then.
 */
export class StoodOn {
  readonly #parts: StoodParts;

  constructor(parts: StoodParts) {
    this.#parts = parts;
  }

  /** `rows`: the path's own iterations, up to an own event. `undefined`: no event up to then says so, or it stands in a base. */
  async at(path: WorkspacePath, rows: readonly IterationRow[], upTo: number): Promise<Stood | undefined> {
    const met = await this.#met(path, rows);
    const proposed = await this.#proposed(path, upTo);
    return proposed === undefined || (met !== undefined && met.ownSeq > proposed.ownSeq) ? met : proposed;
  }

  /**
   * Has the state that an own change says to have seen come into the folder again after it? Then the change is over, and would take that
   * back. One of an older state is sent: the origin keeps it as a version; and so is a file that was made in the place of a folder, which
   * lost to what the origin had changed beneath that.
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
   * The last step that removed the path since the folder could not hold what the origin had made of it. Nobody here has deleted it then, and
   * nothing earlier is what a later state of either side was made of.
   */
  async leftOut(path: WorkspacePath, rows: readonly IterationRow[]): Promise<Stood | undefined> {
    for (const { seq: ownSeq, entry } of rows.slice(-MOST_LOOKED_BACK).toReversed()) {
      const upstream = entry === undefined ? originsOf(await this.#fileOf(path, ownSeq)) : undefined;
      const there = upstream && (await this.#parts.mirror.iterationAt(path, upstream.seq));
      if (upstream !== undefined && there?.entry !== undefined) return { ownSeq, seq: upstream.seq };
    }
    return undefined;
  }

  /** The origin's event whose state came into the folder with an own event. `undefined`: none did, or it stands in a base. */
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

  /** Numbers of an origin that was put back stand for other states by now. What is held no more cannot be asked. */
  async #isState(path: WorkspacePath, { seq }: UpstreamIteration, entry: Entry | undefined): Promise<boolean> {
    const there = await this.#parts.mirror.iterationAt(path, seq);
    return there === undefined || (there.entry?.kind === entry?.kind && there.entry?.hash === entry?.hash);
  }

  /** Has a step merged both sides, or somebody who settled a conflict with the origin? The end of that conflict stands before it. */
  async #isMerge(path: WorkspacePath, { cause, upstream }: FileRecord, ownSeq: number): Promise<boolean> {
    if (cause === "merge") return true;
    if (cause !== "resolve" || upstream !== undefined) return false;
    const { context, origin } = this.#parts;
    const query = { from: Math.max(1, ownSeq - NEAR), to: ownSeq - 1, limit: NEAR, descending: true };
    const before = await context.index.events(query);
    const end = before.findIndex(({ recordId }) => !/^(conflict:|file)/.test(recordId));
    const settled = before.slice(0, end).filter(({ recordId }) => recordId.startsWith("conflict:"));
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

  /** What the folder was reconciled with by the step that wrote an own event. */
  async #asOf(path: WorkspacePath, ownSeq: number): Promise<Stood | undefined> {
    const { context, mirror, origin } = this.#parts;
    const standing = await ReplicaState.at(context, origin(), ownSeq);
    if (standing === undefined) return undefined;
    return { ownSeq, seq: await standing.baseOf(path, (at, seq) => mirror.iterationAt(at, seq)) };
  }

  /** The record of an own event; `undefined`: it is none of this path, or stands in a base. */
  async #fileOf(path: WorkspacePath, ownSeq: number): Promise<FileRecord | undefined> {
    const { context } = this.#parts;
    const row = await context.index.locate(ownSeq);
    if (row === undefined || isInBase(row) || pathOfRecordId(row.recordId) !== path) return undefined;
    return decodeFile(path, (await readEvent(context, row)).record);
  }
}

function originsOf(file: FileRecord | undefined): UpstreamIteration | undefined {
  return file !== undefined && isOriginsState(file) ? file.upstream : undefined;
}
