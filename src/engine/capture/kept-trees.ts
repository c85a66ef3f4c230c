import { type Change, sameEntry, type Entry } from "../../core/values/entry.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { explainPath } from "../../core/filter/ignore.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import { outsidePath } from "../../core/records/outside-record.ts";
import { comparePaths, isWithin, pathInRoot, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { BlobBatch } from "../../storage/blob-store.ts";
import { erasedContents } from "../facts/contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { type QuotaOptions, refuseFileOverQuota } from "../log/quota.ts";
import { absoluteOf } from "../log/known-paths.ts";
import { beyondPrivateRoom, privateRoom } from "../log/private-room.ts";

/**
 * A tree is a path that no capture takes, with everything beneath it. The path is ignored by git, or is git's own
 * state. Before an action that names the tree or sweeps it away, the whole tree is kept aside. Only the undo of that
 * action restores the tree.
 */

/**
 * The maximum size, in bytes, of a content that is hashed in memory before it is stored. The hash shows whether the
 * content was erased.
 */
const MOST_HELD = 64 * 1024 * 1024;

/** The entries of a tree, and the paths in it that a person excluded. Excluded paths are never stored. */
interface KeptTree {
  readonly entries: ReadonlyMap<WorkspacePath, Entry>;
  readonly excluded: readonly Omission[];
}

interface TreeToKeep {
  readonly top: WorkspacePath;
  readonly quota?: QuotaOptions;
  /** The maximum total size of the files, in bytes. Default: the budget for private contents. */
  readonly room?: number;
}

/**
 * Stores the contents of a tree, and returns the entries of the tree. If a part of the tree cannot be kept, returns an
 * omission with the reason. Special files have no content to keep, and erased contents are not kept again.
 */
export async function keepTree(
  context: Context,
  batch: BlobBatch,
  { top, quota = {}, room = privateRoom(context) }: TreeToKeep,
): Promise<KeptTree | Omission> {
  const base = outsidePath(absoluteOf(context, top));
  if (context.outside.isOwn(base, true)) return { path: top, reason: "store", detail: "Chronicle's own store" };
  const { root, path: inner } = splitRoot(top);
  const ownOf = (path: WorkspacePath): WorkspacePath =>
    pathInRoot(root, `${inner}${path.slice(base.length)}` as WorkspacePath);
  const byPerson = personalRules(context);
  const erased = await erasedContents(context);
  const look = await context.outside.look(base, {
    deep: true,
    whole: true,
    isInside: true,
    mostBytes: room,
    keep: async (pieces, { path, size }) => {
      if (byPerson(ownOf(path), false) !== undefined) return { hash: NOTHING, size };
      return keepFile(context, batch, { pieces, size, quota, erased });
    },
  });
  const isLeft = ({ path, reason }: Omission): boolean =>
    reason !== "special" && byPerson(ownOf(path), true) === undefined;
  const left = look.omitted.find(isLeft);
  if (left !== undefined) {
    const isOfBudget = left.reason === "over-limit" && left.detail === `more than ${room} bytes`;
    return { ...left, path: top, ...(isOfBudget ? { detail: beyondPrivateRoom(context) } : {}) };
  }
  const entries = new Map<WorkspacePath, Entry>();
  const excluded: Omission[] = [];
  for (const { path, entry } of look.found) {
    if (entry === undefined) continue;
    const own = ownOf(path);
    const rule = byPerson(own, entry.kind === "dir");
    const isErased = entry.hash !== undefined && erased.has(entry.hash);
    if (rule === undefined && !isErased) entries.set(own, { ...entry, path: own });
    const last = excluded.at(-1);
    if (rule !== undefined && (last === undefined || !isWithin(own, last.path)))
      excluded.push({ path: own, reason: "excluded", detail: rule });
  }
  return { entries, excluded };
}

interface FileToKeep {
  readonly pieces: Iterable<Uint8Array>;
  readonly size: number;
  readonly quota: QuotaOptions;
  /** The erased contents, which are hashed, but not stored. */
  readonly erased: ReadonlySet<Hash>;
}

/**
 * Stores the content of a file that lies in a tree. An erased content is hashed, but not stored. Throws
 * `LIMIT_EXCEEDED` if the store has no room for the file.
 */
export async function keepFile(
  context: Context,
  batch: BlobBatch,
  { pieces, size, quota, erased }: FileToKeep,
): ReturnType<BlobBatch["putStream"]> {
  await refuseFileOverQuota(context, { size, recorded: () => Promise.resolve(undefined) }, quota);
  if (erased.size === 0) return batch.putStream(pieces);
  if (size > MOST_HELD) return putUnlessErased(context, pieces, erased);
  const content = Buffer.concat([...pieces]);
  const hash = sha256(content);
  if (!erased.has(hash)) await batch.put(content);
  return { hash, size: content.length };
}

/**
 * Stores a content of any size in a batch of its own. Abandons the batch if the content was erased. The caller must
 * hold a lease of the blob store, which protects new contents from the collector.
 */
async function putUnlessErased(
  { blobs }: Context,
  pieces: Iterable<Uint8Array>,
  erased: ReadonlySet<Hash>,
): ReturnType<BlobBatch["putStream"]> {
  const batch = await blobs.batch();
  try {
    const put = await batch.putStream(pieces);
    if (!erased.has(put.hash)) await batch.commit();
    return put;
  } finally {
    // Does nothing after a commit.
    await batch.abandon();
  }
}

/** The hash that stands for a content that is not read. */
const NOTHING = sha256(Buffer.of());

/**
 * Returns a function that returns the rule with which a person excluded a path; `undefined` if there is no such rule.
 * Git's own rules do not count.
 */
export function personalRules({ worktree }: Context): (path: WorkspacePath, isFolder: boolean) => string | undefined {
  const specs = new Map(
    worktree.roots.map(({ id, filter }) => [id, { options: { ...filter, useGitignore: false }, rules: [] }]),
  );
  return (path, isFolder) => {
    const { root, path: inner } = splitRoot(path);
    const spec = specs.get(root);
    const { rule, pattern } = spec === undefined ? { rule: "default" } : explainPath(spec, inner, isFolder);
    return rule === "exclude" || rule === "exclude-glob" ? `${rule}: ${pattern}` : undefined;
  };
}

/**
 * Returns the changes of a tree since it was kept. `omission`: the tree's path, and the rule that leaves it out.
 * `plan`: the changes for an undo. `told`: the changes as they are reported.
 */
export async function changesOfTree(
  context: Context,
  batch: BlobBatch,
  {
    omission,
    before,
    room,
  }: { readonly omission: Omission; readonly before: ReadonlyMap<WorkspacePath, Entry>; readonly room: number },
): Promise<{ readonly plan: readonly Change[]; readonly told: readonly OmittedChange[] }> {
  const { path: top } = omission;
  const then = new Map([...before].filter(([path]) => isWithin(path, top)));
  const now = await keepTree(context, batch, { top, quota: { reserve: true }, room });
  if (!("entries" in now)) {
    // The earlier states stay kept, so that an undo can restore them at absent paths.
    const plan = [...then.values()].map((before): Change => ({ path: before.path, before, after: undefined }));
    const type = plan.length === 0 ? "created" : "modified";
    return { plan, told: [{ ...omission, type, kept: plan.length > 0, lost: false }] };
  }
  const paths = [...new Set([...then.keys(), ...now.entries.keys()])].sort(comparePaths);
  const plan = paths
    .map((path): Change => ({ path, before: then.get(path), after: now.entries.get(path) }))
    .filter((change) => !sameEntry(change.before, change.after));
  if (plan.length === 0) return { plan, told: [] };
  const type = then.size === 0 ? "created" : now.entries.size === 0 ? "deleted" : "modified";
  return { plan, told: [{ ...omission, type, kept: true, lost: false }] };
}
