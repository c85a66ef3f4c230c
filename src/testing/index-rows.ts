import type { Entry, EntryKind } from "../core/values/entry.ts";
import type { EventOp } from "../core/values/event.ts";
import { sha256 } from "../core/values/hash.ts";
import { parsePath, type WorkspacePath } from "../core/values/path.ts";
import type { EventRow, IndexBatch, IndexStore, IterationRow } from "../storage/index-store.ts";

/** Makes an entry whose hash follows from its text. */
export function entryAt(path: WorkspacePath, kind: EntryKind = "file", text = "text"): Entry {
  if (kind === "dir") return { path, kind, mode: 0o755, size: 0, mtimeMs: 0, hash: undefined };
  return {
    path,
    kind,
    mode: kind === "file" ? 0o644 : 0o777,
    size: text.length,
    mtimeMs: 1_700_000_000_123,
    hash: sha256(text),
  };
}

/** Makes the row of an event; `offset` and `length` follow from its seq. */
export function eventAt(seq: number, recordId: string, op: EventOp = "upsert"): EventRow {
  const ts = "2026-01-31T09:30:00.000Z";
  return { seq, ts, op, recordId, hash: sha256(`${seq}`), offset: (seq - 1) * 100, length: 99, open: false };
}

/** Makes a batch that ends at a seq. */
export function batchTo(seq: number, part: Partial<Omit<IndexBatch, "head">> = {}): IndexBatch {
  const head = { seq, hash: sha256(`${seq}`), offset: seq * 100, frontier: [sha256("left"), sha256(`${seq}`)] };
  const { events = [], iterations = [], ...more } = part;
  return { head, events, iterations, ...more };
}

/** One step at one path: a kind (with a text), or a deletion. */
export type Step = readonly [path: string, what: "deleted" | "dir" | `file:${string}` | `symlink:${string}`];

/** Converts steps to rows: step n is event n. */
export function rowsOf(steps: readonly Step[], firstSeq = 1): IterationRow[] {
  const counts = new Map<string, number>();
  return steps.map(([text, what], at) => {
    const path = text.startsWith("\0") ? (text as WorkspacePath) : parsePath(text);
    const iteration = (counts.get(text) ?? 0) + 1;
    counts.set(text, iteration);
    const [kind = "", ...content] = what.split(":");
    const entry = what === "deleted" ? undefined : entryAt(path, kind as EntryKind, content.join(":"));
    return { path, seq: firstSeq + at, iteration, entry };
  });
}

/** Applies each step as its own event. */
export async function applySteps(store: IndexStore, steps: readonly Step[]): Promise<void> {
  const { seq } = await store.head();
  for (const row of rowsOf(steps)) {
    const at = seq + row.seq;
    const iterations = [{ ...row, seq: at }];
    await store.apply(batchTo(at, { events: [eventAt(at, `file:${row.path}`)], iterations }));
  }
}
