import type { ConflictsOptions, ResolveOptions } from "../../api/action-api.ts";
import type { ResolveShape } from "../../api/action-shapes.ts";
import type { ConflictShape } from "../../api/conflict-shape.ts";
import {
  conflictDraft,
  contentsOfConflict,
  type ConflictEnd,
  type ConflictRecord,
  type IdentifiedConflict,
} from "../../core/records/conflict-record.ts";
import type { Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import { type FilePlan, changeFiles } from "../capture/change-files.ts";
import { refused } from "../capture/refused.ts";
import { withCommit } from "../commit/commit.ts";
import { unmergedShape } from "./conflict-shapes.ts";
import type { Context } from "../log/context.ts";
import { patchOf } from "../read/diff.ts";
import { parseGivenPath } from "../log/given-path.ts";
import { fitOnePath } from "../capture/fit-one-path.ts";
import { mergeGroups } from "./invert-work.ts";
import { settable } from "../capture/operate.ts";
import { proposedBy, refuseWhole, SYNC_WORDS } from "./resolve-sync.ts";
import { conflictsIn, openConflicts } from "../facts/open-conflicts.ts";
import { changeShape, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";
import { withBatch, type BlobBatch } from "../../storage/blob-store.ts";

/**
 * Parts of undos that did not merge, and what a folder and its upstream do not agree about, oldest first: open ones; with
 * `all` those that are settled too, with `patch` the difference of both contents.
 */
export async function listConflicts(context: Context, options: ConflictsOptions = {}): Promise<ConflictShape[]> {
  const found = options.all === true ? await conflictsIn(context, await context.index.records("conflict:")) : undefined;
  const shapes: ConflictShape[] = [];
  for (const one of found ?? (await openConflicts(context)))
    shapes.push({ ...unmergedShape(one), ...(options.patch === true ? await differenceOf(context, one) : {}) });
  return shapes;
}

/** The contents of a settled one may have been pruned: then there is none. */
async function differenceOf(
  context: Context,
  { record: { path, current, wanted } }: IdentifiedConflict,
): Promise<Pick<ConflictShape, "patch" | "binary" | "too_large" | "protected" | "erased">> {
  const change = changeBetween(path, current, wanted);
  if (change === undefined) return {};
  try {
    return await patchOf(context, change);
  } catch (error) {
    if (error instanceof ChronicleError && (error.code === "PRUNED" || error.code === "ERASED")) return {};
    throw error;
  }
}

/**
 * Settles a conflict, by id, its beginning, or its path. What is there now is captured first, so nothing of it is lost;
 * where a file is changed it is an operation that can be undone. Throws `NOT_FOUND`, `AMBIGUOUS`, and `REFUSED` where
 * the undo's side does not merge with what was edited since.
 */
export async function resolveConflict(context: Context, asked: string, options: ResolveOptions): Promise<ResolveShape> {
  checkResolve(options);
  const conflict = await findConflict(context, asked);
  refuseWhole(conflict);
  return changeFiles(context, {}, ({ seq }) => planResolve(context, conflict, { options, seq }));
}

/** The settling of a conflict. Where no file is to be changed, only that is recorded. */
async function planResolve(
  context: Context,
  conflict: IdentifiedConflict,
  { options, seq }: { readonly options: ResolveOptions; readonly seq: number },
): Promise<FilePlan<ResolveShape>> {
  const { path } = conflict.record;
  const present = (await context.index.iterationAt(path, seq))?.entry;
  const { target, contents } = await targetOf(context, conflict, { options, present });
  const settled = settledAs(conflict, options.keep);
  const hint = `move that away and try again, or \`chronicle resolve ${conflict.id.slice(0, 8)} --keep-current\``;
  const wanted = await fitOnePath(context, path, { present, target, hint });
  const proposals = proposedBy(conflict, target, wanted.length > 0);
  const isNothing = wanted.length === 0 && proposals === undefined;
  return {
    kind: "resolve",
    summary: `resolve of ${shownPath(path)}: ${wordsOf(conflict)[options.keep]}`,
    wanted,
    back: "decided",
    contents,
    conflicts: () => [settled],
    ...optional({ proposals }),
    isWhole: true,
    isNothing,
    report: async ({ changes, skipped, id }) => {
      if (skipped.length > 0) throw refused(skipped);
      if (isNothing) await withCommit(context, (commit) => commit.append([conflictDraft(settled)]));
      return { conflict: unmergedShape(settled), changes: changes.map(changeShape), undo_id: id ?? null };
    },
  };
}

/** Programs that know no types call this, too. Throws `USAGE`. */
function checkResolve({ keep, content }: ResolveOptions): void {
  if (!Object.hasOwn(WORDS, keep)) {
    const known = Object.keys(WORDS).join(", ");
    throw new ChronicleError("USAGE", `a conflict cannot be settled as ${JSON.stringify(keep)}`, {
      hint: `say ${known}`,
    });
  }
  if (keep !== "merged" || content instanceof Uint8Array) return;
  throw new ChronicleError("USAGE", "the merged content is missing", { hint: "give it with --merged FILE" });
}

const WORDS: Readonly<Record<ResolveOptions["keep"], string>> = {
  current: "what is there was kept",
  undo: "the undo was taken",
  merged: "a merged content was given",
};

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

/** Returns the state that the path is to have, and its new contents. */
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

/** The undo's side; what was edited since it was met is merged in. */
async function mergedTarget(
  context: Context,
  { id, record }: IdentifiedConflict,
  { present, batch }: { readonly present: Entry | undefined; readonly batch: BlobBatch },
): Promise<Target> {
  const { path, current, wanted, sync } = record;
  // Later edits are not merged into the origin's side; they are in the history.
  if (sync !== undefined) return { target: settable(wanted), contents: [] };
  const groups = [{ before: wanted, after: current }];
  const merged = await mergeGroups(context, groups, { present, batch });
  if (merged.reason === undefined) return { target: merged.entry, contents: merged.contents };
  throw new ChronicleError("REFUSED", `${shownPath(path)} was edited since, and the undo does not merge with that`, {
    hint: `edit it and \`chronicle resolve ${id.slice(0, 8)} --keep-current\`, or give what it is to be: --merged FILE`,
    data: { path: shownPath(path), undo_hash: wanted?.hash ?? "" },
  });
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
    throw new ChronicleError("REFUSED", `${shownPath(path)} is not a file now: a content cannot be put there`, {
      hint: "--keep-current leaves it; --take-undo brings what the undo wanted",
    });
  }
  const known = [present, current, wanted].find((entry) => entry?.kind === "file");
  const hash = await batch.put(content);
  const mode = known?.mode ?? 0o644;
  const target: Entry = { path, kind: "file", mode, size: content.length, mtimeMs: present?.mtimeMs ?? 0, hash };
  return { target, contents: [hash] };
}

/** By path first: nobody names a file like an id. */
async function findConflict(context: Context, asked: string): Promise<IdentifiedConflict> {
  const open = await openConflicts(context);
  const path = pathOf(asked);
  const there = open.filter((one) => one.record.path === path);
  const matching = there.length > 0 ? there : meantBy(open, asked, (one) => one.id);
  const [only, second] = matching;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no open conflict ${JSON.stringify(asked)}`, {
      hint: "`chronicle conflicts` lists them, with --all the settled ones too",
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${matching.length} conflicts`, {
    hint: `give the id of one: ${matching.map((one) => one.id.slice(0, 8)).join(", ")}`,
    data: { ids: matching.map((one) => one.id) },
  });
}

/** Also an id looks like a path; what cannot be one stands for none. */
function pathOf(asked: string): string | undefined {
  try {
    return parseGivenPath(asked);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "PATH_INVALID") return undefined;
    throw error;
  }
}
