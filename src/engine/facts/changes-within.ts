import type { LogEvent } from "../../core/values/event.ts";
import type { FileRecord } from "../../core/values/file-record.ts";
import { composeChanges } from "../../core/tree/plan.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import type { AttributedChange } from "./attribution.ts";
import type { Context } from "../log/context.ts";
import { operationsOf } from "./logged-operations.ts";
import { loggedSessions } from "./actions.ts";
import { ownChanges, type OwnWork, type SeqSpan } from "./own-changes.ts";
import { ownersIn } from "./owners.ts";
import { undoneBy, type UndoneEvents } from "./undone-events.ts";

interface FoundWork extends OwnWork {
  /** The paths with an ambiguous change of which the work is one of the candidates. */
  readonly ambiguous: readonly WorkspacePath[];
}

/**
 * The ids of a run, an action or a session and of everything within it. Inner work begins later than the work around
 * it. Therefore, reading the events of a span in order finds all inner work.
 */
class Lineage {
  readonly #ids: Set<string>;

  constructor(id: string) {
    this.#ids = new Set([id]);
  }

  note({ recordId, record }: Pick<LogEvent, "recordId" | "record">): void {
    const kind = /^(?:session|action):/.exec(recordId)?.[0];
    if (kind === undefined) return;
    const outer = [record["run"], record["action"], kind === "action:" ? record["session"] : undefined];
    if (outer.some((id) => typeof id === "string" && this.#ids.has(id))) this.#ids.add(recordId.slice(kind.length));
  }

  holds({ session, action }: Pick<FileRecord, "session" | "action">): boolean {
    return this.#has(session) || this.#has(action);
  }

  /** True if the work is a candidate for a change, but the change is not known to belong to the work. */
  mayHold(record: Pick<FileRecord, "session" | "action" | "candidates">): boolean {
    return !this.holds(record) && record.candidates?.some((one) => this.#ids.has(one)) === true;
  }

  #has(id: string | undefined): boolean {
    return id !== undefined && this.#ids.has(id);
  }
}

/**
 * Returns the changes of a session and of everything within it. Leaves out changes that were undone by the end of the
 * span.
 */
export async function changesOfSession(context: Context, id: string, span: SeqSpan): Promise<FoundWork> {
  return changesWithin(context, new Lineage(id), span);
}

/** Returns the paths that a session and everything within it changed, including paths whose changes were undone. */
export async function pathsOfSession(context: Context, id: string, span: SeqSpan): Promise<WorkspacePath[]> {
  const { changes } = await changesWithin(context, new Lineage(id), span, { withUndone: true });
  return changes.map((change) => change.path);
}

/**
 * Returns the changes of an action and of everything within it. The recorded changes up to event `toSeq` are combined
 * with the changes in `next`, which are not recorded yet. Changes in `next` that do not belong to the action are left
 * out.
 */
export async function changesOfAction(
  context: Context,
  { id, seq }: { readonly id: string; readonly seq: number },
  toSeq: number,
  next: readonly AttributedChange[] = [],
): Promise<FoundWork> {
  const lineage = new Lineage(id);
  const { changes: recorded, claims, ambiguous } = await changesWithin(context, lineage, { fromSeq: seq, toSeq });
  const unsure = new Set([...ambiguous, ...next.flatMap(({ by, path }) => (lineage.mayHold(by) ? [path] : []))]);
  const mine = next.filter(({ by }) => lineage.holds(by)).map(({ path, before, after }) => ({ path, before, after }));
  const firsts = new Map(recorded.map((one) => [one.path, one.first]));
  const unrecorded = { seq: toSeq + 1, action: id, isWritten: false };
  const changes = composeChanges(recorded, mine).map((one) => ({ ...one, first: firsts.get(one.path) ?? unrecorded }));
  return { changes, claims, ambiguous: [...unsure].sort(comparePaths) };
}

async function changesWithin(
  context: Context,
  lineage: Lineage,
  span: SeqSpan,
  { withUndone = false }: { readonly withUndone?: boolean } = {},
): Promise<FoundWork> {
  const ambiguous = new Set<WorkspacePath>();
  let isAnyUndo = false;
  const own = await ownChanges(context, span, {
    isOwn: (record, path) => {
      if (lineage.mayHold(record)) ambiguous.add(path);
      return lineage.holds(record);
    },
    onOther: (event) => {
      lineage.note(event);
      isAnyUndo ||= isUndo(event);
    },
    isOut: async () => {
      // If the span contains no undo, the operations are not read. Reading all operations is needed only to find out
      // which events an undo undid.
      if (!isAnyUndo || withUndone) return () => false;
      const { holds } = await undoneUpTo(context, span.toSeq);
      return ({ seq, record }, path) => holds(seq, record, path);
    },
  });
  return { ...own, ambiguous: [...ambiguous].sort(comparePaths) };
}

function isUndo({ recordId, record }: Pick<LogEvent, "recordId" | "record">): boolean {
  return recordId.startsWith("intent:") && record["state"] === "done" && record["kind"] === "undo";
}

async function undoneUpTo(context: Context, upTo: number): Promise<UndoneEvents> {
  const operations = await operationsOf(context, await loggedSessions(context));
  return undoneBy(operations, await ownersIn(context), upTo);
}
