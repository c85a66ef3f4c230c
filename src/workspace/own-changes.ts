import type { Change } from "../core/change.ts";
import { decodeConflict } from "../core/conflict-record.ts";
import type { LogEvent } from "../core/event.ts";
import { decodeFile, pathOfRecordId, type FileRecord } from "../core/file-record.ts";
import { decodeIntent, type IntentRecord } from "../core/records.ts";
import { holdsSeq } from "../core/seq-ranges.ts";
import { changeBetween, composeChanges } from "../core/plan.ts";
import { comparePaths, type WorkspacePath } from "../core/path.ts";
import type { AttributedChange } from "./attribution.ts";
import type { Context } from "./context.ts";
import { firstEvent, type OwnChange } from "./first-event.ts";
import { indexedFrom } from "./history-start.ts";
import { readRange } from "./read-events.ts";

/** Events after `fromSeq`, up to `toSeq`. */
export interface SeqSpan {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** Is an event of a file somebody's own? */
type OwnFilter = (record: FileRecord, path: WorkspacePath) => boolean;

/** An event of a file that is somebody's own. */
interface OwnEvent {
  readonly seq: number;
  readonly record: FileRecord;
}

/** The events of a span that are looked for. */
interface Looking {
  readonly isOwn: OwnFilter;
  /** Gets the events that are not of files. */
  readonly onOther?: (event: LogEvent) => void;
  /** Asked when all were read: is an own event left out? */
  readonly isOut?: (event: OwnEvent, path: WorkspacePath) => boolean;
}

/** What somebody's own events in a span did to each path: what others did in between is not among it. */
export async function ownChanges(
  context: Context,
  span: SeqSpan,
  { isOwn, onOther, isOut }: Looking,
): Promise<OwnChange[]> {
  const { fromSeq, toSeq } = span;
  if (toSeq <= fromSeq) return [];
  const own = new Map<WorkspacePath, OwnEvent[]>();
  // What began before a dropped archive goes on behind it.
  const begins = (await indexedFrom(context)) ?? 1;
  for await (const event of readRange(context, Math.max(fromSeq + 1, begins), toSeq)) {
    const path = event.recordId.startsWith("file") ? pathOfRecordId(event.recordId) : undefined;
    if (path === undefined) {
      onOther?.(event);
      continue;
    }
    const record = decodeFile(path, event.record);
    if (!isOwn(record, path)) continue;
    const known = own.get(path);
    if (known === undefined) own.set(path, [{ seq: event.seq, record }]);
    else known.push({ seq: event.seq, record });
  }
  const changes: OwnChange[] = [];
  for (const [path, all] of own) {
    const events = isOut === undefined ? all : all.filter((one) => !isOut(one, path));
    const [first] = events;
    if (first === undefined) continue;
    const before = await context.index.iterationAt(path, first.seq - 1);
    const change = changeBetween(path, before?.entry, events.at(-1)?.record.entry);
    if (change !== undefined) changes.push({ ...change, first: firstEvent(first.record, first.seq) });
  }
  return changes.sort((a, b) => comparePaths(a.path, b.path));
}

/** What somebody did, and the paths that they or somebody else did. */
export interface OwnWork {
  readonly changes: Change[];
  readonly ambiguous: readonly WorkspacePath[];
}

/** The same, as it stands in the log. */
interface FoundWork extends OwnWork {
  readonly changes: OwnChange[];
}

/**
 * A run, an action or a session, and what goes on within it. What is within something is begun after it, so that the events
 * of a span, read in order, tell it.
 */
class Lineage {
  readonly #ids: Set<string>;

  constructor(id: string) {
    this.#ids = new Set([id]);
  }

  /** Takes an event that may begin something within. */
  note({ recordId, record }: Pick<LogEvent, "recordId" | "record">): void {
    const kind = /^(?:session|action):/.exec(recordId)?.[0];
    if (kind === undefined) return;
    const outer = [record["run"], record["action"], kind === "action:" ? record["session"] : undefined];
    if (outer.some((id) => typeof id === "string" && this.#ids.has(id))) this.#ids.add(recordId.slice(kind.length));
  }

  holds({ session, action }: Pick<FileRecord, "session" | "action">): boolean {
    return this.#has(session) || this.#has(action);
  }

  /** Is it one of those who may have made a change, and that is not known to be theirs? */
  mayHold(record: Pick<FileRecord, "session" | "action" | "candidates">): boolean {
    return !this.holds(record) && record.candidates?.some((one) => this.#ids.has(one)) === true;
  }

  #has(id: string | undefined): boolean {
    return id !== undefined && this.#ids.has(id);
  }
}

/** The changes that were taken back within a span, for instance by a failed run in it. The events are read in order. */
class TakenBack {
  readonly #undos = new Map<
    string,
    Pick<IntentRecord, "took" | "met" | "left" | "target"> & { readonly seq: number }
  >();
  /** Conflicts that are settled for their undo or by a merge: what the undo met at the path is taken back. */
  readonly #settled = new Map<string, { readonly undo: string; readonly path: WorkspacePath }>();

  /** Takes an event that may end an undo or a redo, or settle a conflict. */
  note({ seq, recordId, record }: Pick<LogEvent, "seq" | "recordId" | "record">): void {
    if (recordId.startsWith("conflict:")) {
      const conflict = decodeConflict(record);
      if (conflict.settled === "undo" || conflict.settled === "merged") this.#settled.set(recordId, conflict);
      else this.#settled.delete(recordId);
      return;
    }
    if (!recordId.startsWith("intent:") || record["state"] !== "done") return;
    const intent = decodeIntent(record);
    if (intent.kind === "undo") this.#undos.set(recordId.slice("intent:".length), { ...intent, seq });
    if (intent.kind !== "redo") return;
    for (const [id, { target }] of this.#undos)
      if (intent.target === id || (target !== undefined && intent.target === target)) this.#undos.delete(id);
  }

  holds({ seq, record }: OwnEvent, path: WorkspacePath): boolean {
    for (const [id, { took, met = [], left = [], target, seq: end }] of this.#undos) {
      if (took !== undefined && holdsSeq(took, seq) && !left.includes(path)) return true;
      if (holdsSeq(met, seq) && this.#isSettled(id, path)) return true;
      const ids = [record.session, record.action, record.transaction, record.intent];
      // The operation may go on after it was undone: an action whose end comes late, for instance.
      if (target !== undefined && seq < end && ids.includes(target)) return true;
    }
    return false;
  }

  #isSettled(undo: string, path: WorkspacePath): boolean {
    return [...this.#settled.values()].some((one) => one.undo === undo && one.path === path);
  }
}

/** The changes of a session and of everything within it, without those that were taken back meanwhile. */
export async function changesOfSession(context: Context, id: string, span: SeqSpan): Promise<FoundWork> {
  return changesWithin(context, new Lineage(id), span);
}

/** What an action did from its snapshot up to an event, and in the changes that are about to follow it. */
export async function changesOfAction(
  context: Context,
  { id, seq }: { readonly id: string; readonly seq: number },
  toSeq: number,
  next: readonly AttributedChange[] = [],
): Promise<FoundWork> {
  const lineage = new Lineage(id);
  const { changes: recorded, ambiguous } = await changesWithin(context, lineage, { fromSeq: seq, toSeq });
  const unsure = new Set([...ambiguous, ...next.flatMap(({ by, path }) => (lineage.mayHold(by) ? [path] : []))]);
  const mine = next.filter(({ by }) => lineage.holds(by)).map(({ path, before, after }) => ({ path, before, after }));
  const firsts = new Map(recorded.map((one) => [one.path, one.first]));
  const unrecorded = { seq: toSeq + 1, action: id, isWritten: false };
  const changes = composeChanges(recorded, mine).map((one) => ({ ...one, first: firsts.get(one.path) ?? unrecorded }));
  return { changes, ambiguous: [...unsure].sort(comparePaths) };
}

async function changesWithin(context: Context, lineage: Lineage, span: SeqSpan): Promise<FoundWork> {
  const ambiguous = new Set<WorkspacePath>();
  const taken = new TakenBack();
  const changes = await ownChanges(context, span, {
    isOwn: (record, path) => {
      if (lineage.mayHold(record)) ambiguous.add(path);
      return lineage.holds(record);
    },
    onOther: (event) => {
      lineage.note(event);
      taken.note(event);
    },
    isOut: (event, path) => taken.holds(event, path),
  });
  return { changes, ambiguous: [...ambiguous].sort(comparePaths) };
}
