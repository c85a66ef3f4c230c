import type { FileApi, FileContent, ReadFileOptions } from "../../api/file-api.ts";
import { contentsOfConflict, decodeConflict } from "../../core/records/conflict-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { quotePath } from "../../core/shell/quote-command.ts";
import type { BlobReader, ByteRange } from "../../storage/blob-store.ts";
import type { Context } from "../log/context.ts";
import { fileShape, isPresent, type PresentRow } from "../state/file-shape.ts";
import { parseGivenPath } from "../log/given-path.ts";
import { unknownPath } from "../log/known-paths.ts";
import { type KeptVersion, missingVersion, readVersions } from "../facts/kept-versions.ts";
import { seqOf } from "./list-files.ts";
import { missingContent } from "../facts/pruning.ts";
import { proveHistory, proveRow, refuseSize } from "../state/proved-content.ts";
import { baseOf } from "../log/project.ts";
import { isProtected, isSecretContent, protectedNames } from "../state/protected.ts";
import { provedState } from "../state/proved-state.ts";
import { readEvents } from "../log/read-events.ts";
import { givenPath, shownPath } from "../log/shape.ts";

/** The class of a content that no agent and no reader is shown. */
const FOR_PEOPLE = { class: "protected" } as const;

/** A path's content at a moment, or of one iteration. Throws `NOT_FOUND`, `PRUNED`, `USAGE`. */
export async function openFile(context: Context, given: string, options: ReadFileOptions): Promise<FileContent> {
  const path = parseGivenPath(given);
  const row = await rowFor(context, path, options);
  if (options.iteration === undefined)
    await (await provedState(context, await seqOf(context, options.at))).prove([row]);
  else await proveRow(context, row, { isLast: false });
  const { hash } = row.entry;
  const shape = { ...fileShape(row), ...((await isProtected(context, row)) ? FOR_PEOPLE : {}) };
  if (hash === undefined) return { ...shape, pieces: noPieces };
  const reader = await context.blobs.open(hash);
  if (reader !== undefined) {
    refuseSize(row, reader);
    return { ...shape, pieces: (range) => piecesOf(reader, range) };
  }
  const what = `the content of ${shape.path}@${row.iteration}`;
  throw await missingContent(context, { path, hash, what, iteration: row.iteration });
}

async function rowFor(context: Context, path: WorkspacePath, { at, iteration }: ReadFileOptions): Promise<PresentRow> {
  if (at !== undefined && iteration !== undefined) {
    throw new ChronicleError("USAGE", "a moment and an iteration are two different questions", {
      hint: "give one of them",
    });
  }
  const row =
    iteration === undefined
      ? await context.index.iterationAt(path, await seqOf(context, at))
      : await iterationRow(context, path, iteration);
  if (isPresent(row)) return row;
  await proveHistory(context, path);
  throw await notThere(context, path, { iteration: row?.iteration ?? iteration, isKnown: row !== undefined });
}

async function iterationRow(context: Context, path: WorkspacePath, iteration: number) {
  if (!Number.isSafeInteger(iteration) || iteration < 1) {
    throw new ChronicleError("USAGE", `iterations are 1, 2, 3 …, not ${iteration}`, {
      hint: "the history of the file lists them",
    });
  }
  const [row] = await context.index.iterations(path, { after: iteration - 1, limit: 1 });
  return row?.iteration === iteration ? row : undefined;
}

interface Missing {
  readonly iteration: number | undefined;
  readonly isKnown: boolean;
}

async function notThere(
  context: Context,
  path: WorkspacePath,
  { iteration, isKnown }: Missing,
): Promise<ChronicleError> {
  const shown = JSON.stringify(shownPath(path));
  const [first] = await context.index.iterations(path, { limit: 1 });
  if (first === undefined) return unknownPath(context, path);
  const last = await context.index.iterationAt(path, (await context.index.head()).seq);
  const range = `(it has ${first.iteration}..${last?.iteration ?? first.iteration})`;
  const why =
    iteration === undefined
      ? `${shown} was not there yet`
      : `${shown}: ${isKnown ? `iteration ${iteration} is a deletion` : `has no iteration ${iteration}`} ${range}`;
  return new ChronicleError("NOT_FOUND", why, {
    hint: `\`chronicle history ${quotePath(givenPath(path))}\` lists them`,
    data: { path: shownPath(path) },
  });
}

/** Nothing is read before the range, and the end of a file is where it ends. */
export function piecesOf(reader: BlobReader, range: ByteRange | undefined): AsyncIterable<Uint8Array> {
  if (range === undefined) return reader.pieces();
  const { start, end } = range;
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && 0 <= start && start <= end)
    return reader.pieces(range);
  throw new ChronicleError("USAGE", `not a range of bytes: ${start} to ${end}`, { hint: "0 <= start <= end" });
}

async function* noPieces(): AsyncIterable<Uint8Array> {}

/** A content by its hash, if the workspace has or had it. Throws `NOT_FOUND`, `PRUNED`. */
export async function openBlob(context: Context, given: string): ReturnType<FileApi["blob"]> {
  if (!isHash(given)) {
    throw new ChronicleError("USAGE", `${JSON.stringify(given.slice(0, 100))} is no hash of a content`, {
      hint: "give the SHA-256 as 64 lower-case hex digits",
    });
  }
  const row = await context.index.withContent(given);
  const version = row === undefined ? await versionWith(context, given) : undefined;
  const kept = row === undefined ? (version?.record.path ?? (await pathInConflict(context, given))) : undefined;
  const isNamed = row !== undefined || kept !== undefined;
  if (!isNamed && !(await isOfRecord(context, given))) throw foreign(given);
  // The store has contents of other workspaces, too.
  if (row !== undefined) await proveRow(context, row, { isLast: false });
  const reader = await context.blobs.open(given);
  if (reader !== undefined) {
    const isSecret = row === undefined ? await isSecretName(context, kept) : await isSecretContent(context, row, given);
    return { size: reader.size, ...(isSecret ? FOR_PEOPLE : {}), pieces: () => reader.pieces() };
  }
  if (version !== undefined) throw await missingVersion(context, version, given);
  if (row === undefined) throw foreign(given);
  const { path, iteration } = row;
  throw await missingContent(context, { path, hash: given, what: `a content of ${shownPath(path)}@${iteration}` });
}

/** The error is the same for a content that nobody has and one that only another workspace has. */
function foreign(hash: Hash): ChronicleError {
  return new ChronicleError("NOT_FOUND", `no path of this workspace has or had the content ${hash}`, {
    hint: "the history of a file lists the hashes of its contents",
    data: { hash },
  });
}

/** Returns the version with this content: a replica's state that lost may have a content that no path ever had. */
async function versionWith(context: Context, hash: Hash): Promise<KeptVersion | undefined> {
  return (await readVersions(context)).find(({ record }) => record.entry?.hash === hash);
}

/**
 * Returns whether the content is a base or a filter, which no path ever had either: a client that repairs a copy of
 * this history asks for these.
 */
async function isOfRecord(context: Context, hash: Hash): Promise<boolean> {
  for (const prefix of ["snapshot:", "coverage:", "compact:"]) {
    const events = await readEvents(context, await context.index.records(prefix));
    if (events.some((event) => baseOf(event) === hash || event.record["filter"] === hash)) return true;
  }
  return false;
}

/**
 * Returns the path of the conflict with this content: the state that an undo would have made may have a content that no
 * path ever had.
 */
async function pathInConflict(context: Context, hash: Hash): Promise<WorkspacePath | undefined> {
  const events = await readEvents(context, await context.index.records("conflict:"));
  const conflicts = events.map(({ record }) => decodeConflict(record));
  return conflicts.find((one) => contentsOfConflict(one).includes(hash))?.path;
}

/** A content that no path ever had has no class of its own: the name for which it was kept decides. */
async function isSecretName(context: Context, path: WorkspacePath | undefined): Promise<boolean> {
  return path !== undefined && (await protectedNames(context)).holds(path);
}
