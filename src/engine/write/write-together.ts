import type { Entry, Change } from "../../core/values/entry.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import type { Verdict } from "../../core/filter/filter.ts";
import { hasGitName, isGitName } from "../../core/filter/git-name.ts";
import { isHash } from "../../core/values/hash.ts";
import { splitRoot, type WorkspacePath, isWithin } from "../../core/values/path.ts";
import { intentOfRequest } from "../../core/records/records.ts";
import { isInStaging } from "../../core/tree/staging-folder.ts";
import type { JudgedPath, PathStat } from "../../worktree/worktree.ts";
import { type Context, isHosted } from "../log/context.ts";
import { refuseErased } from "../facts/erased-look.ts";
import { refuseTakenId } from "../facts/taken-ids.ts";
import { hinderingWrite, isAgents, refuseLeftOut } from "./left-out-of-write.ts";
import { planWrite } from "./plan-write.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { shownPath } from "../log/shape.ts";
import { answerAgain, writeShape } from "./write-answer.ts";
import {
  ofOneWrite,
  type Outcome,
  type BatchGround,
  isPlanned,
  type PlannedWrite,
  type TargetOutcome,
  WriteBatch,
} from "./write-batch.ts";
import { type PathState, WriteState } from "./write-state.ts";
import type { FileWriteShape } from "../../api/file-api.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { addAll } from "../../util/long-lists.ts";
import { capture, type Capture } from "../capture/capture.ts";
import { settle, withSettledCommit } from "../capture/operate.ts";
import type { Commit } from "../commit/commit.ts";
import { answer } from "../log/answer.ts";
import { refuseOverQuota } from "../log/quota.ts";
import { untilSettled } from "../undo/before-change.ts";
import { withBatch, type BlobBatch } from "../../storage/blob-store.ts";
import { announceContent, applyWrites } from "./apply-writes.ts";

/**
 * The maximum number of attempts at one write. A write is attempted again if somebody edits its paths between the scan
 * and the change.
 */
const MAX_ATTEMPTS = 3;

interface PreparedRound {
  /** The outcomes of the writes that were decided without the workspace's lock. */
  readonly decided: ReadonlyMap<ReadyWrite, Outcome>;
  /** Returns the state on which the undecided writes are planned. The caller holds the workspace's lock. */
  readonly ground: () => Promise<Omit<BatchGround, "head">>;
  /** Plans a write (see `WriteBatch.plan`). Also throws if this target cannot carry out the write. */
  readonly plan: (batch: WriteBatch, write: ReadyWrite) => Promise<PlannedWrite | FileWriteShape>;
}

/** The target of writes: a folder on disk, or only the history (in a hosted workspace). */
interface WriteTarget {
  /** Splits the writes, in order, into the writes that the next commit can record (`round`), and all later writes. */
  roundOf(writes: readonly ReadyWrite[]): {
    readonly round: readonly ReadyWrite[];
    readonly rest: readonly ReadyWrite[];
  };
  /**
   * Answers or refuses the writes that can be decided without the workspace's lock. If the target is a folder on disk,
   * also captures the files that the undecided writes replace.
   */
  prepare(round: readonly ReadyWrite[]): Promise<PreparedRound>;
  /** Waits until the contents of the planned writes are durable, carries out the writes, and records them. */
  carryOut(commit: Commit, planned: readonly PlannedWrite[]): Promise<ReadonlyMap<PlannedWrite, TargetOutcome>>;
}

/**
 * Carries out writes in their order, and returns their outcomes. One fsync makes all contents durable. Meanwhile, the
 * files that the writes replace are captured, and the writes are planned. The writes are carried out in rounds, and the
 * writes of a round are recorded together.
 */
export async function writeTogether(context: Context, writes: readonly ReadyWrite[]): Promise<Outcome[]> {
  using _lease = await context.blobs.lease();
  const outcomes = new Map<ReadyWrite, Outcome>();
  for (const write of writes) {
    const refusal = await overQuota(context, write);
    if (refusal !== undefined) outcomes.set(write, refusal);
  }
  const fitting = writes.filter((write) => !outcomes.has(write));
  const kept = keepContents(context, fitting);
  const target = (isHosted(context.worktree.roots) ? historyTarget : folderTarget)(context, kept);
  const [contents, done] = await Promise.allSettled([kept, writeTo(context, target, fitting)]);
  if (contents.status === "rejected") throw contents.reason;
  if (done.status === "rejected") throw done.reason;
  return writes.map((write) => outcomes.get(write) ?? (done.value.get(write) as Outcome));
}

/**
 * Carries out writes round by round. If somebody edited the paths of a write before it was carried out, the write is
 * attempted again, up to `MAX_ATTEMPTS` times in all.
 */
async function writeTo(
  context: Context,
  target: WriteTarget,
  writes: readonly ReadyWrite[],
): Promise<Map<ReadyWrite, Outcome>> {
  const outcomes = new Map<ReadyWrite, Outcome>();
  const attempts = new Map<ReadyWrite, number>();
  for (let left = writes; left.length > 0;) {
    const { round, rest } = target.roundOf(left);
    const again: ReadyWrite[] = [];
    for (const [write, outcome] of await untilSettled(context, () => writeRound(context, target, round))) {
      const attempt = (attempts.get(write) ?? 0) + 1;
      attempts.set(write, attempt);
      if (outcome.overtaken === true && attempt < MAX_ATTEMPTS) again.push(write);
      else outcomes.set(write, outcome);
    }
    if (again.length > 0) await settle(context);
    left = [...again, ...rest];
  }
  return outcomes;
}

/** Carries out one round. Resolves to `undefined` if an interrupted operation must be settled before the round. */
async function writeRound(
  context: Context,
  target: WriteTarget,
  writes: readonly ReadyWrite[],
): Promise<Map<ReadyWrite, TargetOutcome> | undefined> {
  const { decided, ground, plan } = await target.prepare(writes);
  const outcomes = new Map<ReadyWrite, TargetOutcome>(decided);
  const round = writes.filter((write) => !outcomes.has(write));
  if (round.length === 0) return outcomes;
  return withSettledCommit(context, async (commit) => {
    const batch = await WriteBatch.begin(context, { head: await commit.head(), ...(await ground()) });
    const planned = new Map<ReadyWrite, PlannedWrite>();
    for (const write of round) {
      try {
        const found = await plan(batch, write);
        if (isPlanned(found)) planned.set(write, found);
        else outcomes.set(write, { answer: found });
      } catch (error) {
        outcomes.set(write, ofOneWrite(error));
      }
    }
    const done = await target.carryOut(commit, batch.planned);
    for (const [write, one] of planned) outcomes.set(write, done.get(one) as TargetOutcome);
    return outcomes;
  });
}

/**
 * The target of a workspace without a folder. Once the contents are durable (`kept` resolves), one append completes the
 * round. Each write of a round sees the changes of earlier writes in the round.
 */
function historyTarget(context: Context, kept: Promise<void>): WriteTarget {
  return {
    roundOf: (writes) => ({ round: writes, rest: [] }),
    prepare: async () => ({
      decided: new Map(),
      ground: async () => ({
        tally: await context.worktree.scan({}, () => undefined),
        isUnrecordedFolder: async () => false,
        refuse: refuseGitChanges,
      }),
      plan: async (batch, write) => {
        refuseGitState(write);
        return batch.plan(write);
      },
    }),
    carryOut: async (commit, planned) => {
      const [only] = planned;
      if (only !== undefined && planned.length === 1) await announceContent(context, only.write);
      await kept;
      await commit.append(planned.flatMap(({ drafts }) => drafts));
      return new Map(planned.map((one) => [one, { answer: writeShape(one.write, one.done) }]));
    },
  };
}

/**
 * The target of a workspace with a folder. The files that the writes replace are captured first. No content is
 * therefore lost, and the conditions of the writes are checked against the state of the disk. Then the intents are
 * recorded, the files are changed, and the intents are closed. Writes that share a path are done in different rounds.
 * No intent is recorded before the contents are durable (`kept` resolves).
 */
function folderTarget(context: Context, kept: Promise<void>): WriteTarget {
  return {
    roundOf: independent,
    prepare: (writes) => prepare(context, writes),
    carryOut: (commit, planned) => applyWrites(context, commit, { planned, kept }),
  };
}

async function prepare(context: Context, writes: readonly ReadyWrite[]): Promise<PreparedRound> {
  const decided = new Map<ReadyWrite, Outcome>();
  const asIs = new Set<ReadyWrite>();
  const judged = await judgedPaths(context, writes);
  for (const write of writes) {
    const before = await decideBefore(context, write, judged);
    if (before === "as-it-is") asIs.add(write);
    else if (before !== "by-name") decided.set(write, before);
  }
  const round = writes.filter((write) => !decided.has(write));
  const captured = round.length === 0 ? [] : await captureBefore(context, round, asIs);
  const omitted = captured.flatMap(({ coverage }) => coverage.omitted);
  return {
    decided,
    ground: async () => ({
      tally: captured.at(-1) ?? { entries: 0, bytes: 0 },
      isUnrecordedFolder: async (path) => (await context.worktree.inspect(path))?.kind === "dir",
      areHoldersRecorded: true,
    }),
    plan: async (batch, write) => {
      if (!asIs.has(write)) refuseUncaptured(write, await hinderingWrite(context, write, omitted));
      return batch.plan(write, asIs.has(write));
    },
  };
}

function meet(a: readonly WorkspacePath[], b: readonly WorkspacePath[]): boolean {
  return a.some((one) => b.some((other) => isWithin(one, other) || isWithin(other, one)));
}

/**
 * Splits the writes into two lists (`round`, `rest`). `rest` begins with the first write that has a request id or a
 * path in common with an earlier write. A path and a folder above that path also count as a common path.
 */
function independent(writes: readonly ReadyWrite[]): { round: ReadyWrite[]; rest: ReadyWrite[] } {
  const taken: WorkspacePath[] = [];
  const requests = new Set<string>();
  const isMet = (write: ReadyWrite): boolean => {
    const { requestId } = write.by;
    const met = meet(pathsOf(write), taken) || (requestId !== undefined && requests.has(requestId));
    addAll(taken, pathsOf(write));
    if (requestId !== undefined) requests.add(requestId);
    return met;
  };
  const end = writes.findIndex(isMet);
  return end < 0 ? { round: [...writes], rest: [] } : { round: writes.slice(0, end), rest: writes.slice(end) };
}

/**
 * Captures the paths of writes. A file that a write replaces is captured by name, which means even if the rules leave
 * the file out. If a write replaces nothing (`asIs`), only paths that the rules include are captured. If an agent's
 * write names a folder, only paths in this folder that the rules include are captured.
 */
async function captureBefore(
  context: Context,
  round: readonly ReadyWrite[],
  asIs: ReadonlySet<ReadyWrite>,
): Promise<Capture[]> {
  const how = { cause: "capture", reserve: true } as const;
  const byName = { ...how, named: true, holders: true } as const;
  const kept = round.filter((write) => asIs.has(write)).flatMap(pathsOf);
  const replacing = round.filter((write) => !asIs.has(write));
  const whole = replacing.filter((write) => !isAgents(write)).flatMap(pathsOf);
  const alone = replacing.filter(isAgents).flatMap(pathsOf);
  const captured: Capture[] = [];
  if (kept.length > 0) captured.push(await capture(context, { ...how, only: kept }));
  if (whole.length > 0) captured.push(await capture(context, { ...byName, only: whole }));
  if (alone.length > 0) captured.push(await capture(context, { ...byName, only: alone, alone: true }));
  return captured;
}

/**
 * Refuses a write that would replace or remove a file that the capture could not record. No undo could bring back the
 * content of such a file.
 */
function refuseUncaptured(write: ReadyWrite, omitted: readonly Omission[]): void {
  const paths = pathsOf(write);
  const hit = omitted.find((one) => meet([one.path], paths));
  if (hit === undefined) return;
  const shown = shownPath(hit.path);
  const why = hit.detail === undefined ? hit.reason : `${hit.reason}: ${hit.detail}`;
  throw new ChronicleError("REFUSED", `${JSON.stringify(shown)} cannot be recorded (${why}): nothing was changed`, {
    hint: "the present content of the file could not be brought back; move the file away, or change it by hand",
    data: { path: shown, reason: hit.reason },
  });
}

/**
 * Returns the outcome of a write whose content exceeds the quota; `undefined` if the content fits. A request that was
 * done before gets its earlier answer, because the store does not grow. Any other write is refused.
 */
async function overQuota(context: Context, write: ReadyWrite): Promise<Outcome | undefined> {
  const bytes = write.kind === "put" ? write.content.bytes : undefined;
  if (bytes === undefined) return undefined;
  try {
    refuseOverQuota(context, bytes.length);
    return undefined;
  } catch (error) {
    return (await answeredBefore(context, write)) ?? ofOneWrite(error);
  }
}

async function answeredBefore(context: Context, write: ReadyWrite): Promise<Outcome | undefined> {
  const { requestId } = write.by;
  if (requestId === undefined) return undefined;
  try {
    const again = await answer(context, () => answerAgain(context, intentOfRequest(requestId), write));
    return again === undefined ? undefined : { answer: again };
  } catch (error) {
    return ofOneWrite(error);
  }
}

/** Stores the contents that the writes hold in memory, and makes them durable. */
async function keepContents(context: Context, writes: readonly ReadyWrite[]): Promise<void> {
  const contents = writes.flatMap((write) => (write.kind === "put" ? (write.content.bytes ?? []) : []));
  if (contents.length === 0) return;
  const putAll = async (batch: BlobBatch): Promise<void> => {
    for (const bytes of contents) await batch.put(bytes);
  };
  await withBatch(context.blobs, putAll, { beside: true });
}

function pathsOf(write: ReadyWrite): WorkspacePath[] {
  return write.kind === "move" ? [write.path, write.to] : [write.path];
}

/**
 * The decision on a write before the capture: the outcome of the write, or how its paths are captured. With `by-name`,
 * the file that the write replaces is captured even if the rules leave it out. With `as-it-is`, the write replaces
 * nothing, and only paths that the rules include are captured.
 */
type DecidedBefore = Outcome | "by-name" | "as-it-is";

/**
 * Returns the verdicts of the rules on the paths of the writes, and the stats of these paths, by path. Returns an empty
 * map if the rules cannot be applied to one of the paths. The caller then asks about the paths of each write
 * separately, so that only the write with the faulty path fails.
 */
async function judgedPaths(
  { worktree }: Context,
  writes: readonly ReadyWrite[],
): Promise<ReadonlyMap<WorkspacePath, JudgedPath>> {
  const paths = writes.flatMap(pathsOf);
  try {
    const judged = await worktree.judgeAll(paths);
    return new Map(judged.map((one, i) => [paths[i] as WorkspacePath, one]));
  } catch (error) {
    if (!(error instanceof ChronicleError) && errnoOf(error) === undefined) throw error;
    return new Map();
  }
}

// A write that will be refused must be refused before the capture, because the capture records the replaced file even
// if the rules leave it out. Otherwise, a caller could have any file recorded, and then read it, by asking for a write
// that fails.
async function decideBefore(
  context: Context,
  write: ReadyWrite,
  known: ReadonlyMap<WorkspacePath, JudgedPath>,
): Promise<DecidedBefore> {
  try {
    const { session } = write.by;
    if (session !== undefined) await refuseTakenId(context, session);
    const paths = pathsOf(write);
    const own = paths.flatMap((path) => known.get(path) ?? []);
    const judged = own.length === paths.length ? own : await context.worktree.judgeAll(paths);
    paths.forEach((path, i) => refuseUntouchable(path, judged[i]));
    await refuseLeftOut(
      context,
      write,
      paths.map((path, i) => ({ path, verdict: judged[i], stat: judged[i]?.stat })),
    );
    const isFolder = judged.some(({ stat }) => typeof stat === "object" && stat.kind === "dir");
    if (!isFolder && judged.every(({ tracked }) => tracked)) return "by-name";
    const present = new Map<WorkspacePath, Entry | undefined>();
    for (const [i, path] of paths.entries())
      present.set(path, await entryAt(context, { path, stat: judged[i]?.stat, write }));
    const decided = await decideOn(context, write, present);
    if (decided === "by-name" && isFolder) {
      // A capture would record parts of the folder even if the write is refused later, so the folder is only scanned.
      const { omitted } = await context.worktree.scan({ only: paths, named: true }, () => undefined);
      refuseUncaptured(write, omitted);
    }
    return decided;
  } catch (error) {
    return ofOneWrite(error);
  }
}

/**
 * Refuses a path in Chronicle's staging folder or in a git repository's own state. In a repository's own state, a write
 * could place a hook that the next `git commit` runs.
 */
function refuseUntouchable(path: WorkspacePath, verdict: Verdict | undefined): void {
  // Some file systems treat other names (such as `.GIT`) as `.git`. These names are always refused. The name `.git`
  // itself is allowed if a rule includes it.
  const isLikeGit = namesIn(path).some((name) => name !== ".git" && isGitName(name));
  if (verdict?.rule !== "git" && !isStaging(path) && !isLikeGit) return;
  throw untouchable(path, "use git to change it; `.git` itself can be recorded with forceInclude");
}

/**
 * Refuses a write in a hosted workspace to a path in Chronicle's staging folder or in a git repository's own state. A
 * later `restore --to` would write the file to a disk. No rule of a hosted workspace can allow such a path. A file that
 * is already recorded at such a path can still be deleted.
 */
function refuseGitState(write: ReadyWrite): void {
  if (write.kind === "delete") return;
  const found = pathsOf(write).find((path) => isStaging(path) || namesIn(path).some(isGitName));
  if (found !== undefined)
    throw untouchable(found, "choose another name: a hosted workspace does not accept such names");
}

/**
 * Refuses changes that would put a git repository's own state beneath the path of a write. A moved folder, for example,
 * can contain names like `.git`.
 */
function refuseGitChanges(changes: readonly Change[]): void {
  const found = changes.find(({ path, after }) => after !== undefined && hasGitName(splitRoot(path).path));
  if (found !== undefined)
    throw untouchable(found.path, "delete it first: a hosted workspace does not accept such names");
}

function namesIn(path: WorkspacePath): string[] {
  return splitRoot(path).path.split("/");
}

function isStaging(path: WorkspacePath): boolean {
  return isInStaging(splitRoot(path).path.toLowerCase());
}

function untouchable(path: WorkspacePath, hint: string): ChronicleError {
  const shown = shownPath(path);
  const isOurs = isStaging(path);
  const whose = isOurs ? "in Chronicle's staging folder" : "a git repository's own state";
  return new ChronicleError("REFUSED", `${JSON.stringify(shown)} is ${whose}`, {
    hint: isOurs ? "choose another name" : hint,
    data: { path: shown },
  });
}

interface Looked {
  readonly path: WorkspacePath;
  readonly stat: PathStat;
  readonly write: ReadyWrite;
}

/** Returns the entry on disk. Reads the content only if the write names a hash that the file must have (`ifMatch`). */
async function entryAt(context: Context, { path, stat, write }: Looked): Promise<Entry | undefined> {
  if (typeof stat !== "object" || stat.kind === "special") return undefined;
  if ([write.ifMatch ?? ""].flat().some(isHash)) return context.worktree.inspect(path);
  const { kind, mode, size } = stat;
  return { path, kind, mode, size, mtimeMs: 0, hash: undefined };
}

/**
 * Plans the write on the state of the disk, to decide whether the write is allowed, and whether it would change
 * anything.
 */
async function decideOn(
  context: Context,
  write: ReadyWrite,
  present: ReadonlyMap<WorkspacePath, Entry | undefined>,
): Promise<DecidedBefore> {
  const { requestId } = write.by;
  const again = requestId === undefined ? undefined : await answerAgain(context, intentOfRequest(requestId), write);
  if (again !== undefined) return { answer: again };
  const recorded = new WriteState(context.index, (await context.index.head()).seq);
  const state = {
    at: async (path: WorkspacePath): Promise<PathState> =>
      present.has(path) ? { ...(await recorded.at(path)), entry: present.get(path) } : recorded.at(path),
    // The contents of a folder do not affect whether the write is allowed.
    beneath: async (path: WorkspacePath): Promise<Entry[]> => {
      const entry = present.get(path);
      return entry === undefined ? [] : [entry];
    },
  };
  const isUnrecordedFolder = async (path: WorkspacePath): Promise<boolean> => {
    const [stat] = await context.worktree.stats([path]);
    return typeof stat === "object" && stat.kind === "dir";
  };
  const now = Math.floor(context.now());
  const ground = {
    state,
    now,
    isUnrecordedFolder,
    refuseErased: (all: readonly Entry[]) => refuseErased(context, all),
  };
  const changes = await planWrite(write, ground);
  // A client that puts exactly the content on disk already knows this content. The file can therefore be recorded, even
  // if the rules leave it out.
  return changes.length === 0 && write.kind !== "put" ? "as-it-is" : "by-name";
}
