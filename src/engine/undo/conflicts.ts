import type { ConflictsOptions, ResolveOptions } from "../../api/action-api.ts";
import type { ResolveShape } from "../../api/action-shapes.ts";
import type { ConflictShape } from "../../api/conflict-shape.ts";
import {
  conflictDraft,
  contentsOfConflict,
  decodeConflict,
  type ConflictEnd,
  type ConflictRecord,
  type IdentifiedConflict,
} from "../../core/records/conflict-record.ts";
import { type Entry, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { type FilePlan, changeFiles } from "../capture/change-files.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { Patches } from "../read/patches.ts";
import { parseGivenPath } from "../log/known-paths.ts";
import { mergeGroups } from "./way-back.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { onePathShape, planOnePath } from "./one-path.ts";
import { readRange } from "../log/read-events.ts";
import { settable } from "../capture/never-set.ts";
import { conflictsIn, openConflicts } from "../facts/open-conflicts.ts";
import { exactPath, pathArgument, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { withBatch, type BlobBatch } from "../../storage/blob-store.ts";

const PREFIX = "conflict:";

/**
 * Returns the open conflicts and, with `all`, the settled ones, in the order of their last events. With `patch`, each
 * conflict has the difference between its two states. A conflict is a part of an undo that did not merge, or a path for
 * which a folder and its origin have different states.
 */
export async function listConflicts(context: Context, options: ConflictsOptions = {}): Promise<ConflictShape[]> {
  const { index } = context;
  const rows = options.all === true ? await index.records(PREFIX) : await index.openRecords(PREFIX);
  const shapes: ConflictShape[] = [];
  const patches = new Patches(context);
  for (const one of await conflictsIn(context, partOf(rows, options)))
    shapes.push({ ...unmergedShape(one), ...(options.patch === true ? await differenceOf(patches, one) : {}) });
  return shapes;
}

/** Returns the requested part of a list. Throws `USAGE` if the list has no conflict with the id `after`. */
function partOf(rows: readonly EventRow[], { after, limit }: ConflictsOptions): readonly EventRow[] {
  const begin = after === undefined ? 0 : rows.findIndex(({ recordId }) => recordId === `${PREFIX}${after}`) + 1;
  if (after !== undefined && begin === 0) {
    throw new ChronicleError("USAGE", `the conflict ${JSON.stringify(after)} is not in this list, or no longer`, {
      hint: "list the conflicts again without `after`",
    });
  }
  return rows.slice(begin, limit === undefined ? undefined : begin + limit);
}

/**
 * Returns the fields that show the difference between the two states of a conflict. Returns no field if the states are
 * equal, or if a content was pruned or erased.
 */
async function differenceOf(
  patches: Patches,
  { record: { path, current, wanted } }: IdentifiedConflict,
): Promise<Pick<ConflictShape, "patch" | "binary" | "too_large" | "no_room" | "protected" | "erased">> {
  const change = changeBetween(path, current, wanted);
  if (change === undefined) return {};
  try {
    return await patches.of(change);
  } catch (error) {
    if (error instanceof ChronicleError && (error.code === "PRUNED" || error.code === "ERASED")) return {};
    throw error;
  }
}

function syncPart({ sync, base }: ConflictRecord): Pick<ConflictShape, "cause" | "detail" | "base_hash"> {
  if (sync === undefined) return {};
  const { detail } = sync;
  return { cause: "sync", base_hash: base?.hash ?? "", ...optional({ detail }) };
}

export function unmergedShape({ id, record }: IdentifiedConflict): ConflictShape {
  const { path, state, settled, reason, undo, met, current, wanted } = record;
  return {
    id,
    ...syncPart(record),
    path: shownPath(path),
    ...exactPath(path),
    timestamp: met,
    state,
    ...optional({ settled }),
    reason,
    undo_id: undo,
    current_hash: current?.hash ?? "",
    undo_hash: wanted?.hash ?? "",
    current_size: current?.size ?? 0,
    undo_size: wanted?.size ?? 0,
    current_kind: current?.kind ?? null,
    undo_kind: wanted?.kind ?? null,
    ...(current === undefined ? {} : { current_permissions: current.mode }),
    ...(wanted === undefined ? {} : { undo_permissions: wanted.mode }),
  };
}

/**
 * Settles the open conflict with this path or id (or the beginning of its id). The state on disk is captured first, so
 * that nothing is lost. The change of a file is an operation that can be undone. Throws `USAGE` for invalid options,
 * `NOT_FOUND` if no conflict matches, and `AMBIGUOUS` if several match. Throws `REFUSED` if the change is not possible,
 * for instance because the state that the undo wanted does not merge with later edits.
 */
export async function resolveConflict(context: Context, asked: string, options: ResolveOptions): Promise<ResolveShape> {
  checkResolve(options);
  const conflict = await findConflict(context, asked);
  refuseWhole(conflict);
  return changeFiles(context, {}, ({ seq }) => planResolve(context, conflict, { options, seq }));
}

async function planResolve(
  context: Context,
  conflict: IdentifiedConflict,
  { options, seq }: { readonly options: ResolveOptions; readonly seq: number },
): Promise<FilePlan<ResolveShape>> {
  const { path } = conflict.record;
  const present = (await context.index.iterationAt(path, seq))?.entry;
  refuseUnseen(conflict, present, options);
  const { target, contents } = await targetOf(context, conflict, { options, present });
  const settled = settledAs(conflict, options.keep);
  const hint = `move away what is in the way and try again, or \`chronicle resolve ${conflict.id.slice(0, 8)} --keep-current\``;
  const change = await planOnePath(context, path, { present, target, hint });
  const isWritten = change.wanted.length > 0;
  const proposals = proposedBy(conflict, target, isWritten);
  const isNothing = !isWritten && proposals === undefined;
  return {
    kind: "resolve",
    summary: `resolve of ${shownPath(path)}: ${wordsOf(conflict)[options.keep]}`,
    ...change,
    contents,
    conflicts: () => [settled],
    ...optional({ proposals }),
    isNothing,
    report: async (done) => {
      const shape = onePathShape(context, done);
      if (isNothing) await withCommit(context, (commit) => commit.append([conflictDraft(settled)]));
      return { conflict: unmergedShape(settled), ...shape };
    },
  };
}

/** Throws `REFUSED` if the path no longer has the content that the caller has seen (`seen`). */
function refuseUnseen(
  { id, record: { path } }: IdentifiedConflict,
  present: Entry | undefined,
  { seen }: ResolveOptions,
) {
  if (seen === undefined || seen === (present?.hash ?? null)) return;
  throw new ChronicleError("REFUSED", `${shownPath(path)} was edited since you have seen it`, {
    hint: `look at the present content of the file, then settle the conflict ${id.slice(0, 8)} again`,
    data: { path: shownPath(path), hash: present?.hash ?? "" },
  });
}

function refuseWhole({ record }: IdentifiedConflict): void {
  const { path, base, current, wanted, reason, sync } = record;
  const isOneFile = ![base, current, wanted].some((entry) => entry?.kind === "dir");
  if (sync === undefined || (isOneFile && reason !== "folder" && reason !== "collision")) return;
  const shown = shownPath(path);
  throw new ChronicleError("REFUSED", `the sync conflict at ${shown} is about more than one file`, {
    hint: `\`chronicle sync resolve ${pathArgument(path)} --keep-local\`, or --accept-upstream`,
    data: { path: shown },
  });
}

/**
 * Returns a list with the path of a sync conflict if the path keeps its present state, and the origin has another
 * state; otherwise `undefined`. The origin has then refused the present state, or has never received it. The caller
 * must propose the present state to the origin: no file is written, so the state would not get into the journal
 * otherwise.
 */
function proposedBy(
  { record: { path, sync, wanted } }: IdentifiedConflict,
  target: Entry | undefined,
  isWritten: boolean,
): readonly WorkspacePath[] | undefined {
  return sync === undefined || isWritten || sameEntry(target, wanted) ? undefined : [path];
}

/** Throws `USAGE` for invalid options, because not all callers are type-checked. */
function checkResolve({ keep, content }: ResolveOptions): void {
  if (!Object.hasOwn(WORDS, keep)) {
    const known = Object.keys(WORDS).join(", ");
    throw new ChronicleError("USAGE", `a conflict cannot be settled as ${JSON.stringify(keep)}`, {
      hint: `give one of these: ${known}`,
    });
  }
  if (keep !== "merged" || content instanceof Uint8Array) return;
  throw new ChronicleError("USAGE", "the merged content is missing", { hint: "give the content with --merged FILE" });
}

const WORDS: Readonly<Record<ResolveOptions["keep"], string>> = {
  current: "the present state was kept",
  undo: "the state that the undo wanted was taken",
  merged: "a merged content was given",
};

const SYNC_WORDS: Readonly<Record<ResolveOptions["keep"], string>> = {
  current: "the folder's side was kept",
  undo: "the upstream's side was taken",
  merged: "a merged content was given",
};

export function settledInWords(path: WorkspacePath, keep: ResolveOptions["keep"]): string {
  return `resolve of ${shownPath(path)}: ${SYNC_WORDS[keep]}`;
}

function wordsOf({ record }: IdentifiedConflict): typeof WORDS {
  return record.sync === undefined ? WORDS : SYNC_WORDS;
}

function settledAs({ id, record }: IdentifiedConflict, how: ConflictEnd): IdentifiedConflict {
  return { id, record: { ...record, state: "settled", settled: how } };
}

interface Resolving {
  readonly options: ResolveOptions;
  readonly present: Entry | undefined;
}

async function targetOf(
  context: Context,
  { id, record }: IdentifiedConflict,
  { options, present }: Resolving,
): Promise<{ readonly target: Entry | undefined; readonly contents: readonly Hash[] }> {
  if (options.keep === "current") return { target: present, contents: [] };
  const { target, contents } = await withBatch(context.blobs, (batch) =>
    options.keep === "undo"
      ? mergedTarget(context, { id, record }, { present, batch })
      : givenTarget(record, { present, batch, content: options.content ?? new Uint8Array() }),
  );
  return { target, contents: [...contents, ...contentsOfConflict(record)] };
}

interface Target {
  readonly target: Entry | undefined;
  readonly contents: readonly Hash[];
}

/**
 * Returns the state that a path gets if the `wanted` state of its conflict is taken. The state of an origin is taken
 * without a merge, and without the mode bits that Chronicle never sets. The state that an undo wanted is merged with
 * later edits of the path. Throws `REFUSED` if the undo does not merge with these edits.
 */
async function mergedTarget(
  context: Context,
  { id, record }: IdentifiedConflict,
  { present, batch }: { readonly present: Entry | undefined; readonly batch: BlobBatch },
): Promise<Target> {
  const { path, current, wanted, sync } = record;
  // Later edits are not merged into the origin's state. The edits stay in the history.
  if (sync !== undefined) return { target: settable(wanted), contents: [] };
  const groups = [{ before: wanted, after: current }];
  const merged = await mergeGroups(context, groups, { present, batch });
  if (merged.reason === undefined) return { target: merged.entry, contents: merged.contents };
  throw new ChronicleError(
    "REFUSED",
    `${shownPath(path)} was edited since, and the undo cannot be merged with the edit`,
    {
      hint: `edit the file and run \`chronicle resolve ${id.slice(0, 8)} --keep-current\`, or give merged content: --merged FILE`,
      data: { path: shownPath(path), undo_hash: wanted?.hash ?? "" },
    },
  );
}

async function givenTarget(
  { path, current, wanted }: ConflictRecord,
  {
    present,
    batch,
    content,
  }: { readonly present: Entry | undefined; readonly batch: BlobBatch; readonly content: Uint8Array },
): Promise<Target> {
  if (present !== undefined && present.kind !== "file") {
    throw new ChronicleError("REFUSED", `${shownPath(path)} is not a file now, so no content can be written to it`, {
      hint: "--keep-current leaves the path as it is; --take-undo takes the state that the undo or redo wanted",
    });
  }
  const known = [present, current, wanted].find((entry) => entry?.kind === "file");
  const hash = await batch.put(content);
  const mode = known?.mode ?? 0o644;
  const target: Entry = { path, kind: "file", mode, size: content.length, mtimeMs: present?.mtimeMs ?? 0, hash };
  return { target, contents: [hash] };
}

/**
 * Returns the open conflict that a text names. The text may be a complete id, a path, or the beginning of an id; these
 * meanings are tried in this order. Programs give complete ids, so a file of the same name must not divert their
 * decision to another conflict. For a complete id, no other conflict is read. Throws `NOT_FOUND` (also for the complete
 * id of a settled conflict) or `AMBIGUOUS`.
 */
async function findConflict(context: Context, asked: string): Promise<IdentifiedConflict> {
  const row = await context.index.record(`${PREFIX}${asked}`);
  const [exact] = row === undefined ? [] : await conflictsIn(context, [row]);
  if (exact?.record.state === "open") return exact;
  if (exact !== undefined) {
    throw new ChronicleError("NOT_FOUND", `the conflict ${JSON.stringify(asked)} is settled already`, {
      hint: "`chronicle conflicts` lists the open conflicts",
      data: { path: shownPath(exact.record.path), settled: exact.record.settled ?? "" },
    });
  }
  const open = await openConflicts(context);
  const path = pathOf(asked);
  const there = open.filter((one) => one.record.path === path);
  const matching = there.length > 0 ? there : meantBy(open, asked, (one) => one.id);
  const [only, second] = matching;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no open conflict ${JSON.stringify(asked)}`, {
      hint: "`chronicle conflicts` lists the open conflicts; `--all` also lists the settled ones",
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${matching.length} conflicts`, {
    hint: `give the id of one: ${matching.map((one) => one.id.slice(0, 8)).join(", ")}`,
    data: { ids: matching.map((one) => one.id) },
  });
}

/** Returns the path that the text names; `undefined` if the text is not a valid path. An id is a valid path, too. */
function pathOf(asked: string): string | undefined {
  try {
    return parseGivenPath(asked);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "PATH_INVALID") return undefined;
    throw error;
  }
}

/**
 * Returns the conflicts that the operation `resolve` has settled, in the state that they get if the operation is undone
 * or redone (`direction`). The caller must hold a lease of the blob store. A redo settles the conflicts in the same way
 * as the operation did. An undo opens them again, with two exceptions:
 * - A conflict stays settled if one of its contents is no longer stored.
 * - A conflict of an undo or redo becomes withdrawn if its path has another open conflict of an undo or redo.
 */
export async function conflictsOfStep(
  context: Context,
  { kind, fromSeq, toSeq }: LoggedOperation,
  direction: "undo" | "redo",
): Promise<IdentifiedConflict[]> {
  if (kind !== "resolve") return [];
  const found: IdentifiedConflict[] = [];
  const open = new Set(
    (await openConflicts(context)).flatMap(({ record: { sync, path } }) => (sync === undefined ? path : [])),
  );
  for await (const event of readRange(context, fromSeq + 1, toSeq)) {
    if (!event.recordId.startsWith(PREFIX)) continue;
    const { settled, ...rest } = decodeConflict(event.record);
    if (settled === undefined) continue;
    const again =
      rest.sync === undefined && open.has(rest.path)
        ? { ...rest, settled: "withdrawn" as const }
        : { ...rest, state: "open" as const };
    const record = direction === "undo" ? again : { ...rest, settled };
    // Only an open conflict needs its contents.
    const contents = record.state === "open" ? contentsOfConflict(record) : [];
    const there = await context.blobs.has(contents);
    if (contents.every((hash) => there.has(hash))) found.push({ id: event.recordId.slice(PREFIX.length), record });
  }
  return found;
}
