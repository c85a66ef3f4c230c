import type { Head, SealedEvent } from "../../core/event.ts";
import type { FileRecord } from "../../core/file-record.ts";
import type { Hash } from "../../core/hash.ts";
import type { HistoryAnchor } from "../../core/history-anchor.ts";
import type { WorkspacePath } from "../../core/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Signal } from "../../util/signal.ts";
import type { UpstreamLines } from "./upstream.ts";

/**
 * The origin's history as a replica holds it: its lines, and what they amount to.
 *
 * "At seq N" means after event N of the origin. What is asked is answered from an index that is brought up to the lines
 * first. States before the event that the mirror starts at are answered as long as an earlier mirror is kept.
 */
export interface Mirror {
  /** The origin's workspace id; `""` while nothing has come of it. */
  readonly workspace: string;
  /** The last event that is held durably. */
  readonly head: Head;
  /** The event that it starts behind: 0, or that of the last full reconciliation. */
  readonly start: number;
  /** Emitted when `head` has moved. */
  readonly changed: Signal<void>;
  /** What a session stores lines in. `undefined`: the mirror was opened to look only. */
  readonly upstream: UpstreamLines | undefined;

  iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined>;
  iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]>;
  /** Paths with another iteration at `upTo` than at `after`, in path order; perhaps a few more. */
  touched(after: number, upTo: number): Promise<readonly WorkspacePath[]>;
  /** Every entry at a seq at or beneath a folder, in path order, in batches. */
  entriesAt(seq: number, beneath?: WorkspacePath): AsyncIterable<readonly IterationRow[]>;
  childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]>;
  /** The Merkle hash of a folder at a seq, or `undefined` where there is none. */
  treeHashAt(folder: WorkspacePath, seq: number): Promise<Hash | undefined>;
  /** What is recorded of a file by the event of this seq: whose work it is. `undefined`: it is none of a file, or not held. */
  record(seq: number): Promise<FileRecord | undefined>;

  /** Starts anew behind an event whose state is in the store as a base. Durable when it resolves. */
  startAt(anchor: HistoryAnchor): Promise<void>;
  /** States before this event are not asked for any more: an earlier mirror that only they need is given up. */
  applied(seq: number): Promise<void>;
  close(): Promise<void>;
}

/** Lines that have come, for whoever stores them. */
export type ArrivedLines = readonly SealedEvent[];
