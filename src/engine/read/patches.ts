import type { ChangeShape } from "../../api/shapes.ts";
import { DiffBudget, type DiffInput, type GitMode, type TextDiff, unifiedDiff } from "../../core/text/text-diff.ts";
import type { Change, Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import { displayPath, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { Rename } from "../../core/tree/renames.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import { missingContent } from "../facts/pruning.ts";
import type { Context } from "../log/context.ts";
import { protectedNames } from "../state/protected.ts";

/** The maximum size, in bytes, of a content that is compared line by line. */
const MAX_TEXT = 4 * 1024 * 1024;

/**
 * The maximum total size, in bytes, of the patches of one answer, and of the contents that are read for these patches.
 */
const MOST_PATCH_BYTES = 32 * 1024 * 1024;
const MOST_READ_BYTES = 256 * 1024 * 1024;

type PatchPart = Partial<ChangeShape>;

/**
 * Makes the patches of one answer. The total size of the patches is bounded, so that no answer fills the memory. After
 * each patch, other work gets its turn, so that a long answer does not block the process. Once a patch does not fit any
 * more, its change gets `no_room`, and so do all later changes that need room.
 */
export class Patches {
  readonly #context: Context;
  readonly #budget: DiffBudget;
  #bytes = MOST_PATCH_BYTES;
  #readable = MOST_READ_BYTES;
  #isFull = false;
  readonly #made: ReadonlyMap<string, Uint8Array>;

  /** `made`: contents that the store may not have yet. */
  constructor(context: Context, made: readonly Uint8Array[] = [], budget: DiffBudget = new DiffBudget()) {
    this.#context = context;
    this.#budget = budget;
    this.#made = new Map(made.map((content) => [sha256(content), content]));
  }

  /**
   * Returns the patch of a change, or the reason why there is none. No patch shows a protected file, because patches
   * are passed on more freely than files. No patch shows an erased content: such a change gets `{ erased: true }`.
   * Throws `BLOB_MISSING`, `PRUNED` or `ERASED` only if a content turns out to be gone while it is read.
   */
  async of(change: Change): Promise<PatchPart> {
    if (await isOfSecret(this.#context, change)) return { protected: true };
    if (await isOfErased(this.#context, change)) return { erased: true };
    if (isOfSameContent(change)) {
      return this.#fitting(textOf(unifiedDiff({ ...sidesOf(change), before: NONE, after: NONE })));
    }
    const sizes = sizesOf(change);
    if (sizes.some((size) => size > MAX_TEXT)) return { too_large: true };
    for (const size of sizes) this.#readable -= size;
    if (sizes.length > 0 && (this.#isFull || this.#readable < 0)) return this.#full();
    const patch = this.#fitting(await this.#compared(change));
    await yieldToEventLoop();
    return patch;
  }

  /** Like `of`, but returns `{ pruned: true }` for a change if one of its contents was pruned. */
  async ofKept(change: Change): Promise<PatchPart> {
    try {
      return await this.of(change);
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "PRUNED") return { pruned: true };
      throw error;
    }
  }

  /**
   * Returns the patch of a renamed file; `undefined` if its contents differ and cannot be shown. The patch of equal
   * contents has only the two names, so it shows nothing of a secret.
   */
  async ofRename({ gone, made, similarity }: Rename): Promise<string | undefined> {
    const sides = { ...sidesOf({ ...made, before: gone.before }), renamed: { from: patchPath(gone.path), similarity } };
    const isEqual = gone.before.hash === made.after.hash;
    if (isEqual) return this.#fitting(textOf(unifiedDiff({ ...sides, before: NONE, after: NONE }))).patch;
    this.#readable -= gone.before.size + made.after.size;
    if (this.#isFull || this.#readable < 0) return undefined;
    const [before, after] = [await contentOf(this.#context, gone.before), await contentOf(this.#context, made.after)];
    const patch = this.#fitting(textOf(unifiedDiff({ ...sides, budget: this.#budget, before, after }))).patch;
    await yieldToEventLoop();
    return patch;
  }

  async #compared(change: Change): Promise<PatchPart> {
    const old = await contentOf(this.#context, change.before);
    const made = this.#made.get(change.after?.hash ?? "");
    const fresh = made ?? (await contentOf(this.#context, change.after));
    const sides = { ...sidesOf(change), budget: this.#budget };
    // Git represents a change from a file to a link, or back, as a deletion and a creation.
    if (old === undefined || fresh === undefined || change.before?.kind === change.after?.kind)
      return textOf(unifiedDiff({ ...sides, before: old, after: fresh }));
    const [gone, there] = [
      textOf(unifiedDiff({ ...sides, before: old })),
      textOf(unifiedDiff({ ...sides, after: fresh })),
    ];
    if (gone.patch === undefined || there.patch === undefined) return gone.patch === undefined ? gone : there;
    return { patch: gone.patch + there.patch };
  }

  #fitting(part: PatchPart): PatchPart {
    const bytes = Buffer.byteLength(part.patch ?? "");
    if (bytes > this.#bytes || (this.#isFull && bytes > 0)) return this.#full();
    this.#bytes -= bytes;
    return part;
  }

  #full(): PatchPart {
    this.#isFull = true;
    return { no_room: true };
  }
}

const NONE = new Uint8Array();

function isOfSameContent({ before, after }: Change): boolean {
  return before?.hash !== undefined && before.hash === after?.hash && before.kind === after.kind;
}

function sizesOf({ before, after }: Change): number[] {
  return [before, after].flatMap((entry) => (entry?.hash === undefined ? [] : [entry.size]));
}

async function isOfErased(context: Context, { before, after }: Change): Promise<boolean> {
  const hashes = [before?.hash, after?.hash].filter((hash) => hash !== undefined);
  return before?.hash !== after?.hash && (await erasedAmong(context, hashes)).size > 0;
}

async function isOfSecret(context: Context, { path, before, after }: Change): Promise<boolean> {
  const isFile = before?.kind === "file" || after?.kind === "file";
  return isFile && (await protectedNames(context)).holds(path);
}

function textOf(diff: TextDiff): Partial<ChangeShape> {
  if (diff.kind === "text") return { patch: diff.patch };
  return diff.kind === "binary" ? { binary: true } : { too_large: true };
}

function sidesOf({ path, before, after }: Change): Pick<DiffInput, "path" | "beforeMode" | "afterMode"> {
  return { path: patchPath(path), beforeMode: gitMode(before), afterMode: gitMode(after) };
}

function patchPath(path: WorkspacePath): string {
  const { root, path: inner } = splitRoot(path);
  return root === undefined ? inner : `@${root}:${inner}`;
}

/** Returns the mode of an entry in git's form. The only permission that git knows is the owner's `x`. */
function gitMode(entry: Entry | undefined): GitMode {
  if (entry?.kind === "symlink") return "120000";
  return ((entry?.mode ?? 0) & 0o100) === 0 ? "100644" : "100755";
}

/**
 * Returns the content of an entry; `undefined` for an entry without a content. If the store lacks the content (not
 * recorded yet, pruned or erased), reads the file on disk, provided that the file still has this content. Throws
 * `BLOB_MISSING`, `PRUNED` or `ERASED` if the content is in neither place.
 */
export async function contentOf(context: Context, entry: Entry | undefined): Promise<Buffer | undefined> {
  if (entry?.hash === undefined) return undefined;
  const stored = await context.blobs.get(entry.hash);
  if (stored !== undefined) return stored;
  const onDisk = await context.worktree.read(entry.path);
  if (onDisk !== undefined && sha256(onDisk) === entry.hash) return onDisk;
  const what = `the content of ${displayPath(entry.path)}`;
  const missing = await missingContent(context, { path: entry.path, hash: entry.hash, what });
  if (missing.code === "PRUNED" || missing.code === "ERASED") throw missing;
  throw new ChronicleError("BLOB_MISSING", `${what} (${entry.hash}) is neither in the store nor on the disk`, {
    hint: "if the file is being edited, try again; otherwise, `chronicle verify` says what is missing",
  });
}
