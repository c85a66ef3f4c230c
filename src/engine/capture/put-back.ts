import { tellOfCopies } from "../log/tell-of-copies.ts";
import type { Change } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { isLostInCrash } from "../../core/records/whereabouts.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { settable } from "./never-set.ts";
import { keepPlan, openIntents, perform } from "./operate.ts";
import { compare, type Reading } from "./read-disk.ts";
import { followedOrigin } from "../facts/followed-origin.ts";
import { conflictShape, pathArgument, shownPath } from "../log/shape.ts";

/** Finds the files that an unclean end (a power failure, a disk pulled out) has damaged, and restores them. */

/** The maximum number of paths that a message names. Further paths are only counted. */
const MOST_NAMED = 10;

/** Returns the changes that an unclean end caused. Leaves out edits. Returns none if no unclean end is known. */
export async function lostInCrash(context: Context, reading: Reading): Promise<readonly Change[]> {
  const { unclean } = reading;
  if (unclean === undefined) return [];
  const { changes } = await compare(context, reading);
  return changes.filter((change) => isLostInCrash(change, unclean));
}

/**
 * Restores the recorded states of these paths in a folder that follows an origin. The damage is not recorded, because
 * it is not an edit and must not be sent to the origin. Returns false if an interrupted operation must be settled
 * first. If some paths cannot be restored, restores the others and then throws `REFUSED`.
 */
export async function putBackLost(context: Context, lost: readonly Change[]): Promise<boolean> {
  const record = await followedOrigin(context);
  if (record === undefined) return true;
  if ((await openIntents(context)).length > 0) return false;
  using _lease = await context.blobs.lease();
  const changes = lost.map(({ path, before, after }): Change => ({ path, before: after, after: settable(before) }));
  const { blocked: foreseen } = await context.worktree.check({ changes, onBlocked: "skip", permissions: true });
  const isStuck = new Set(foreseen.map(({ path }) => path));
  const free = changes.filter(({ path }) => !isStuck.has(path));
  const missing = await missingContents(context, free);
  const ready = free.filter(({ path }) => !missing.has(path));
  const report = await withCommit(context, async (commit) => {
    if (ready.length === 0 || (await openIntents(context)).length > 0) return undefined;
    const { seq } = await commit.head();
    const intent = {
      kind: "replica" as const,
      state: "open" as const,
      summary: "put back what an unclean end had taken from files",
      actor: context.caller.actor,
      started: new Date(context.now()).toISOString(),
      plan: await keepPlan(context, ready),
      paths: ready.length,
      fromSeq: seq,
      replica: record,
    };
    const operation = { changes: ready, onBlocked: "skip" as const, keepMtime: true };
    return perform(context, commit, { id: record.origin, intent, operation });
  });
  tellPutBack(context, report?.applied ?? []);
  tellOfCopies(context, (report?.conflicts ?? []).map(conflictShape));
  const stuck = [...foreseen, ...missing.values(), ...(report?.blocked ?? [])].filter(
    ({ reason }) => reason !== "changed",
  );
  if (stuck.length > 0) throw notPutBack(stuck);
  return true;
}

async function missingContents(context: Context, changes: readonly Change[]): Promise<Map<WorkspacePath, BlockedPath>> {
  const missing = new Map<WorkspacePath, BlockedPath>();
  const held = await context.blobs.has(changes.flatMap(({ after }) => after?.hash ?? []));
  for (const { path, after } of changes) {
    const hash = after?.hash;
    if (hash === undefined || held.has(hash)) continue;
    missing.set(path, { path, reason: "content-missing", detail: `content ${hash} is not in the store` });
  }
  return missing;
}

function tellPutBack(context: Context, paths: readonly WorkspacePath[]): void {
  if (paths.length === 0) return;
  context.tell?.(
    `the machine or the disk went down without a clean end: ${namesOf(paths)} had lost bytes that were recorded before; ` +
      "the recorded contents were put back into the folder, and the damage was not sent to the origin",
  );
}

/**
 * Reports files that lost bytes in a workspace that follows no origin. Such files are recorded as they are now. `seq`:
 * the moment that the suggested command restores.
 */
export function tellLost(context: Context, lost: readonly Change[], seq: number): void {
  if (lost.length === 0) return;
  const paths = lost.map(({ path }) => path);
  context.tell?.(
    `the machine or the disk went down without a clean end: ${namesOf(paths)} ${paths.length === 1 ? "has" : "have"} lost bytes ` +
      `that were recorded before, and ${paths.length === 1 ? "is" : "are"} recorded as they are on disk now; to bring them back: ` +
      `${commandFor(paths, seq)}`,
  );
}

/** Returns a note on lost bytes for a caller that only reads, and therefore has not recorded the loss. */
export function lossNote(lost: readonly Change[]): readonly string[] {
  if (lost.length === 0) return [];
  const paths = lost.map(({ path }) => path);
  return [
    `the machine or the disk went down without a clean end: ${namesOf(paths)} ${paths.length === 1 ? "has" : "have"} lost bytes ` +
      "that are recorded; the next snapshot puts them back, or says how to bring them back",
  ];
}

function commandFor(paths: readonly WorkspacePath[], seq: number): string {
  const restore = `chronicle restore seq:${seq}`;
  if (paths.length > MOST_NAMED)
    return `\`chronicle diff seq:${seq}\` lists all of them; \`${restore} PATH…\` brings back the paths that you give it`;
  return [restore, ...paths.map((path) => pathArgument(path))].join(" ");
}

function namesOf(paths: readonly WorkspacePath[]): string {
  const names = paths.slice(0, MOST_NAMED).map((path) => JSON.stringify(shownPath(path)));
  const more = paths.length - names.length;
  return more === 0 ? names.join(", ") : `${names.join(", ")} and ${more} more`;
}

function notPutBack(blocked: readonly BlockedPath[]): ChronicleError {
  const [first] = blocked;
  const what = `${namesOf(blocked.map(({ path }) => path))} lost bytes when the machine or the disk went down`;
  return new ChronicleError("REFUSED", `${what}, and could not be put back: ${first?.detail ?? ""}`, {
    hint: "remove what blocks these paths; or, to keep a file as it is now, give the file a new time with `touch`. Nothing was sent to the origin",
    data: { paths: blocked.map(({ path }) => shownPath(path)) },
  });
}
