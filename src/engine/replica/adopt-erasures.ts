import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { encodeErase, type EraseRecord } from "../../core/records/erase-record.ts";
import type { Erasures, LoggedErasure } from "../../core/records/erasures.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { encodeFile, fileRecordId, type UpstreamIteration } from "../../core/values/file-record.ts";
import { EMPTY_HASH, type Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { GRACE_MS } from "../../core/records/tombstone.ts";
import { untilSettled } from "../undo/before-change.ts";
import { type ContentUse, contentUses } from "../facts/content-uses.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { withSettledCommit } from "../capture/operate.ts";
import { proveLast } from "../state/proved-rows.ts";
import { unsentContents } from "../facts/followed-origin.ts";

// A folder that follows an origin repeats the origin's erasures in its own history: an event of its own log erases the
// same contents. A content that a path still has here is not erased at once. If all paths with this content are about
// to change, the erasure waits for these changes. If one of these paths is not about to change, the content is kept
// here. A content on which the history itself depends is also kept here. The files in the folder are not touched. If
// the origin withdraws an erasure, the erasure is withdrawn here, too.
//
// The bytes are kept here for a grace period. This period begins when the erasure is repeated here, and ends no sooner
// than the origin's grace period. Until the period ends, a person can withdraw the erasure here.

/** A path that the origin no longer records, because a content of the path was erased. The file stays on disk. */
export interface UntrackedPath {
  readonly path: WorkspacePath;
  readonly before: Entry;
  readonly upstream: UpstreamIteration;
  readonly actor: string;
}

export interface OriginsErasures {
  readonly origin: string;
  /**
   * The last event of each erasure of the origin, in the order of these events. Leaves out contents that the origin's
   * history has recorded again after their erasure.
   */
  readonly erasures: readonly LoggedErasure[];
  /**
   * The seq of the last event of this folder's log that the origin has answered. Contents that later events of this log
   * name are not erased yet.
   */
  readonly settled: number;
  /**
   * Resolves to true if the state of the path here is about to change. This is the case if the sync has yet to bring in
   * the origin's state or to settle a conflict.
   */
  readonly isLeaving: (path: WorkspacePath) => Promise<boolean>;
}

export interface ErasuresWaiting {
  /** Paths that must change before their contents can be erased. */
  readonly paths: readonly WorkspacePath[];
  /**
   * True if some of the waiting contents are named by events of this folder's log that the origin has not answered yet.
   */
  readonly isUnsent: boolean;
}

interface Look {
  readonly seq: number;
  /** The origin's erasures and withdrawals that this history has not repeated yet. */
  readonly fresh: readonly LoggedErasure[];
  /** The erasures of this history. */
  readonly own: Erasures;
  readonly erasable: ReadonlySet<Hash>;
  readonly waiting: ReadonlySet<Hash>;
  readonly paths: readonly WorkspacePath[];
  readonly isUnsent: boolean;
}

/** Repeats the origin's erasures and withdrawals here. Resolves to `undefined` once nothing is left to do. */
export async function adoptErasures(context: Context, given: OriginsErasures): Promise<ErasuresWaiting | undefined> {
  const before = await lookAt(context, given);
  if (before.fresh.length === 0) return undefined;
  const look = await untilSettled(context, () =>
    withSettledCommit(context, async (commit) => {
      const { seq } = await commit.head();
      const now = seq === before.seq ? before : await lookAt(context, given);
      const drafts = now.fresh.flatMap((one) => draftsOf(context, one, { ...now, origin: given.origin }));
      if (drafts.length > 0) await commit.append(drafts);
      return now;
    }),
  );
  const { paths, isUnsent, waiting } = look;
  return waiting.size === 0 ? undefined : { paths, isUnsent };
}

/**
 * Records that these paths are gone, as at the origin, and erases their contents in the same commit. One commit is
 * needed, because the files stay on disk: a capture between two commits could record the paths again.
 */
export async function leaveUntracked(
  context: Context,
  given: OriginsErasures,
  untracked: readonly UntrackedPath[],
): Promise<void> {
  await untilSettled(context, () =>
    withSettledCommit(context, async (commit) => {
      const { seq } = await commit.head();
      const paths = await stillSo(context, untracked, seq);
      const leaving = new Set(paths.map(({ path }) => path));
      const hashes = new Set(paths.flatMap(({ before }) => before.hash ?? []));
      const isLeaving = async (path: WorkspacePath): Promise<boolean> => leaving.has(path) || given.isLeaving(path);
      const look = await lookAt(context, { ...given, isLeaving });
      // The content of a path that this commit records as gone need not wait.
      const free = [...look.erasable, ...look.waiting].filter((hash) => hashes.has(hash));
      const now = { ...look, erasable: new Set(free), waiting: look.waiting };
      const erased = now.fresh.flatMap((one) => partOf(context, one, now));
      const gone = await goneDrafts(context, paths, seq);
      if (gone.length > 0) await commit.append([...gone, ...erased]);
      context.worktree.forget([...leaving]);
      return true;
    }),
  );
}

/** Returns what is left to repeat: the contents that can be erased now, and the contents that must wait. */
async function lookAt(context: Context, given: OriginsErasures): Promise<Look> {
  const { seq } = await context.index.head();
  const own = await erasuresInForce(context);
  const fresh = given.erasures.filter((one) => !isFollowed(one, own.last(one.recordId)));
  const wanted = new Set(fresh.flatMap(({ state, contents }) => (state === "erased" ? contents : [])));
  // The empty content is never erased, because every empty file has it.
  wanted.delete(EMPTY_HASH);
  const nothing = { seq, fresh, own, erasable: wanted, waiting: new Set<Hash>(), paths: [], isUnsent: false };
  if (wanted.size === 0) return nothing;
  const uses = await contentUses(context, (hash) => wanted.has(hash), seq);
  const unsent = await unsentContents(context, given.settled);
  const [erasable, waiting, paths] = [new Set<Hash>(), new Set<Hash>(), new Set<WorkspacePath>()];
  for (const hash of wanted) {
    const use = uses.get(hash);
    const leaving = await leavingPaths(use, given);
    if (leaving === undefined) continue;
    if (leaving.length === 0 && !unsent.has(hash)) erasable.add(hash);
    else waiting.add(hash);
    for (const path of leaving) paths.add(path);
  }
  const isUnsent = [...waiting].some((hash) => unsent.has(hash));
  return { ...nothing, erasable, waiting, paths: [...paths], isUnsent };
}

/**
 * Returns the paths that have a content now, if all of them are about to change. Returns `undefined` if another path or
 * the history itself needs the content.
 */
async function leavingPaths(
  use: ContentUse | undefined,
  { isLeaving }: OriginsErasures,
): Promise<WorkspacePath[] | undefined> {
  if (use === undefined) return [];
  if (use.isHistorys) return undefined;
  for (const path of use.now) if (!(await isLeaving(path))) return undefined;
  return [...use.now];
}

/**
 * True if this event of the origin need not be repeated here. Such an event was already repeated, or it withdraws an
 * erasure that is not in force here.
 */
function isFollowed({ state, seq }: LoggedErasure, own: LoggedErasure | undefined): boolean {
  if ((own?.upstream?.seq ?? 0) >= seq) return true;
  return state === "withdrawn" && own?.state !== "erased";
}

interface Drafting extends Look {
  readonly origin: string;
}

/**
 * Returns a list with the event that repeats an erasure or a withdrawal. The list is empty in two cases: contents wait
 * and no further content can be erased now, or the withdrawn erasure was never repeated here. The event names the
 * origin's event (`upstream`) only if no content is left waiting. An erasure without `upstream` is looked at again
 * later.
 */
function draftsOf(context: Context, one: LoggedErasure, { own, erasable, waiting, origin }: Drafting): EventDraft[] {
  const known = own.last(one.recordId);
  const upstream = { origin, seq: one.seq };
  if (one.state === "withdrawn")
    return known === undefined ? [] : [draftOf(one, { ...known, state: "withdrawn", actor: one.actor, upstream })];
  const contents = one.contents.filter((hash) => erasable.has(hash));
  const isWhole = !one.contents.some((hash) => waiting.has(hash));
  if (!isWhole && contents.length <= (known?.contents.length ?? 0)) return [];
  return [draftOf(one, { ...recordOf(context, one, { contents, known }), ...(isWhole ? { upstream } : {}) })];
}

/**
 * Returns a list with the event that erases only the erasable contents. The list is empty if no content is erasable. A
 * later event erases the other contents.
 */
function partOf(context: Context, one: LoggedErasure, { own, erasable }: Pick<Look, "own" | "erasable">): EventDraft[] {
  const contents = one.state === "erased" ? one.contents.filter((hash) => erasable.has(hash)) : [];
  const known = own.last(one.recordId);
  return contents.length === 0 ? [] : [draftOf(one, recordOf(context, one, { contents, known }))];
}

/** Returns a record that erases these contents. `known` is the last record of the same erasure in this history. */
function recordOf(
  context: Context,
  one: LoggedErasure,
  { contents, known }: { readonly contents: readonly Hash[]; readonly known: LoggedErasure | undefined },
): EraseRecord {
  const { asked, reason, actor, until } = one;
  const now = context.now();
  const kept = new Date(Math.max(now + GRACE_MS, Date.parse(until))).toISOString();
  const untracked = known?.untracked ?? [];
  return { state: "erased", contents, asked, reason, actor, at: new Date(now).toISOString(), until: kept, untracked };
}

function draftOf({ recordId }: LoggedErasure, record: EraseRecord): EventDraft {
  return { op: "upsert", recordId, record: encodeErase(record) };
}

/** Returns the paths whose state after event `seq` is still their state `before`. */
async function stillSo(context: Context, untracked: readonly UntrackedPath[], seq: number): Promise<UntrackedPath[]> {
  const rows = await context.index.iterationsAt(
    untracked.map(({ path }) => path),
    seq,
  );
  return untracked.filter(({ before }, i) => sameEntry(rows[i]?.entry, before));
}

/** Returns the events that record these paths as gone. Throws `IndexDisagrees` if the index is wrong about a path. */
async function goneDrafts(context: Context, paths: readonly UntrackedPath[], seq: number): Promise<EventDraft[]> {
  const rows = await context.index.iterationsAt(
    paths.map(({ path }) => path),
    seq,
  );
  await proveLast(
    context,
    paths.map(({ path }, i) => ({ path, row: rows[i] })),
    seq,
  );
  return paths.map(({ path, upstream, actor }, i) => ({
    op: "upsert",
    recordId: fileRecordId(path),
    record: encodeFile({ entry: undefined, iteration: (rows[i]?.iteration ?? 0) + 1, cause: "erase", actor, upstream }),
  }));
}
