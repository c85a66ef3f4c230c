import type { Change } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { ApplyRequest, BlockedPath, CheckReport } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { leaveUnits, NO_UNITS, type DatabaseUnits, unitsAmong, withoutStill } from "../log/database-units.ts";
import { missingContent } from "./pruning.ts";
import { shownPath } from "../log/shape.ts";

export interface Foreseeing extends Pick<ApplyRequest, "changes" | "onBlocked"> {
  readonly units?: DatabaseUnits;
  /** Contents that count as present, although only the real operation stores them. */
  readonly made?: readonly Hash[] | undefined;
}

/**
 * Returns the result that an apply of the changes would have now. Changes nothing. A path is blocked if its content is
 * missing or damaged, or if present files are in the way. If a content is missing or damaged, and `onBlocked` is not
 * `skip`, no path counts as applied.
 */
export async function foresee(
  context: Context,
  { changes, onBlocked, made = [], units = NO_UNITS }: Foreseeing,
): Promise<CheckReport> {
  const lacking = await withoutSoundContent(context, changes, new Set(made));
  const { left: gone } = leaveUnits(units, changes, lacking);
  const left = new Set(gone.map(({ path }) => path));
  const there = changes.filter(({ path }) => !left.has(path));
  const among = unitsAmong(units, there);
  const checked = withoutStill(
    await context.worktree.check({ changes: [...there, ...among.still], together: among.units, onBlocked }),
    among,
  );
  const isStopped = gone.length > 0 && onBlocked !== "skip";
  return { applied: isStopped ? [] : checked.applied, blocked: [...gone, ...checked.blocked] };
}

/**
 * Returns the paths whose content is not in the store or cannot be read. Contents in `made` are stored later and count
 * as present. Every other content is read as a whole, because only its bytes show whether the content is sound.
 */
export async function withoutSoundContent(
  context: Context,
  changes: readonly Change[],
  made: ReadonlySet<Hash> = new Set(),
): Promise<BlockedPath[]> {
  const gone = await withoutContent(context, changes, made);
  const left = new Set(gone.map(({ path }) => path));
  const needed = neededBy(changes, made).filter(({ path }) => !left.has(path));
  const trouble = new Map<Hash, string>();
  for await (const [hash, reader] of context.blobs.readMany(new Set(needed.map((one) => one.hash)))) {
    const detail = await troubleOf(reader);
    if (detail !== undefined) trouble.set(hash, detail);
  }
  const damaged = needed.flatMap(({ path, hash }): BlockedPath[] => {
    const detail = trouble.get(hash);
    return detail === undefined ? [] : [{ path, reason: "content-missing", detail }];
  });
  return [...gone, ...damaged];
}

async function troubleOf(reader: BlobReader | undefined): Promise<string | undefined> {
  if (reader === undefined) return "the content is not in the store";
  try {
    for await (const _piece of reader.pieces()) continue;
    return undefined;
  } catch (error) {
    const isContent =
      error instanceof ChronicleError && (error.code === "BLOB_CORRUPT" || error.code === "BLOB_MISSING");
    if (!isContent) throw error;
    return error.message;
  }
}

function neededBy(
  changes: readonly Change[],
  made: ReadonlySet<Hash>,
): { readonly path: WorkspacePath; readonly hash: Hash }[] {
  return changes.flatMap(({ path, before, after }) => {
    const hash = after?.hash;
    return hash === undefined || hash === before?.hash || made.has(hash) ? [] : [{ path, hash }];
  });
}

/** Returns the paths whose content is not in the store. Contents in `made` are stored later and count as present. */
export async function withoutContent(
  context: Context,
  changes: readonly Change[],
  made: ReadonlySet<Hash> = new Set(),
): Promise<BlockedPath[]> {
  const needed = neededBy(changes, made);
  const stored = await context.blobs.has(needed.map(({ hash }) => hash));
  const gone: BlockedPath[] = [];
  for (const { path, hash } of needed) {
    if (stored.has(hash)) continue;
    const { message } = await missingContent(context, {
      path,
      hash,
      what: `the earlier content of ${shownPath(path)}`,
    });
    gone.push({ path, reason: "content-missing", detail: message });
  }
  return gone;
}
