import type {
  OriginIterationShape,
  IterationShape,
  LogEventShape,
  ManifestFileShape,
  ManifestShape,
} from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent, RecordBody } from "../../core/values/event.ts";
import {
  changeOf,
  fileRecordId,
  type UpstreamIteration,
  decodeReplicaEvent,
  decodeUpstream,
} from "../../core/values/file-record.ts";
import { type WorkspacePath, comparePaths } from "../../core/values/path.ts";
import { answer } from "../log/answer.ts";
import type { Context } from "../log/context.ts";
import { readEvents } from "../log/read-events.ts";
import { optional } from "../../util/optional.ts";
import type { HistoryOptions } from "../../api/file-api.ts";
import type { ContentStream, FindOptions, LogOptions } from "../../api/workspace-api.ts";
import { ManifestHasher } from "../../core/tree/merkle.ts";
import type { EventRow, IterationRow } from "../../storage/index-store.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { eventShape } from "./event-feed.ts";
import { parseGivenPath, unknownPath } from "../log/known-paths.ts";
import { tellStale } from "../facts/stale-states.ts";
import { Patches } from "./patches.ts";
import { renamedBudget, renamedFrom } from "./renamed-from.ts";
import { resolveMoment } from "./moments.ts";
import { historyStart } from "../log/history-start.ts";
import { isProtected } from "../state/protected.ts";
import { iterationsPruned, missingContent } from "../facts/pruning.ts";
import { isInBase } from "../log/read-base.ts";
import { proveHistory, proveRow, refuseSize } from "../state/proved-content.ts";
import { exactPath, pathArgument, shownPath } from "../log/shape.ts";

/**
 * Returns the iterations of a path, oldest first, or a page of them. Throws `NOT_FOUND` if the path has no history. The
 * error names recorded paths that have the same name.
 */
export async function historyOf(
  context: Context,
  given: string,
  { after: asked = 0, limit, last, patch = false }: HistoryOptions = {},
): Promise<IterationShape[]> {
  const path = parseGivenPath(given);
  const after = Math.max(asked, last === undefined ? 0 : (await newestIteration(context, path)) - last);
  // One iteration beyond the page is read, because the next iteration decides whether an iteration is pruned.
  const found = await context.index.iterations(path, { after, ...(limit === undefined ? {} : { limit: limit + 1 }) });
  if (found.length === 0 && (await context.index.iterations(path, { limit: 1 })).length === 0)
    throw await unknownPath(context, path);
  const pruned = await iterationsPruned(context, found);
  const rows = found.slice(0, limit);
  const shapes = await recordedShapes(context, path, rows);
  const patches = patch ? await patchesOf(context, path, rows) : [];
  const renames = await renamesOf(context, rows, patch);
  const hashes = rows.flatMap(({ entry }) => entry?.hash ?? []);
  const erased = await erasedAmong(context, hashes);
  const erasures = await erasuresInForce(context);
  return shapes.map((shape, i) => {
    const hash = rows[i]?.entry?.hash;
    const by = hash === undefined ? undefined : pruned[i];
    return {
      ...shape,
      ...optional({ pruned_by: by }),
      ...(hash === undefined || !erased.has(hash) ? {} : { erased_by: erasures.of(hash)?.seq ?? 0 }),
      ...patches[i],
      ...renames[i],
    };
  });
}

/** Returns the number of the newest iteration of a path; 0 if there is none. */
async function newestIteration({ index }: Context, path: WorkspacePath): Promise<number> {
  const { seq } = await index.head();
  return (await index.iterationAt(path, seq))?.iteration ?? 0;
}

/**
 * The maximum number of creations of a file in one answer for which an earlier path is looked for. The newest creations
 * are taken.
 */
const MOST_BEGINNINGS = 5;

/**
 * Returns, for each row that created the file, the path from which the file was renamed. Returns `{}` for a row without
 * such a path.
 */
async function renamesOf(
  context: Context,
  rows: readonly IterationRow[],
  isWithPatch: boolean,
): Promise<readonly Partial<IterationShape>[]> {
  const found: Partial<IterationShape>[] = rows.map(() => ({}));
  const budget = renamedBudget();
  const isBeginning = (i: number): boolean =>
    rows[i]?.entry?.kind === "file" && (i > 0 ? rows[i - 1]?.entry === undefined : rows[i]?.iteration === 1);
  const beginnings = rows.flatMap((row, i) => (isBeginning(i) ? [{ row, i }] : [])).slice(-MOST_BEGINNINGS);
  for (const { row, i } of beginnings.reverse()) {
    const earlier = await renamedFrom(context, row, budget);
    const last = earlier?.rows.at(-1);
    if (earlier === undefined || last === undefined) continue;
    const from = { path: shownPath(earlier.path), ...exactPath(earlier.path), iteration: last.iteration };
    const patch = isWithPatch ? await new Patches(context).ofRename(earlier.rename) : undefined;
    found[i] = {
      renamed_from: { ...from, similarity: earlier.rename.similarity },
      ...optional({ rename_patch: patch }),
    };
  }
  return found;
}

/**
 * Returns, for each of these consecutive iterations of a path, the patch of its change, or the reason why there is
 * none. The newest patches are made first, because the total size of the patches in one answer is bounded.
 */
async function patchesOf(
  context: Context,
  path: WorkspacePath,
  rows: readonly IterationRow[],
): Promise<readonly Partial<IterationShape>[]> {
  const first = rows[0]?.iteration ?? 0;
  const [before] = first > 1 ? await context.index.iterations(path, { after: first - 2, limit: 1 }) : [];
  const sides = [before?.iteration === first - 1 ? before.entry : undefined, ...rows.map(({ entry }) => entry)];
  const patches = new Patches(context);
  const found: Partial<IterationShape>[] = [];
  for (let i = rows.length; i > 0; i -= 1)
    found.push(await patches.ofKept({ path, before: sides[i - 1], after: sides[i] }));
  return found.reverse();
}

/** Returns the shapes of iterations of a path, as their events describe them, in the order of the rows. */
export async function recordedShapes(
  context: Context,
  path: WorkspacePath,
  rows: readonly IterationRow[],
): Promise<IterationShape[]> {
  const events = await eventsOf(context, rows);
  const taken = new Map([...events].flatMap(([seq, { record }]) => takenOver(seq, record)));
  const there = await originIterations(context, path, [...taken.values()]);
  return rows.map((row) => {
    const upstream = there.get(taken.get(row.seq)?.seq ?? 0);
    return { ...iterationShape(row, events.get(row.seq)), ...optional({ upstream }) };
  });
}

function takenOver(seq: number, { upstream }: RecordBody): [number, UpstreamIteration][] {
  return upstream === undefined ? [] : [[seq, decodeUpstream(upstream)]];
}

type Recorded = Pick<LogEvent, "ts" | "record">;

/**
 * Returns the events of the rows, by seq. An event that was compacted away is replaced by one that has the time at
 * which the history begins, and the cause `compact`.
 */
async function eventsOf(context: Context, rows: readonly IterationRow[]): Promise<ReadonlyMap<number, Recorded>> {
  const found = new Map<number, Recorded>();
  const located: EventRow[] = [];
  for (const { seq } of rows) {
    const row = await context.index.locate(seq);
    if (row !== undefined) located.push(row);
    else found.set(seq, { ts: await beginning(context, seq), record: { cause: "compact" } });
  }
  for (const event of await readEvents(context, located)) found.set(event.seq, event);
  return found;
}

async function beginning(context: Context, seq: number): Promise<string> {
  const start = await historyStart(context);
  if (start !== undefined) return start.ts;
  throw new ChronicleError("INTEGRITY_VIOLATION", `the index does not know event ${seq}`);
}

function iterationShape({ iteration, seq, entry }: IterationRow, recorded: Recorded | undefined): IterationShape {
  const { actor, cause } = recorded?.record ?? {};
  return {
    iteration,
    timestamp: Date.parse(recorded?.ts ?? ""),
    size: entry?.size ?? 0,
    hash: entry?.hash ?? "",
    ...(entry === undefined ? { deleted: true } : {}),
    kind: entry?.kind ?? "absent",
    permissions: entry?.mode ?? 0,
    seq,
    cause: typeof cause === "string" && cause !== "" ? cause : "baseline",
    actor: typeof actor === "string" ? actor : "",
    ...belonging(recorded?.record ?? {}),
  };
}

function belonging({ session, action, turn, transaction, intent, replica }: RecordBody): Partial<IterationShape> {
  const by = replica === undefined ? undefined : decodeReplicaEvent(replica);
  return {
    ...(typeof session === "string" && session !== "" ? { session } : {}),
    ...(typeof action === "string" && action !== "" ? { action } : {}),
    ...(typeof turn === "string" && turn !== "" ? { turn } : {}),
    ...(typeof transaction === "string" && transaction !== "" ? { transaction } : {}),
    ...(typeof intent === "string" && intent !== "" ? { operation: intent } : {}),
    ...(by === undefined ? {} : { replica: { id: by.id, local_seq: by.localSeq } }),
  };
}

export async function findPaths(context: Context, name: string, options: FindOptions = {}): Promise<string[]> {
  return (await context.index.pathsNamed(name, options)).map(shownPath);
}

/**
 * Opens the content of an iteration. Without a number, opens the content of the last iteration that is not a deletion.
 * Throws `NOT_FOUND` for an unknown path or iteration and for a deletion, `REFUSED` for a folder, and the errors of
 * `missingContent`.
 */
export async function openIteration(context: Context, given: string, iteration?: number): Promise<ContentStream> {
  const path = parseGivenPath(given);
  const rows = await context.index.iterations(path);
  if (rows.length === 0) throw await notRecorded(context, path);
  const row =
    iteration === undefined
      ? rows.findLast((one) => one.entry !== undefined)
      : rows.find((one) => one.iteration === iteration);
  const entry = row?.entry;
  const range = `${rows[0]?.iteration}..${rows.at(-1)?.iteration}`;
  if (row === undefined || entry === undefined) {
    await proveHistory(context, path);
    const what = row === undefined ? `has no iteration ${iteration}` : `iteration ${row.iteration} is a deletion`;
    throw new ChronicleError("NOT_FOUND", `${JSON.stringify(shownPath(path))}: ${what} (it has ${range})`, {
      hint: `\`chronicle history ${pathArgument(path)}\` lists its iterations`,
    });
  }
  if (entry.hash === undefined)
    throw new ChronicleError("REFUSED", `${JSON.stringify(shownPath(path))} is a folder`, {
      hint: "name a file in it",
    });
  await proveRow(context, row, { isLast: iteration === undefined });
  const { hash, kind, size } = entry;
  const reader = await context.blobs.open(hash);
  if (reader === undefined) {
    const what = `the content of ${shownPath(path)}@${row.iteration}`;
    throw await missingContent(context, { path, hash, what, iteration: row.iteration });
  }
  refuseSize(row, reader);
  const is = (await isProtected(context, row)) ? ({ class: "protected" } as const) : {};
  return { path: shownPath(path), iteration: row.iteration, size, hash, kind, ...is, pieces: () => reader.pieces() };
}

/**
 * Returns the error for a path that the index does not have. First proves that the log does not have the path either.
 */
async function notRecorded(context: Context, path: WorkspacePath): Promise<ChronicleError> {
  await proveHistory(context, path);
  return unknownPath(context, path);
}

/**
 * The maximum and the minimum number of rows per query. Rows that come from a base do not count towards the limit, so a
 * query asks for at least `FEWEST_ROWS` rows.
 */
const MOST_ROWS = 10_000;
const FEWEST_ROWS = 100;

/** Returns the events that the options select. Leaves out events of which only a record in a base is left. */
export async function readLog(context: Context, options: LogOptions = {}): Promise<LogEventShape[]> {
  const head = await context.index.head();
  const limit = options.limit ?? Number.MAX_SAFE_INTEGER;
  const wanted: EventRow[] = [];
  // If no prefix is given, nearly every row is wanted, so a query reads about as many rows as the limit.
  const step = options.prefix === undefined ? Math.min(MOST_ROWS, Math.max(limit, FEWEST_ROWS)) : MOST_ROWS;
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

/**
 * Returns the manifest at a moment, with a root that is recomputed from the entries. Throws the errors of
 * `resolveMoment`.
 */
export async function manifestAt(context: Context, text: string): Promise<ManifestShape> {
  const moment = await resolveMoment(context, text);
  if (!moment.now) await tellStale(context, moment.seq);
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

/**
 * Returns the origin's iterations of a path, by the seqs of the origin's events. The author and the time of each
 * iteration are read from this replica's copy of the origin's history. The author and the time are missing if the copy
 * begins later or cannot be read.
 */
async function originIterations(
  context: Context,
  path: WorkspacePath,
  taken: readonly UpstreamIteration[],
): Promise<ReadonlyMap<number, OriginIterationShape>> {
  const found = new Map<number, OriginIterationShape>(taken.map((one) => [one.seq, { ...one }]));
  if (found.size === 0) return found;
  try {
    await using copy = await context.store.copy();
    const events = copy === undefined ? [] : await heldEvents(copy.context, [...found.keys()]);
    for (const event of events) {
      const known = found.get(event.seq);
      if (known !== undefined && event.recordId === fileRecordId(path))
        found.set(event.seq, { ...known, ...saidBy(event, path) });
    }
  } catch (error) {
    // An unreadable copy is no error, because the workspace's own history is complete without it.
    if (!(error instanceof ChronicleError)) throw error;
    context.tell?.(
      `the actors of the origin's changes are not known: ${error.message}; run \`chronicle --upstream verify\``,
    );
  }
  return found;
}

function heldEvents(copy: Context, seqs: readonly number[]): Promise<readonly LogEvent[]> {
  return answer(copy, async () => {
    const rows = [];
    for (const seq of seqs) rows.push((await copy.index.locate(seq)) ?? []);
    return readEvents(copy, rows.flat());
  });
}

function saidBy(event: LogEvent, path: WorkspacePath): Partial<OriginIterationShape> {
  const { actor, session, turn, action } = changeOf(event, path) ?? {};
  return { timestamp: Date.parse(event.ts), ...optional({ actor, session, turn, action }) };
}
