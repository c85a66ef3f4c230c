import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import { changersOfGit, loggedSessions } from "./actions.ts";
import type { Keeper } from "./own-work.ts";
import { ownersIn } from "./owners.ts";
import { actionsEver } from "./transactions.ts";

/**
 * A keeper is a run or an action. Before such work, files can be kept aside and the state of git can be recorded, so
 * that an undo can bring both back. A keeper belongs to an operation if the keeper is that operation, or is within that
 * operation.
 */

/** Returns all sessions and actions, in the order in which they began. */
export async function allKeepers(context: Context): Promise<readonly Keeper[]> {
  const sessions = (await loggedSessions(context)).map((one) => ({ ...one, lastSeq: one.seq }));
  const all: readonly Keeper[] = [...sessions, ...(await actionsEver(context))];
  const git = await changersOfGit(context);
  const told = all.map((one) => (git.has(one.id) ? { ...one, changedGit: true as const } : one));
  return told.sort((a, b) => a.fromSeq - b.fromSeq);
}

/** Returns the keepers that have one of these ids, or are within work that has one of these ids. */
export async function keepersWithin(context: Context, ids: ReadonlySet<string>): Promise<readonly Keeper[]> {
  const owners = await ownersIn(context);
  return (await allKeepers(context)).filter(({ id }) => [...owners.around([id])].some((one) => ids.has(one)));
}

/** Returns the last run or action for which the path, a path beneath it, or a folder above it was kept aside. */
export async function lastKeeperOf(context: Context, path: WorkspacePath): Promise<Keeper | undefined> {
  const isOf = ({ omittedChanges }: Keeper): boolean =>
    omittedChanges.some((one) => one.kept && (isWithin(one.path, path) || isWithin(path, one.path)));
  return (await allKeepers(context)).findLast(isOf);
}
