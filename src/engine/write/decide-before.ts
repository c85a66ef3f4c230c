import type { Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Change } from "../../core/values/change.ts";
import { hasGitName, isGitName } from "../../core/filter/git-name.ts";
import { isHash } from "../../core/values/hash.ts";
import { splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { intentOfRequest } from "../../core/records/request-intent.ts";
import { isInStaging } from "../../core/tree/staging-folder.ts";
import type { Explanation, PathStat } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { refuseErased } from "../facts/erased-look.ts";
import { refuseTakenId } from "../facts/taken-ids.ts";
import { planWrite } from "./plan-write.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { shownPath } from "../log/shape.ts";
import { answerAgain } from "./write-answer.ts";
import { ofOneWrite, type Outcome } from "./write-batch.ts";
import { type PathState, WriteState } from "./write-state.ts";

/**
 * Decides about writes before anything is captured. What is at the path of a write is recorded by name, whatever the rules
 * say, because the write replaces it. So a write that is refused must be refused before that: else whoever may write could
 * have any file recorded and served, without writing anything.
 */

/** The paths at which a write changes something. */
export function pathsOf(write: ReadyWrite): WorkspacePath[] {
  return write.kind === "move" ? [write.path, write.to] : [write.path];
}

/**
 * The decision about a write, as far as it is possible without a capture. `by-name`: the file that it replaces may be
 * recorded by name. `as-it-is`: it replaces nothing, so that the file on disk is recorded only as far as the rules take
 * it in.
 */
export type DecidedBefore = Outcome | "by-name" | "as-it-is";

export async function decideBefore(context: Context, write: ReadyWrite): Promise<DecidedBefore> {
  try {
    const { session } = write.by;
    if (session !== undefined) await refuseTakenId(context, session);
    const paths = pathsOf(write);
    const verdicts = await Promise.all(paths.map((path) => context.worktree.explain(path)));
    paths.forEach((path, i) => refuseUntouchable(path, verdicts[i]));
    const stats = await context.worktree.stats(paths);
    const isFolder = stats.some((stat) => typeof stat === "object" && stat.kind === "dir");
    if (!isFolder && verdicts.every(({ tracked }) => tracked)) return "by-name";
    const present = new Map<WorkspacePath, Entry | undefined>();
    for (const [i, path] of paths.entries()) present.set(path, await entryAt(context, { path, stat: stats[i], write }));
    return await decideOn(context, write, present);
  } catch (error) {
    return ofOneWrite(error);
  }
}

/** A repository's own state is git's, whoever asks: a hook put there would be run by the next person who commits. */
function refuseUntouchable(path: WorkspacePath, verdict: Explanation | undefined): void {
  // Some disks take other names for `.git`; that one the rules may take in.
  const isLikeGit = namesIn(path).some((name) => name !== ".git" && isGitName(name));
  if (verdict?.rule !== "git" && !isStaging(path) && !isLikeGit) return;
  throw untouchable(path, "use git to change it, or take it in with forceInclude");
}

/**
 * Refuses git's own state in a hosted workspace, where no rule could take it in: the next `restore --to` would put the
 * file onto a disk. A file that is there from before may be deleted.
 */
export function refuseGitState(write: ReadyWrite): void {
  if (write.kind === "delete") return;
  const found = pathsOf(write).find((path) => isStaging(path) || namesIn(path).some(isGitName));
  if (found !== undefined) throw untouchable(found, "choose another name: a workspace without a folder holds none");
}

/**
 * Refuses git's own state among the states that a write would put beneath its path: a moved folder may hold such names.
 */
export function refuseGitChanges(changes: readonly Change[]): void {
  const found = changes.find(({ path, after }) => after !== undefined && hasGitName(splitRoot(path).path));
  if (found !== undefined) throw untouchable(found.path, "delete it first: a workspace without a folder holds none");
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
  const whose = isOurs ? "where Chronicle stages what it restores" : "a git repository's own state";
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

/** Returns the entry at a path. The content is only read if the write names the hash that must be there. */
async function entryAt(context: Context, { path, stat, write }: Looked): Promise<Entry | undefined> {
  if (typeof stat !== "object" || stat.kind === "special") return undefined;
  if ([write.ifMatch ?? ""].flat().some(isHash)) return context.worktree.inspect(path);
  const { kind, mode, size } = stat;
  return { path, kind, mode, size, mtimeMs: 0, hash: undefined };
}

/** Plans the write on what is on disk, and forgets the plan but for whether there is one. */
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
    // The contents of a folder do not affect whether it may be written.
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
  // A client that puts a file as it is on disk has its content: the file is recorded as that client's write.
  return changes.length === 0 && write.kind !== "put" ? "as-it-is" : "by-name";
}
