import { isWithin, splitRoot, type WorkspacePath } from "../core/path.ts";
import { ChronicleError } from "../core/errors.ts";
import { isGitName } from "../core/git-name.ts";
import { intentOfRequest } from "../core/request-intent.ts";
import { STAGING_FOLDER } from "../core/staging-folder.ts";
import type { Context } from "./context.ts";
import { planWrite } from "./plan-write.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { shownPath } from "./shape.ts";
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

/** What becomes of a write, as far as it is known without a capture; `undefined`: its paths may be captured. */
export async function decideBefore(context: Context, write: ReadyWrite): Promise<Outcome | undefined> {
  try {
    const paths = pathsOf(write);
    let isKeptOut = false;
    for (const path of paths) isKeptOut = !(await tracked(context, path)) || isKeptOut;
    const stats = await context.worktree.stats(paths);
    const isFolder = stats.some((stat) => typeof stat === "object" && stat.kind === "dir");
    return isKeptOut || isFolder ? await decideOnDisk(context, write) : undefined;
  } catch (error) {
    return ofOneWrite(error);
  }
}

/** Do the rules take the path? Throws `REFUSED` for what nobody may write. */
async function tracked(context: Context, path: WorkspacePath): Promise<boolean> {
  const { rule, tracked: isTracked } = await context.worktree.explain(path);
  const { path: inner } = splitRoot(path);
  const isStaging = isWithin(inner.toLowerCase() as WorkspacePath, STAGING_FOLDER as WorkspacePath);
  // Some disks take other names for `.git`; that one the rules may take in.
  const isLikeGit = inner.split("/").some((name) => name !== ".git" && isGitName(name));
  if (rule !== "git" && !isStaging && !isLikeGit) return isTracked;
  const shown = shownPath(path);
  const whose = isStaging ? "where Chronicle stages what it restores" : "a git repository's own state";
  // A hook put there would be run by the next person who commits.
  throw new ChronicleError("REFUSED", `${JSON.stringify(shown)} is ${whose}`, {
    hint: isStaging ? "choose another name" : "use git to change it, or take it in with forceInclude",
    data: { path: shown },
  });
}

/** Plans the write on what is on disk, and forgets the plan. */
async function decideOnDisk(context: Context, write: ReadyWrite): Promise<Outcome | undefined> {
  const { requestId } = write.by;
  const id = requestId === undefined ? undefined : intentOfRequest(requestId);
  const again = id === undefined ? undefined : await answerAgain(context, id, write);
  if (again !== undefined) return { answer: again };
  await planWrite(write, {
    state: new DiskState(context, (await context.index.head()).seq, pathsOf(write)),
    now: Math.floor(context.now()),
    isUnrecordedFolder: async (path) => (await context.worktree.inspect(path))?.kind === "dir",
  });
  return undefined;
}

/** The files as they are on disk at some paths, and as they are recorded elsewhere. */
class DiskState {
  readonly #context: Context;
  readonly #recorded: WriteState;
  readonly #onDisk: readonly WorkspacePath[];

  constructor(context: Context, head: number, onDisk: readonly WorkspacePath[]) {
    this.#context = context;
    this.#recorded = new WriteState(context.index, head);
    this.#onDisk = onDisk;
  }

  async at(path: WorkspacePath): Promise<PathState> {
    const recorded = await this.#recorded.at(path);
    return this.#onDisk.includes(path) ? { ...recorded, entry: await this.#context.worktree.inspect(path) } : recorded;
  }

  /** What lies in a folder changes nothing about whether it may be written. */
  async beneath(path: WorkspacePath) {
    const { entry } = await this.at(path);
    return entry === undefined ? [] : [entry];
  }
}
