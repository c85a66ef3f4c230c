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

/**
 * Repeats the erasures of an origin in the history of a folder that follows it: an own event erases the same contents,
 * by the same rule. A content that a path here still has is not erased, unless the path is about to change; the folder
 * is not touched. If the origin withdraws an erasure, it is withdrawn here.
 *
 * The bytes are kept here for a grace period that begins now, and ends no sooner than the origin's: until then a person
 * can withdraw the erasure here.
 */

/** A path whose content was erased and that the origin no longer records. The file stays on disk. */
export interface UntrackedPath {
  readonly path: WorkspacePath;
  /** The state that is recorded here. */
  readonly before: Entry;
  /** The origin's event that removed the path from the record, and its actor. */
  readonly upstream: UpstreamIteration;
  readonly actor: string;
}

/** The erasures of an origin that this workspace follows. */
export interface OriginsErasures {
  readonly origin: string;
  /**
   * The state of each erasure after its last event, in order, without contents that the origin's history has named
   * since.
   */
  readonly erasures: readonly LoggedErasure[];
  /** The own event up to which the origin has answered: contents that only later events name are not erased yet. */
  readonly settled: number;
  /** Returns true if the path's content here is one that the origin had before, and is about to be replaced. */
  readonly isLeaving: (path: WorkspacePath) => Promise<boolean>;
}

/** The reasons why a part of the erasures must wait. */
export interface ErasuresWaiting {
  /** Paths that must first have another content. */
  readonly paths: readonly WorkspacePath[];
  /** True if own events name some of these contents, and the origin has not answered to them yet. */
  readonly isUnsent: boolean;
}

interface Look {
  readonly seq: number;
  readonly fresh: readonly LoggedErasure[];
  readonly own: Erasures;
  readonly erasable: ReadonlySet<Hash>;
  readonly waiting: ReadonlySet<Hash>;
  readonly paths: readonly WorkspacePath[];
  readonly isUnsent: boolean;
}

/**
 * Erases here what the origin erased, and withdraws what it withdrew. Resolves to `undefined` once nothing is left to
 * do.
 */
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
 * Records that these paths are no longer recorded, as at the origin, and erases their contents in the same commit:
 * otherwise the files, which stay, would be recorded again. The rest of an erasure follows later.
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
      // The content of a path that is about to leave the record can be erased.
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

async function lookAt(context: Context, given: OriginsErasures): Promise<Look> {
  const { seq } = await context.index.head();
  const own = await erasuresInForce(context);
  const fresh = given.erasures.filter((one) => !isFollowed(one, own.last(one.recordId)));
  const wanted = new Set(fresh.flatMap(({ state, contents }) => (state === "erased" ? contents : [])));
  // The empty content is never erased: every empty file has it.
  wanted.delete(EMPTY_HASH);
  const nothing = { seq, fresh, own, erasable: wanted, waiting: new Set<Hash>(), paths: [], isUnsent: false };
  if (wanted.size === 0) return nothing;
  const uses = await contentUses(context, (hash) => wanted.has(hash));
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

/** Returns the paths that have a content now and are about to change; `undefined` if the content is to be kept. */
async function leavingPaths(
  use: ContentUse | undefined,
  { isLeaving }: OriginsErasures,
): Promise<WorkspacePath[] | undefined> {
  if (use === undefined) return [];
  if (use.isHistorys) return undefined;
  for (const path of use.now) if (!(await isLeaving(path))) return undefined;
  return [...use.now];
}

/** Returns whether this event of the origin was followed here. An erasure that was withdrawn here stays withdrawn. */
function isFollowed({ state, seq }: LoggedErasure, own: LoggedErasure | undefined): boolean {
  if ((own?.upstream?.seq ?? 0) >= seq) return true;
  return state === "withdrawn" && own?.state !== "erased";
}

interface Drafting extends Look {
  readonly origin: string;
}

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

/** Returns the draft for a part of an erasure; the rest of the erasure follows later. */
function partOf(context: Context, one: LoggedErasure, { own, erasable }: Pick<Look, "own" | "erasable">): EventDraft[] {
  const contents = one.state === "erased" ? one.contents.filter((hash) => erasable.has(hash)) : [];
  const known = own.last(one.recordId);
  return contents.length === 0 ? [] : [draftOf(one, recordOf(context, one, { contents, known }))];
}

/** Returns the record of an erasure as it will be here. `known`: the record as it is now. */
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

/** Returns the paths whose recorded state has not changed since the decision. */
async function stillSo(context: Context, untracked: readonly UntrackedPath[], seq: number): Promise<UntrackedPath[]> {
  const rows = await context.index.iterationsAt(
    untracked.map(({ path }) => path),
    seq,
  );
  return untracked.filter(({ before }, i) => sameEntry(rows[i]?.entry, before));
}

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
