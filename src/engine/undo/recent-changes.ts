import { changesOf, type FileRecord } from "../../core/values/file-record.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { indexedFrom } from "../log/history-start.ts";
import { readFileEvents } from "../log/read-events.ts";
import { idsOf } from "../facts/own-work.ts";
import { ownersIn } from "../facts/owners.ts";
import { noteOwn, type OwnPaths } from "./recent-line.ts";
import type { RecentView } from "./recent-view.ts";

/** The maximum pause, in milliseconds, between two consecutive edits of one burst. */
export const QUIET_MS = 300_000;

/** Consecutive changes that belong to no recorded work. */
export interface Burst {
  /** `watch`: a running watch recorded the edits. `edit`: a later capture found them. */
  readonly kind: "edit" | "watch";
  readonly actor: string;
  /** The ids of the work that may have made the changes, if the actor is `ambiguous`. */
  readonly candidates: string;
  /** The innermost transaction in which the edits were made. */
  readonly transaction: string | undefined;
  readonly first: number;
  last: number;
  lastTs: string;
  readonly own: OwnPaths;
  /** The seq of the next event that changed a file and is not of this burst; `Infinity` if there is no such event. */
  next: number;
}

export interface RecentChanges {
  /** Maps the id of each run, action, transaction and intent to the paths that it changed. */
  readonly byOwner: ReadonlyMap<string, OwnPaths>;
  /** The bursts, in the order of the log. */
  readonly bursts: readonly Burst[];
  /** The burst that may go on after the view; `undefined` if something ended the last burst. */
  readonly going: Burst | undefined;
}

/**
 * Reads the changes of files in the view. `borders`: the seqs, in ascending order, of the events at which a burst ends,
 * because each of these events has a line of its own in the list.
 */
export async function changesInView(view: RecentView, borders: readonly number[]): Promise<RecentChanges> {
  const { context, after, upTo } = view;
  const owners = await ownersIn(context);
  const reader = new ChangeReader(borders, (ids) => owners.around(ids));
  const from = Math.max(after + 1, (await indexedFrom(context)) ?? 1);
  for await (const event of readFileEvents(context, from, upTo)) reader.take(event);
  reader.passBorders(upTo);
  return reader;
}

/** The causes of changes that are no edits in the folder: the baseline, changes from another copy, and erasures. */
const FROM_ELSEWHERE: ReadonlySet<string> = new Set(["baseline", "replica", "merge", "erase"]);

class ChangeReader implements RecentChanges {
  readonly byOwner = new Map<string, OwnPaths>();
  readonly bursts: Burst[] = [];
  readonly #borders: readonly number[];
  readonly #around: (ids: readonly string[]) => ReadonlySet<string>;
  readonly #known = new Map<string, ReadonlySet<string>>();
  #border = 0;
  #going: Burst | undefined;

  constructor(borders: readonly number[], around: (ids: readonly string[]) => ReadonlySet<string>) {
    this.#borders = borders;
    this.#around = around;
  }

  get going(): Burst | undefined {
    return this.#going;
  }

  /** Ends the present burst if a border is before `seq`. */
  passBorders(seq: number): void {
    while ((this.#borders[this.#border] ?? Infinity) < seq) {
      this.#border += 1;
      this.#going = undefined;
    }
  }

  take(event: LogEvent): void {
    this.passBorders(event.seq);
    for (const { path, file } of changesOf(event)) {
      const isEdit = isEditOfNobody(file);
      if (!isEdit || file.transaction !== undefined) this.#own(path, file, event.seq);
      if (isEdit) this.#edit(path, file, event);
      else this.#end(event.seq);
    }
  }

  #own(path: WorkspacePath, file: FileRecord, seq: number): void {
    for (const id of this.#aroundOf(idsOf(file))) {
      const own: OwnPaths = this.byOwner.get(id) ?? new Map();
      this.byOwner.set(id, own);
      noteOwn(own, path, seq);
    }
  }

  #aroundOf(ids: readonly string[]): ReadonlySet<string> {
    const key = ids.join(" ");
    const known = this.#known.get(key) ?? this.#around(ids);
    this.#known.set(key, known);
    return known;
  }

  #edit(path: WorkspacePath, file: FileRecord, { seq, ts }: LogEvent): void {
    const kind = file.cause === "watch" ? "watch" : "edit";
    const candidates = (file.candidates ?? []).join(" ");
    const { actor, transaction } = file;
    const last = this.#going;
    const isSame =
      last?.kind === kind &&
      last.actor === actor &&
      last.candidates === candidates &&
      last.transaction === transaction &&
      // The difference is negative if the clock was set back between the two events.
      Math.abs(Date.parse(ts) - Date.parse(last.lastTs)) <= QUIET_MS;
    if (!isSame) {
      this.#end(seq);
      const own: OwnPaths = new Map();
      this.#going = { kind, actor, candidates, transaction, first: seq, last: seq, lastTs: ts, own, next: Infinity };
      this.bursts.push(this.#going);
    }
    const burst = this.#going as Burst;
    noteOwn(burst.own, path, seq);
    burst.last = seq;
    burst.lastTs = ts;
  }

  /** Ends the burst before event `seq`, which changed a file and is not of the burst. */
  #end(seq: number): void {
    const last = this.bursts.at(-1);
    if (last?.next === Infinity) last.next = seq;
    this.#going = undefined;
  }
}

/**
 * True for a change that belongs to no action, no run and no operation. A change that a watch recorded does not belong
 * to the watch.
 */
function isEditOfNobody({ cause, action, session, intent }: FileRecord): boolean {
  if (FROM_ELSEWHERE.has(cause) || action !== undefined || intent !== undefined) return false;
  return session === undefined || cause === "watch";
}
