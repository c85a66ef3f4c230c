import type { EraseShape, ErasureShape, ErasedContentShape } from "../../api/action-shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { type Hash, isHash } from "../../core/values/hash.ts";
import type { Context, NeededElsewhere } from "../log/context.ts";
import { encodeErase, ERASE, type EraseAsked, type ErasedAside } from "../../core/records/erase-record.ts";
import type { LoggedErasure } from "../../core/records/erasures.ts";
import { contentUses, type AsideUse, asideUses, type ContentUse } from "../facts/content-uses.ts";
import { withCommit } from "../commit/commit.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import type { EraseOptions } from "../../api/action-api.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { encodeFile, fileRecordId } from "../../core/values/file-record.ts";
import { FilterPattern, RuleTest } from "../../core/filter/filter-pattern.ts";
import { comparePaths, isRoot, isWithin, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { GRACE_MS } from "../../core/records/tombstone.ts";
import { capture } from "../capture/capture.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import { unrecordedChanges } from "../read/diff.ts";
import { applySettings } from "../log/follow-settings.ts";
import { parseGivenPath, unknownPath } from "../log/known-paths.ts";
import { proveLast } from "../state/proved-rows.ts";
import { refuseAtOnce } from "../capture/operation-queue.ts";
import { shownPath } from "../log/shape.ts";
import { refuseUnsigned } from "../log/signing.ts";

// An erasure takes contents out of a history. An event names these contents, and says who erased them and why. `verify`
// then accepts that these contents are missing. No line is removed, so the chain and the roots still verify. The first
// `gc` after the grace period removes the bytes. During the grace period, the erasure can be withdrawn.
//
// A content that some path has now is not erased, because the next capture would record the content again. The only
// exception is a path that the rules leave out now. Such a path is recorded as gone, and its file stays on disk.

/** The maximum number of contents in one erasure. */
const MOST_CONTENTS = 100_000;

/** The maximum number of contents in each list of the answer. The totals count all contents. */
const MOST_TOLD = 1_000;
/** The maximum number of paths that the answer lists for one content. */
const MOST_PATHS = 20;

interface Asked {
  readonly asked: EraseAsked;
  /**
   * True if the contents are to be freed at once. Contents of earlier erasures whose grace period is not over are then
   * included.
   */
  readonly isAtOnce?: boolean;
  readonly isMeant: (hash: Hash, path: WorkspacePath | undefined) => boolean;
  readonly path?: WorkspacePath;
}

interface Look {
  readonly seq: number;
  readonly erased: readonly ContentUse[];
  /** Matching contents that cannot be erased. */
  readonly kept: readonly ContentUse[];
  readonly aside: readonly AsideUse[];
  /** The number of matching contents that are left out, because an earlier erasure covers them. */
  readonly already: number;
  /** Paths to record as gone, so that their contents can be erased. */
  readonly untracked: readonly WorkspacePath[];
  /** Other workspaces that need some of the contents. */
  readonly elsewhere: NeededElsewhere["workspaces"];
}

/**
 * Erases contents from the history. Throws `USAGE` for a malformed request, `NOT_FOUND` if no content matches, and
 * `REFUSED` if no matching content can be erased.
 */
export async function erase(context: Context, options: EraseOptions): Promise<EraseShape> {
  const what: Asked = { ...askedOf(options), isAtOnce: options.now === true };
  await refuseUnsigned(context, "erasing contents");
  // Changed settings are applied before contents are looked up, because the rules decide which paths are recorded.
  await applySettings(context);
  if (options.now === true) await refuseAtOnce(context);
  if (options.dryRun === true)
    return shapeOf(await lookAt(context, what, await unrecordedPaths(context)), { dry_run: true });
  await capture(context, { cause: "capture", absentRoot: "known" });
  const before = await lookAt(context, what);
  if (isNothing(before)) return shapeOf(before, {});
  let gone: readonly Hash[] = [];
  const done = await withCommit(context, async (commit) => {
    // The earlier check was made without the lock, so work may have begun since then.
    if (options.now === true) await refuseAtOnce(context);
    const { seq } = await commit.head();
    const look = seq === before.seq ? before : await lookAt(context, what);
    if (isNothing(look)) return shapeOf(look, {});
    const [at, id] = [context.now(), context.newId()];
    const until = new Date(options.now === true ? at : at + GRACE_MS).toISOString();
    const record = encodeErase({
      state: "erased",
      contents: look.erased.map(({ hash }) => hash).sort(),
      aside: asideOf(look.aside),
      asked: askedIn(look, what),
      reason: options.reason,
      actor: context.caller.actor,
      at: new Date(at).toISOString(),
      until,
    });
    const events = await commit.append([
      ...(await goneDrafts(context, look)),
      { op: "upsert", recordId: `${ERASE}${id}`, record },
    ]);
    context.worktree.forget(look.untracked);
    gone = hashesOf(look);
    return shapeOf(look, { event: events.at(-1)?.seq ?? null, id, until });
  });
  return options.now === true && done.id !== null ? { ...done, ...(await freeErased(context, gone)) } : done;
}

function isNothing({ erased, aside }: Look): boolean {
  return erased.length + aside.length === 0;
}

/**
 * Names each kept-aside content by the hash of the plan that lists it, and by its paths. The log must not contain the
 * hash of a kept-aside content.
 */
function asideOf(uses: readonly AsideUse[]): ErasedAside[] {
  const paths = new Map<Hash, Set<WorkspacePath>>();
  for (const { plan, path } of uses) paths.set(plan, (paths.get(plan) ?? new Set()).add(path));
  return [...paths].map(([plan, of]) => ({ plan, paths: [...of].sort(comparePaths) }));
}

/**
 * Returns the request as it is written to the event. If the request is the hash of a content that was only kept aside,
 * returns the content's path instead, because the log must not contain the hash of a kept-aside content.
 */
function askedIn({ erased, aside }: Look, { asked }: Asked): EraseAsked {
  const [first] = aside;
  const isHeld = asked.content === undefined || erased.some(({ hash }) => hash === asked.content);
  return isHeld || first === undefined ? asked : { path: shownPath(first.path) };
}

function askedOf({ what, match }: EraseOptions): Asked {
  if ((what === undefined) === (match === undefined)) {
    throw new ChronicleError("USAGE", "name what to erase: a path, the hash of a content, or a pattern", {
      hint: "chronicle erase PATH, chronicle erase HASH, chronicle erase --match PATTERN",
    });
  }
  if (match !== undefined) return matching(match);
  if (isHash(what ?? "")) return { asked: { content: what as Hash }, isMeant: (hash) => hash === what };
  const path = parseGivenPath(what ?? "");
  if (isRoot(path)) {
    throw new ChronicleError("USAGE", "a whole workspace cannot be erased", {
      hint: "name a path, or give the history up: `chronicle forget`",
    });
  }
  return { asked: { path: shownPath(path) }, path, isMeant: (_, of) => of !== undefined && isWithin(of, path) };
}

/** Returns the request for a pattern. A pattern is written as one line of a `.gitignore`. */
function matching(match: string): Asked {
  const pattern = new FilterPattern(match);
  if (pattern.isNegated || match.trim() === "" || match.startsWith("#")) {
    throw new ChronicleError("USAGE", `${JSON.stringify(match)} matches nothing`, {
      hint: "give a pattern as in a .gitignore: `.env`, `*.pem`, `secrets/`",
    });
  }
  const test = new RuleTest([pattern]);
  return {
    asked: { match },
    isMeant: (_, path) => path !== undefined && test.matches(splitRoot(path).path, false),
  };
}

/**
 * Maps each unrecorded path to its content on disk. Only a dry run needs this map, because a dry run captures nothing.
 */
async function unrecordedPaths(context: Context): Promise<ReadonlyMap<WorkspacePath, Hash | undefined>> {
  const changes = await unrecordedChanges(context, { absentRoot: "known" });
  return new Map(changes.map(({ path, after }) => [path, after?.hash]));
}

async function lookAt(
  context: Context,
  what: Asked,
  unrecorded: ReadonlyMap<WorkspacePath, Hash | undefined> = new Map(),
): Promise<Look> {
  const { seq } = await context.index.head();
  const met = await asideUses(context, what.isMeant);
  const hashes = new Set(met.flatMap((one) => one.hashes));
  const isMeant: Asked["isMeant"] = (hash, path) => what.isMeant(hash, path) || hashes.has(hash);
  // The empty content is left out: it has no bytes to remove, and all empty files share it.
  const found = [...(await contentUses(context, isMeant, seq)).values()].filter(isNotEmpty);
  for (const use of found) {
    for (const path of use.now) if (unrecorded.has(path)) use.now.delete(path);
    for (const [path, hash] of unrecorded) if (hash === use.hash) use.now.add(path);
  }
  if (found.length + met.length === 0) throw await nothingFound(context, what);
  const before = await erasedBefore(context, found, what);
  const left = found.filter(({ hash }) => !before.has(hash));
  if (left.length > MOST_CONTENTS) throw tooMany(left.length);
  const elsewhere = await context.store.neededElsewhere(new Set(left.map(({ hash }) => hash)));
  refuseOrigins(elsewhere);
  // In a replica, no path is recorded as gone, because that record would remove the path at the origin.
  const leftOut = elsewhere.upstream === undefined ? await leftOutOf(context, what, left) : NONE;
  const erased = left.filter((use) => mayGo(use, leftOut));
  const kept = left.filter((use) => !mayGo(use, leftOut));
  const stays = new Set(kept.map(({ hash }) => hash));
  const aside = met.filter((one) => !one.hashes.some((hash) => stays.has(hash)));
  if (erased.length + aside.length === 0 && before.size === 0) throw refusedFor(kept);
  const untracked = [...new Set(erased.flatMap(({ now }) => [...now]))].sort(comparePaths);
  return { seq, erased, kept, aside, already: before.size, untracked, elsewhere: elsewhere.workspaces };
}

/** Returns the contents of earlier erasures. With `isAtOnce`, returns only contents whose grace period is over. */
async function erasedBefore(
  context: Context,
  found: readonly ContentUse[],
  { isAtOnce }: Asked,
): Promise<ReadonlySet<Hash>> {
  const before = await erasedAmong(
    context,
    found.map(({ hash }) => hash),
  );
  if (isAtOnce !== true) return before;
  const erasures = await erasuresInForce(context);
  const isOver = (hash: Hash): boolean => Date.parse(erasures.of(hash)?.until ?? "") <= context.now();
  return new Set([...before].filter(isOver));
}

function isNotEmpty({ size, paths }: ContentUse): boolean {
  return size > 0 || paths.size === 0;
}

const NONE: ReadonlySet<WorkspacePath> = new Set();

async function leftOutOf(
  context: Context,
  { isMeant }: Asked,
  uses: readonly ContentUse[],
): Promise<ReadonlySet<WorkspacePath>> {
  const now = uses.flatMap((use) => [...use.now].filter((path) => isMeant(use.hash, path)));
  return new Set(await context.worktree.leftOut(now));
}

function mayGo({ now, isHistorys }: ContentUse, leftOut: ReadonlySet<WorkspacePath>): boolean {
  return !isHistorys && [...now].every((path) => leftOut.has(path));
}

async function nothingFound(context: Context, { path, asked }: Asked): Promise<ChronicleError> {
  if (path !== undefined && (await context.index.iterations(path, { limit: 1 })).length === 0)
    return unknownPath(context, path);
  const what =
    asked.content === undefined
      ? `no recorded file ${asked.match === undefined ? "at this path" : `that matches ${JSON.stringify(asked.match)}`} has a content`
      : `no path of this workspace has or had the content ${asked.content}`;
  return new ChronicleError("NOT_FOUND", what, { hint: "`chronicle history FILE` lists the contents of a file" });
}

function tooMany(count: number): ChronicleError {
  return new ChronicleError("LIMIT_EXCEEDED", `${count} contents are too many for one erasure`, {
    hint: `one erasure can have at most ${MOST_CONTENTS}: erase fewer paths at a time`,
  });
}

/**
 * Throws `REFUSED` if this folder's copy of its origin's history has some of the contents, because this copy must equal
 * the origin's history.
 */
function refuseOrigins({ upstream = [] }: NeededElsewhere): void {
  if (upstream.length === 0) return;
  const count = upstream.length === 1 ? "1 of these contents belongs" : `${upstream.length} of these contents belong`;
  throw new ChronicleError("REFUSED", `${count} to the origin that this folder follows`, {
    hint: "erase these contents at the origin first; once this folder has received that erasure, erase its own copies",
    data: { contents: upstream },
  });
}

function refusedFor(kept: readonly ContentUse[]): ChronicleError {
  const paths = [...new Set(kept.flatMap(({ now }) => [...now]))].map(shownPath);
  const shown = `${paths.slice(0, 5).join(", ")}${paths.length > 5 ? ` and ${paths.length - 5} more` : ""}`;
  const why = paths.length === 0 ? "the history itself needs it" : `this is the present content of ${shown}`;
  return new ChronicleError("REFUSED", `nothing was erased: ${why}`, {
    hint:
      paths.length === 0
        ? "only contents of files can be erased"
        : "change or remove the file first; or add it to the list `excludePatterns` (`chronicle config excludePatterns` shows the list) and name the path",
    data: { paths },
  });
}

async function goneDrafts(context: Context, { untracked, seq }: Look): Promise<EventDraft[]> {
  const rows = await context.index.iterationsAt(untracked, seq);
  await proveLast(
    context,
    untracked.map((path, i) => ({ path, row: rows[i] })),
    seq,
  );
  return untracked.map((path, i) => ({
    op: "upsert",
    recordId: fileRecordId(path),
    record: encodeFile({
      entry: undefined,
      iteration: (rows[i]?.iteration ?? 0) + 1,
      cause: "erase",
      actor: context.caller.actor,
    }),
  }));
}

function hashesOf({ erased, aside }: Look): Hash[] {
  return [...new Set([...erased.map(({ hash }) => hash), ...aside.flatMap(({ hashes }) => hashes)])];
}

function shapeOf(look: Look, done: Partial<Pick<EraseShape, "event" | "id" | "until" | "dry_run">>): EraseShape {
  const { erased, kept, aside, untracked, elsewhere } = look;
  return {
    dry_run: false,
    event: null,
    id: null,
    until: null,
    ...done,
    total: erased.length,
    bytes: erased.reduce((sum, { size }) => sum + size, 0),
    contents: erased.slice(0, MOST_TOLD).map(contentShape),
    total_kept: kept.length,
    kept: kept.slice(0, MOST_TOLD).map(contentShape),
    already: look.already,
    kept_aside: keptAsideShapes(aside).slice(0, MOST_TOLD),
    untracked: untracked.map(shownPath),
    elsewhere: elsewhere.map(({ id, contents }) => ({ workspace: id, contents: contents.length })),
    not_reached: NOT_REACHED,
    freed: null,
    not_freed: null,
  };
}

const NOT_REACHED: string[] = [
  "command lines, messages and names that are recorded (what is known to be a secret is masked there)",
  "records of users",
  "sizes, times and hashes, which stay in the log forever",
  "backups, and other copies of the store",
];

/**
 * Returns the kept-aside contents for the answer. If several runs keep the same content of a path aside, the answer has
 * the content once, with the latest `until` of these runs.
 */
function keptAsideShapes(uses: readonly AsideUse[]): EraseShape["kept_aside"] {
  const same = Map.groupBy(uses, ({ path, hashes }) => JSON.stringify([path, hashes.at(0), hashes.at(1)]));
  return [...same.values()].flatMap((all) => {
    const last = all.reduce((one, other) => (one.until < other.until ? other : one));
    return { path: shownPath(last.path), bytes: last.size, until: last.until };
  });
}

function contentShape({ hash, size, paths, now }: ContentUse): ErasedContentShape {
  return {
    hash,
    bytes: size,
    paths: [...paths].sort(comparePaths).slice(0, MOST_PATHS).map(shownPath),
    total_paths: paths.size,
    now_in: [...now].sort(comparePaths).slice(0, MOST_PATHS).map(shownPath),
  };
}

const MOST_NAMED = 5;

/** Frees the just erased contents that nothing else needs. If the collection fails, a later `gc` frees the contents. */
async function freeErased(context: Context, hashes: readonly Hash[]): Promise<Pick<EraseShape, "freed" | "not_freed">> {
  try {
    const { pending_blobs: pending } = await context.store.collect();
    const kept = await context.store.stored(hashes);
    if (pending === 0 && kept.size === 0) return { freed: true, not_freed: null };
    const why = await whoKeeps(context, kept);
    return { freed: false, not_freed: [...why, ...(pending > 0 || why.length === 0 ? [IN_USE] : [])].join("; ") };
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    return { freed: false, not_freed: error.message };
  }
}

const IN_USE = "another process is using a pack that holds such bytes: run `chronicle gc` later";

async function whoKeeps(context: Context, kept: ReadonlySet<Hash>): Promise<readonly string[]> {
  const { workspaces, upstream = [] } = await context.store.neededElsewhere(kept, { due: true });
  const needing = new Set((await context.store.neededElsewhere(kept)).workspaces.map(({ id }) => id));
  const named = workspaces.slice(0, MOST_NAMED).map(({ id, contents }) => {
    const what = `workspace ${id} ${needing.has(id) ? "needs" : "has erased, but keeps for 24 hours,"} ${contents.length}`;
    return `${what} of them (${needing.has(id) ? "erase them there as well" : "say --now there as well"})`;
  });
  const left = workspaces.length - named.length;
  return [
    ...named,
    ...(left > 0 ? [`${left} more workspaces need some of them`] : []),
    ...(upstream.length > 0 ? ["the copy of the origin's history needs some of them for a time"] : []),
  ];
}

export async function listErasures(context: Context): Promise<ErasureShape[]> {
  return (await erasuresInForce(context)).all.map((one) => erasureShape(context, one));
}

/**
 * Withdraws the erasure whose id begins with `asked`, so that its contents can be read again. Throws `NOT_FOUND` if
 * there is no such erasure, `AMBIGUOUS` if there are several, and `REFUSED` if the grace period is over or a content is
 * gone.
 */
export async function unerase(context: Context, asked: string): Promise<ErasureShape> {
  // The lease protects the contents from garbage collection until the event is written.
  using _lease = await context.blobs.lease();
  return await withCommit(context, async (commit) => {
    const one = meantBy((await erasuresInForce(context)).all, asked);
    await refuseGone(context, one);
    const { recordId, seq: _, ...record } = one;
    const at = new Date(context.now()).toISOString();
    const withdrawn = encodeErase({ ...record, state: "withdrawn", actor: context.caller.actor, at });
    const [event] = await commit.append([{ op: "upsert", recordId, record: withdrawn }]);
    return { ...erasureShape(context, one), event: event?.seq ?? one.seq, can_be_withdrawn: false };
  });
}

function meantBy(all: readonly LoggedErasure[], asked: string): LoggedErasure {
  const matching = all.filter(({ recordId }) => asked !== "" && recordId.startsWith(`${ERASE}${asked}`));
  const [only, second] = matching;
  const hint = "`chronicle unerase` lists them";
  if (only === undefined)
    throw new ChronicleError("NOT_FOUND", `there is no erasure ${JSON.stringify(asked)}`, { hint });
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} matches ${matching.length} erasures`, { hint });
}

async function refuseGone(context: Context, { until, contents }: LoggedErasure): Promise<void> {
  const hint = "restore the files from a backup, or from another copy of this store; they are then recorded again";
  if (isOver(context, until)) {
    throw new ChronicleError("REFUSED", `the erased contents could be brought back only until ${until}`, {
      hint,
      data: { until },
    });
  }
  const stored = await context.store.stored(contents);
  const missing = new Set(contents.filter((hash) => !stored.has(hash)));
  // If the erasure came from an origin, it may name contents that this history never had. These are not missing here.
  if (missing.size === 0) return;
  const { seq } = await context.index.head();
  const gone = [...(await contentUses(context, (hash) => missing.has(hash), seq)).keys()];
  if (gone.length === 0) return;
  throw new ChronicleError("REFUSED", `${gone.length} of ${contents.length} contents are gone from the store`, {
    hint,
    data: { contents: gone },
  });
}

function isOver({ now }: Context, until: string): boolean {
  return Date.parse(until) <= now();
}

function erasureShape(context: Context, one: LoggedErasure): ErasureShape {
  const { recordId, seq, contents, aside = [], asked, ...rest } = one;
  const { reason, actor, at, until } = rest;
  return {
    id: recordId.slice(ERASE.length),
    event: seq,
    total: contents.length,
    kept_aside: new Set(aside.flatMap(({ paths }) => paths)).size,
    asked: { ...asked },
    reason: reason ?? null,
    actor,
    at,
    until,
    can_be_withdrawn: !isOver(context, until),
  };
}
