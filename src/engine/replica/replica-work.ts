import { changeOf, fileRecordId } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { EventRow, IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { readEvents } from "../log/read-events.ts";

/** The changes of a path after an event. */
export interface WorkSince {
  /** True if only one replica wrote: it knows its own work, and goes on from it. */
  readonly isOwn: boolean;
  /** The replica's own iterations, by its own event. */
  readonly done: ReadonlyMap<number, IterationRow>;
  /** All iterations, with the one before each. */
  readonly rows: readonly WorkRow[];
}

/** An iteration of a path, and the one before it. */
interface WorkRow {
  readonly row: IterationRow;
  readonly before: IterationRow | undefined;
}

const NOTHING: WorkSince = { isOwn: true, done: new Map(), rows: [] };

/**
 * Returns the state of a path when a replica wrote its first iteration after one of its own events; `undefined`: there
 * is none. That event was decided then, even if no iteration says so: an entry that changes nothing leaves none.
 */
export function stateBehind(
  { done, rows }: WorkSince,
  localSeq: number,
): { row: IterationRow | undefined } | undefined {
  const next = [...done.keys()].filter((own) => own > localSeq).sort((a, b) => a - b)[0];
  const found = next === undefined ? undefined : rows.find(({ row }) => row === done.get(next));
  return found === undefined ? undefined : { row: found.before };
}

/** Finds out who changed paths, as of one head; each path and event is looked up once. */
export class ReplicaWork {
  readonly #context: Context;
  readonly #replica: string;
  readonly #head: number;
  readonly #known = new Map<WorkspacePath, Map<number, WorkSince>>();

  constructor(context: Context, replica: string, head: number) {
    this.#context = context;
    this.#replica = replica;
    this.#head = head;
  }

  /** `now`: the path's iteration at the head. */
  async since(path: WorkspacePath, seen: number, now: IterationRow | undefined): Promise<WorkSince> {
    if ((now?.seq ?? 0) <= seen) return NOTHING;
    const known = this.#known.get(path) ?? new Map<number, WorkSince>();
    this.#known.set(path, known);
    const found = known.get(seen) ?? (await this.#read(path, seen));
    known.set(seen, found);
    return found;
  }

  async #read(path: WorkspacePath, seen: number): Promise<WorkSince> {
    const { index } = this.#context;
    const base = await index.iterationAt(path, seen);
    const rows = (await index.iterations(path, { after: base?.iteration ?? 0 })).filter(
      ({ seq }) => seq > seen && seq <= this.#head,
    );
    const located: EventRow[] = [];
    for (const { seq } of rows) {
      const row = await index.locate(seq);
      // Skips iterations of a baseline and compacted events: their author is unknown, and no replica wrote them.
      if (row?.recordId === fileRecordId(path)) located.push(row);
    }
    const done = new Map<number, IterationRow>();
    let own = 0;
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    for (const event of await readEvents(this.#context, located)) {
      const row = bySeq.get(event.seq);
      const replica = changeOf(event, path)?.replica;
      if (row === undefined || replica?.id !== this.#replica) continue;
      done.set(replica.localSeq, row);
      own += 1;
    }
    return { isOwn: own === rows.length, done, rows: rows.map((row, i) => ({ row, before: rows[i - 1] ?? base })) };
  }
}
