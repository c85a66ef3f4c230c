import type { HistoryOptions } from "../api/file-api.ts";
import type { IterationShape, LogEventShape, ManifestFileShape, ManifestShape } from "../api/shapes.ts";
import type { ContentStream, LogOptions } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/errors.ts";
import type { LogEvent } from "../core/event.ts";
import { ManifestHasher } from "../core/merkle.ts";
import { comparePaths } from "../core/path.ts";
import type { EventRow, IterationRow } from "../storage/index-store.ts";
import type { Context } from "./context.ts";
import { parseGivenPath } from "./given-path.ts";
import { resolveMoment } from "./moments.ts";
import { historyStart } from "./history-start.ts";
import { unknownPath } from "./known-paths.ts";
import { iterationsPruned, missingContent } from "./pruning.ts";
import { isInBase } from "./read-base.ts";
import { readEvent, readEvents } from "./read-events.ts";
import { exactPath, shownPath } from "./shape.ts";

/** Reading the past: iterations, contents, events, manifests. */

/** All iterations of a path, oldest first. Throws `NOT_FOUND` with paths of the same name. */
export async function historyOf(
  context: Context,
  given: string,
  options: HistoryOptions = {},
): Promise<IterationShape[]> {
  const path = parseGivenPath(given);
  const all = await context.index.iterations(path);
  if (all.length === 0) throw await unknownPath(context, path);
  const rows = all.filter((one) => one.iteration > (options.after ?? 0)).slice(0, options.limit);
  const pruned = await iterationsPruned(context, rows);
  const shapes: IterationShape[] = [];
  for (const [i, row] of rows.entries()) {
    const by = row.entry?.hash === undefined ? undefined : pruned[i];
    shapes.push({ ...(await iterationShape(context, row)), ...(by === undefined ? {} : { pruned_by: by }) });
  }
  return shapes;
}

async function iterationShape(context: Context, row: IterationRow): Promise<IterationShape> {
  const located = await context.index.locate(row.seq);
  // The event may be compacted away: then a base has brought the iteration, and nothing else is left of it.
  const start = located === undefined ? await historyStart(context) : undefined;
  const ts = located?.ts ?? start?.ts;
  if (ts === undefined) throw new ChronicleError("INTEGRITY_VIOLATION", `the index does not know event ${row.seq}`);
  const record = located === undefined ? { cause: "compact" } : (await readEvent(context, located)).record;
  const { entry } = row;
  const { actor, session, action } = { actor: undefined, session: undefined, action: undefined, ...record };
  return {
    iteration: row.iteration,
    timestamp: Date.parse(ts),
    size: entry?.size ?? 0,
    hash: entry?.hash ?? "",
    ...(entry === undefined ? { deleted: true } : {}),
    kind: entry?.kind ?? "absent",
    permissions: entry?.mode ?? 0,
    seq: row.seq,
    cause: typeof record["cause"] === "string" ? record["cause"] : "baseline",
    actor: typeof actor === "string" ? actor : "",
    ...(typeof session === "string" ? { session } : {}),
    ...(typeof action === "string" ? { action } : {}),
  };
}

/** Recorded paths with this file name, deleted ones too. */
export async function findPaths(context: Context, name: string): Promise<string[]> {
  return (await context.index.pathsNamed(name)).map(shownPath);
}

/** The content of an iteration; without a number, of the last one that is not a deletion. */
export async function openIteration(context: Context, given: string, iteration?: number): Promise<ContentStream> {
  const path = parseGivenPath(given);
  const rows = await context.index.iterations(path);
  if (rows.length === 0) throw await unknownPath(context, path);
  const row =
    iteration === undefined
      ? rows.findLast((one) => one.entry !== undefined)
      : rows.find((one) => one.iteration === iteration);
  const entry = row?.entry;
  const range = `${rows[0]?.iteration}..${rows.at(-1)?.iteration}`;
  if (row === undefined || entry === undefined) {
    const what = row === undefined ? `has no iteration ${iteration}` : `iteration ${row.iteration} is a deletion`;
    throw new ChronicleError("NOT_FOUND", `${JSON.stringify(shownPath(path))}: ${what} (it has ${range})`, {
      hint: `\`chronicle history ${shownPath(path)}\` lists them`,
    });
  }
  if (entry.hash === undefined)
    throw new ChronicleError("REFUSED", `${JSON.stringify(shownPath(path))} is a folder`, {
      hint: "name a file in it",
    });
  const { hash, kind, size } = entry;
  const reader = await context.blobs.open(hash);
  if (reader === undefined) {
    const what = `the content of ${shownPath(path)}@${row.iteration}`;
    throw await missingContent(context, { path, hash, what, iteration: row.iteration });
  }
  return { path: shownPath(path), iteration: row.iteration, size, hash, kind, pieces: () => reader.pieces() };
}

function eventShape(event: LogEvent): LogEventShape {
  return {
    seq: event.seq,
    ts: event.ts,
    record_id: event.recordId,
    op: event.op,
    hash: event.hash,
    prev_hash: event.prevHash,
    recursion_depth: event.recursionDepth,
    record: event.record,
  };
}

/** Events of the log. */
export async function readLog(context: Context, options: LogOptions = {}): Promise<LogEventShape[]> {
  const head = await context.index.head();
  const limit = options.limit ?? Number.MAX_SAFE_INTEGER;
  const wanted: EventRow[] = [];
  const step = 10_000;
  let from = Math.max(1, options.from ?? 1);
  let to = Math.min(head.seq, options.to ?? head.seq);
  const descending = options.reverse === true;
  while (from <= to && wanted.length < limit) {
    const rows = await context.index.events({ from, to, limit: step, descending });
    for (const row of rows)
      if (wanted.length < limit && !isInBase(row) && row.recordId.startsWith(options.prefix ?? "")) wanted.push(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < step) break;
    if (descending) to = last.seq - 1;
    else from = last.seq + 1;
  }
  return (await readEvents(context, wanted)).map(eventShape);
}

function fileShape(row: IterationRow): ManifestFileShape | undefined {
  const { entry, path } = row;
  if (entry === undefined) return undefined;
  return {
    kind: entry.kind,
    hash: entry.hash ?? "",
    size: entry.size,
    mtime_ms: entry.mtimeMs,
    permissions: entry.mode,
    ...exactPath(path),
  };
}

/** The manifest at a moment, under the root that commits to it (recomputed from the entries). */
export async function manifestAt(context: Context, text: string): Promise<ManifestShape> {
  const moment = await resolveMoment(context, text);
  const files: Record<string, ManifestFileShape> = Object.create(null) as Record<string, ManifestFileShape>;
  const hasher = new ManifestHasher(() => undefined);
  for await (const rows of context.index.entriesAt(moment.seq)) {
    for (const row of rows.toSorted((a, b) => comparePaths(a.path, b.path))) {
      const shape = fileShape(row);
      if (shape === undefined || row.entry === undefined) continue;
      hasher.add(row.entry);
      files[shownPath(row.path)] = shape;
    }
  }
  const { snapshot } = moment;
  return {
    number: snapshot?.number ?? -1,
    id: snapshot?.id ?? "",
    timestamp: snapshot?.ts ?? "",
    parent: snapshot?.parent ?? null,
    root: hasher.finish(context.worktree.roots.flatMap(({ id }) => (id === undefined ? [] : [id]))),
    files,
  };
}
