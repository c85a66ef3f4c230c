import type { FileWriteShape } from "../../api/file-api.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { addAll } from "../../util/long-lists.ts";
import { capture, type Capture } from "../capture/capture.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { decideBefore, pathsOf } from "./decide-before.ts";
import { openIntents, settle } from "../capture/operate.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { shownPath } from "../log/shape.ts";
import { applyWrites } from "./apply-writes.ts";
import { type DiskOutcome, isPlanned, ofOneWrite, type Outcome, type PlannedWrite, WriteBatch } from "./write-batch.ts";

/** The number of times that a write is tried, if somebody edits its paths between the scan and the change. */
const MAX_ATTEMPTS = 3;

/**
 * Writes where there is a folder: what is on disk at the paths of those that may be done is captured first, so that conditions are about what is
 * really there and nothing is lost; then intents, the files, and the commit that closes the intents. Writes to the same
 * paths follow one another. Nothing is decided before their contents are durable: then `kept` resolves.
 */
export async function writeOnDisk(
  context: Context,
  writes: readonly ReadyWrite[],
  kept: Promise<void>,
): Promise<Outcome[]> {
  const outcomes = new Map<ReadyWrite, Outcome>();
  const attempts = new Map<ReadyWrite, number>();
  for (let left = [...writes]; left.length > 0;) {
    const { round, rest } = independent(left);
    const again: ReadyWrite[] = [];
    for (const [write, outcome] of await writeRound(context, round, kept)) {
      const attempt = (attempts.get(write) ?? 0) + 1;
      attempts.set(write, attempt);
      if (outcome.overtaken === true && attempt < MAX_ATTEMPTS) again.push(write);
      else outcomes.set(write, outcome);
    }
    if (again.length > 0) await settle(context);
    left = [...again, ...rest];
  }
  return writes.map((write) => outcomes.get(write) as Outcome);
}

function meet(a: readonly WorkspacePath[], b: readonly WorkspacePath[]): boolean {
  return a.some((one) => b.some((other) => isWithin(one, other) || isWithin(other, one)));
}

/** The first writes, of which none touches what another does, and those that follow them: the order stays. */
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

async function writeRound(
  context: Context,
  writes: readonly ReadyWrite[],
  kept: Promise<void>,
): Promise<Map<ReadyWrite, DiskOutcome>> {
  const outcomes = new Map<ReadyWrite, DiskOutcome>();
  const asIs = new Set<ReadyWrite>();
  for (const write of writes) {
    const decided = await decideBefore(context, write);
    if (decided === "as-it-is") asIs.add(write);
    else if (decided !== "by-name") outcomes.set(write, decided);
  }
  const round = writes.filter((write) => !outcomes.has(write));
  if (round.length === 0) return outcomes;
  const captured = await captureBefore(context, round, asIs);
  await withCommit(context, async (commit) => {
    if ((await openIntents(context)).length > 0) {
      for (const write of round) outcomes.set(write, { error: unfinishedBefore(), overtaken: true });
      return;
    }
    const { entries, bytes } = captured;
    const batch = await WriteBatch.begin(context, {
      head: await commit.head(),
      tally: { entries, bytes },
      isUnrecordedFolder: async (path) => (await context.worktree.inspect(path))?.kind === "dir",
      areHoldersRecorded: true,
    });
    for (const write of round) {
      const found = await planOne({ batch, captured, write, isAsIs: asIs.has(write) });
      if (!("drafts" in found)) outcomes.set(write, found);
    }
    const done = await applyWrites(context, commit, { planned: batch.planned, kept });
    for (const [write, outcome] of done) outcomes.set(write, outcome);
  });
  return outcomes;
}

/** Records what is at the paths of writes: by name where it is about to be replaced, else what the rules take in. */
async function captureBefore(
  context: Context,
  round: readonly ReadyWrite[],
  asIs: ReadonlySet<ReadyWrite>,
): Promise<Capture> {
  const how = { cause: "capture", reserve: true } as const;
  const kept = round.filter((write) => asIs.has(write)).flatMap(pathsOf);
  const replaced = round.filter((write) => !asIs.has(write)).flatMap(pathsOf);
  const seen = kept.length === 0 ? undefined : await capture(context, { ...how, only: kept });
  if (seen !== undefined && replaced.length === 0) return seen;
  return capture(context, { ...how, only: replaced, named: true, holders: true });
}

/** Another process has begun something in this moment, and is gone. */
function unfinishedBefore(): ChronicleError {
  return new ChronicleError("REFUSED", "an interrupted operation of another process is to be finished first", {
    hint: "try again",
  });
}

interface One {
  readonly batch: WriteBatch;
  readonly captured: Capture;
  readonly write: ReadyWrite;
  /** It finds everything as it asks for. */
  readonly isAsIs: boolean;
}

async function planOne({ batch, captured, write, isAsIs }: One): Promise<Outcome | PlannedWrite> {
  try {
    if (!isAsIs) refuseUncaptured(write, captured.coverage.omitted);
    const planned: PlannedWrite | FileWriteShape = await batch.plan(write, isAsIs);
    return isPlanned(planned) ? planned : { answer: planned };
  } catch (error) {
    return ofOneWrite(error);
  }
}

/**
 * Refuses to replace a file that could not be recorded, or to remove it with a folder: it could not be brought back.
 */
function refuseUncaptured(write: ReadyWrite, omitted: readonly Omission[]): void {
  const paths = pathsOf(write);
  const hit = omitted.find((one) => meet([one.path], paths));
  if (hit === undefined) return;
  const shown = shownPath(hit.path);
  const why = hit.detail === undefined ? hit.reason : `${hit.reason}: ${hit.detail}`;
  throw new ChronicleError("REFUSED", `${JSON.stringify(shown)} cannot be recorded (${why}): nothing was changed`, {
    hint: "what is there now could not be brought back; move it away, or change it by hand",
    data: { path: shown, reason: hit.reason },
  });
}
