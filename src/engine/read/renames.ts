import type { ChangeShape } from "../../api/shapes.ts";
import {
  equalRenames,
  type FileGone,
  type FileMade,
  type LineWeights,
  lineWeights,
  type Rename,
  type Renames,
  type RenameSides,
  renameSides,
  similarRenames,
  similarSizes,
  withoutRenamed,
} from "../../core/tree/renames.ts";
import type { Change, Entry } from "../../core/values/entry.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { exactPath, shownPath } from "../log/shape.ts";
import { protectedNames } from "../state/protected.ts";
import { isOfLostContent } from "./line-counts.ts";
import { contentOf, type Patches } from "./patches.ts";

/** The limits for the searches for similar contents in one answer. Equal contents are always found. */
export class RenameBudget {
  /** The maximum number of files that are compared with one another. If there are more files, none are compared. */
  readonly files: number;
  /** The number of bytes that may still be read. */
  bytes: number;
  /** The number of lines that may still be compared. */
  steps: number;

  constructor({ files = 400, bytes = 64 * 1024 ** 2, steps = 10_000_000 } = {}) {
    this.files = files;
    this.bytes = bytes;
    this.steps = steps;
  }
}

/** The maximum size, in bytes, of a content that is read. Larger contents are compared by their hashes only. */
const MOST_FILE_BYTES = 1024 ** 2;

/**
 * Returns the renames among changes. Each rename is a deleted and a created file with equal contents or, as far as the
 * budget allows, with similar contents. Secrets and erased contents are not read.
 */
export async function renamesAmong(
  context: Context,
  changes: readonly Change[],
  budget: RenameBudget = new RenameBudget(),
): Promise<Renames> {
  const sides = renameSides(changes);
  const equal = equalRenames(sides);
  const similar = await similarAmong(context, withoutRenamed(sides, equal), budget);
  return new Map([...equal, ...similar].map((one) => [one.made.path, one]));
}

async function similarAmong(context: Context, sides: RenameSides, budget: RenameBudget): Promise<Rename[]> {
  const { gone, made } = await comparable(context, sides);
  if (gone.length === 0 || made.length === 0 || gone.length + made.length > budget.files) return [];
  const weights = new Map<Change, LineWeights>();
  for (const [change, entry] of entriesOf({ gone, made })) {
    budget.bytes -= entry.size;
    if (budget.bytes < 0) break;
    const content = await contentIfKept(context, entry);
    if (content !== undefined) weights.set(change, lineWeights(content));
    await yieldToEventLoop();
  }
  return similarRenames({ gone, made }, (one) => weights.get(one), budget);
}

/**
 * Returns the files whose contents may be read, and whose sizes are close enough to the size of a file on the other
 * side for similar contents.
 */
async function comparable(context: Context, { gone, made }: RenameSides): Promise<RenameSides> {
  if (gone.length === 0 || made.length === 0) return { gone: [], made: [] };
  const names = await protectedNames(context);
  const hashes = entriesOf({ gone, made }).map(([, { hash }]) => hash);
  const erased = await erasedAmong(context, hashes);
  const isOpen = ({ path, size, class: kind, hash }: FileEntry): boolean =>
    kind === undefined && size <= MOST_FILE_BYTES && !names.holds(path) && !erased.has(hash);
  const [before, after] = [gone.filter((one) => isOpen(one.before)), made.filter((one) => isOpen(one.after))];
  const [nearBefore, nearAfter] = [
    similarSizes(before.map((one) => one.before.size)),
    similarSizes(after.map((one) => one.after.size)),
  ];
  return {
    gone: before.filter((one) => nearAfter(one.before.size)),
    made: after.filter((one) => nearBefore(one.after.size)),
  };
}

type FileEntry = FileGone["before"];

function entriesOf({ gone, made }: RenameSides): (readonly [FileGone | FileMade, FileEntry])[] {
  return [...gone.map((one) => [one, one.before] as const), ...made.map((one) => [one, one.after] as const)];
}

/** Returns the content of an entry; `undefined` if the content is gone or damaged. */
async function contentIfKept(context: Context, entry: Entry): Promise<Buffer | undefined> {
  try {
    return await contentOf(context, entry);
  } catch (error) {
    if (isOfLostContent(error)) return undefined;
    throw error;
  }
}

/** The fields of a change's shape that describe a rename. */
type RenamePart = Pick<ChangeShape, "from" | "from_b64" | "similarity" | "renamed_to" | "rename_patch">;

/**
 * Returns a function that gives the rename fields of a change; `{}` for a change without a rename. `patches`: set if
 * patches are requested.
 */
export async function renameParts(
  renames: Renames,
  patches: Patches | undefined,
): Promise<(change: Change) => RenamePart> {
  const parts = new Map<Change, RenamePart>();
  for (const { gone, made, similarity } of renames.values()) {
    const { path_b64: bytes } = exactPath(gone.path);
    const patch = await patches?.ofRename({ gone, made, similarity });
    parts.set(gone, { renamed_to: shownPath(made.path) });
    parts.set(made, {
      from: shownPath(gone.path),
      ...(bytes === undefined ? {} : { from_b64: bytes }),
      similarity,
      ...(patch === undefined ? {} : { rename_patch: patch }),
    });
  }
  return (change) => parts.get(change) ?? {};
}
