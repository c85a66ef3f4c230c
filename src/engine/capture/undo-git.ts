import { type Aside, ASIDE_MS } from "../../core/records/aside.ts";
import {
  composeGit,
  decodeGitChanges,
  encodeGitChanges,
  GIT,
  GIT_FILE,
  type GitChange,
  type GitItem,
  gitMovedSince,
  invertGit,
  sameGitValue,
  SOFT_GIT_FILES,
  splitGitFile,
} from "../../core/records/git-record.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import type { Hash } from "../../core/values/hash.ts";
import { addAll } from "../../util/long-lists.ts";
import { withBatch } from "../../storage/blob-store.ts";
import { ownersIn } from "../facts/owners.ts";
import type { Context } from "../log/context.ts";
import { doneIntents } from "../log/intents.ts";
import { gitTrouble, type GitWork, idOfGit, loggedGit, type LoggedGit, recordGit } from "./git-work.ts";
import type { CheckReport } from "../../worktree/worktree.ts";
import type { SkippedPath } from "./seen-absent.ts";
import { undosOf } from "./undo-aside.ts";

/** An undo or redo also changes the state of the git repositories that the undone or redone work has changed. */

type Step = Pick<IntentRecord, "kind" | "target" | "takes" | "passes" | "selection">;

/**
 * The changes that a step (an undo or a redo) makes to the git state of repositories, and the repositories that it
 * leaves alone.
 */
export interface GitStep {
  readonly changes: readonly GitChange[];
  readonly blocked: readonly SkippedPath[];
}

const NO_STEP: GitStep = { changes: [], blocked: [] };

/**
 * Returns the changes of git that an undo or redo makes. Each repository is changed as a whole or not at all. A
 * repository is left alone if one of the values to change, such as a ref, was changed after the work.
 */
export async function gitOfStep(context: Context, step: Step): Promise<GitStep> {
  if ((step.kind !== "undo" && step.kind !== "redo") || (await context.index.records(GIT)).length === 0) return NO_STEP;
  try {
    return await stepOf(context, step);
  } catch (error) {
    return { changes: [], blocked: [unusable(gitTrouble(error))] };
  }
}

async function stepOf(context: Context, step: Step): Promise<GitStep> {
  const works = step.kind === "undo" ? await worksOfUndo(context, step) : await worksOfRedo(context, step);
  if (works.length === 0) return NO_STEP;
  const isSince = step.selection?.startsWith("since ") === true;
  const broken = isSince ? [] : brokenIn(works);
  const all = works.reduce<readonly GitChange[]>((sum, { changes }) => composeGit(sum, changes), []);
  const blocked = broken.map(({ path, left, item }) =>
    leftAlone(path, gitMovedSince(item.name, left.after, item.before)),
  );
  const free = all.filter(({ path }) => !broken.some((one) => one.path === path));
  const lost = new Set(works.flatMap(({ problem }) => problem ?? []));
  const fit = await fitting(context, invertGit(free));
  return {
    changes: fit.changes,
    blocked: [...blocked, ...fit.blocked, ...[...lost].map(unusable)],
  };
}

/** Returns `.git` as a path that is left alone, because the kept copy of git's state cannot be used. */
function unusable(detail: string): SkippedPath {
  return { path: ".git" as SkippedPath["path"], reason: "content-missing", detail };
}

/**
 * Returns the changes of git that an undo inverts. The undone work may include an earlier undo, for example at the
 * second undo of a turn. In that case, also returns the changes that the redos of the earlier undo made. The sum of the
 * changes then ends with the state that the last redo left.
 */
async function worksOfUndo(context: Context, { target, takes = [], passes = [] }: Step): Promise<readonly LoggedGit[]> {
  const owners = await ownersIn(context);
  const undone = new Set([...takes, ...passes, ...(target === undefined ? [] : [target])]);
  const undos = new Set<string>();
  for (const { id, intent } of (await isAnyIntent(context, undone)) ? await doneIntents(context) : []) {
    if (intent.kind === "undo" && undone.has(id)) undos.add(id);
    else if (intent.kind === "redo" && undos.has(intent.target ?? "")) undone.add(id);
  }
  return loggedGit(context, (row) => [...owners.around([idOfGit(row)])].some((one) => undone.has(one)));
}

/**
 * True if one of these ids is that of an operation, such as an undo. This check saves the time to read all operations.
 */
async function isAnyIntent({ index }: Context, ids: Iterable<string>): Promise<boolean> {
  for (const id of ids) if ((await index.record(`intent:${id}`)) !== undefined) return true;
  return false;
}

async function worksOfRedo(context: Context, { target }: Step): Promise<readonly LoggedGit[]> {
  const undos = new Set((await undosOf(context, target)).map(({ id }) => id));
  return loggedGit(context, (row) => undos.has(idOfGit(row)));
}

/**
 * A value that others have changed between two works. `left`: the change by the first of the works. `item`: the change
 * by the second, which found another state than the first had left.
 */
interface Broken {
  readonly path: GitChange["path"];
  readonly left: GitItem;
  readonly item: GitItem;
}

/** Returns the values that others have changed between two of these works; at most one value for each repository. */
function brokenIn(works: readonly LoggedGit[]): readonly Broken[] {
  const last = new Map<string, GitItem>();
  const broken = new Map<GitChange["path"], Broken>();
  for (const { changes } of works) {
    for (const { path, items } of changes) {
      for (const item of items) {
        const key = `${path}\0${item.name}`;
        const left = last.get(key);
        const isBroken = left !== undefined && !sameGitValue(item.name, left.after, item.before);
        if (isBroken && !SOFT_GIT_FILES.has(item.name)) broken.set(path, { path, left, item });
        last.set(key, item);
      }
    }
  }
  return [...broken.values()];
}

function leftAlone(path: GitChange["path"], detail: string): SkippedPath {
  return { path, reason: "changed", detail };
}

/** Compares the changes with the present states. Leaves out values that already have their new states. */
async function fitting(context: Context, changes: readonly GitChange[]): Promise<GitStep> {
  const fit: GitChange[] = [];
  const blocked: SkippedPath[] = [];
  for (const change of changes) {
    const found = await fitOf(context, splitGitFile(change));
    if (typeof found === "string") blocked.push(leftAlone(change.path, found));
    else addAll(fit, found);
  }
  return { changes: fit, blocked };
}

/**
 * Returns the changes to make in one repository, or the reason, as a text, why the repository is left alone. A part
 * that follows the restoration of the `.git` file cannot be compared before this file exists. Such a part is compared
 * when it is applied.
 */
async function fitOf(context: Context, parts: readonly GitChange[]): Promise<readonly GitChange[] | string> {
  const fit: GitChange[] = [];
  for (const part of parts) {
    if (fit.some(putsGitFile)) {
      fit.push(part);
      continue;
    }
    const names = part.items.map(({ name }) => name);
    const now = await context.git.valuesOf(part.path, names);
    if (now === undefined) return "there is no repository that can be read";
    const todo = part.items.filter((item) => !sameGitValue(item.name, now.get(item.name), item.after));
    const hard = todo.filter(({ name }) => !SOFT_GIT_FILES.has(name));
    const moved = hard.find((item) => !sameGitValue(item.name, now.get(item.name), item.before));
    if (moved !== undefined) return gitMovedSince(moved.name, moved.before, now.get(moved.name));
    if (hard.length > 0) fit.push({ ...part, items: todo });
  }
  return fit;
}

function putsGitFile({ items }: GitChange): boolean {
  return items.some(({ name, after }) => name === GIT_FILE && after !== undefined);
}

const NO_FILES =
  "none of the files came back, because they were edited since; therefore git's state stays as it is, too";

/**
 * Returns the step with all repositories left alone. Used if no file of the step came back, because all of these files
 * were edited after the work.
 */
export function withoutFiles({ changes, blocked }: GitStep): GitStep {
  return { changes: [], blocked: [...blocked, ...changes.map(({ path }) => leftAlone(path, NO_FILES))] };
}

/** True if an operation has changed no file, because others had changed its files. */
function isAllLeft({ applied, blocked }: CheckReport): boolean {
  return applied.length === 0 && blocked.some(({ reason }) => reason === "changed");
}

/** Stores the changes of git that an operation makes, so that they can be finished after a crash. */
export async function keepGitStep(context: Context, changes: readonly GitChange[]): Promise<Aside | undefined> {
  if (changes.length === 0) return undefined;
  const plan = await withBatch(context.blobs, (batch) => batch.put(encodeGitChanges(changes)));
  return { plan, until: new Date(context.now() + ASIDE_MS).toISOString() };
}

/** The changes of git that were made, with their record, and the repositories that were left alone. */
export interface GitDone extends GitWork {
  readonly blocked: readonly SkippedPath[];
}

export const NO_GIT_DONE: GitDone = { changes: [], drafts: [], notes: [], blocked: [] };

/**
 * Makes the changes of git that an intent names. Must be called after the files of the intent were changed. A second
 * call, after a crash, does no harm. A repository whose change fails is left as it was. No error is thrown for such a
 * repository, because the files are changed already and the intent must be closed. `files`: the report on the changes
 * of files.
 */
export async function applyGitOf(
  context: Context,
  { id, intent }: { readonly id: string; readonly intent: Pick<IntentRecord, "git" | "kind" | "summary"> },
  files: CheckReport,
): Promise<GitDone> {
  const { git } = intent;
  if (git === undefined) return NO_GIT_DONE;
  const planned = await orProblem(async () => {
    const bytes = await context.blobs.get(git.plan);
    return bytes === undefined ? "what was kept of git's state was freed" : decodeGitChanges(bytes);
  });
  if (typeof planned === "string") return { ...NO_GIT_DONE, blocked: [unusable(planned)] };
  if (isAllLeft(files)) return { ...NO_GIT_DONE, blocked: withoutFiles({ changes: planned, blocked: [] }).blocked };
  const message = `chronicle ${intent.kind}: ${intent.summary.replace(/\s+/g, " ").slice(0, MOST_MESSAGE)}`;
  const { done, blocked } = await applyAll(context, planned, message);
  return { ...(await recordGit(context, id, composeGit([], done))), blocked };
}

interface Applied {
  readonly done: readonly GitChange[];
  readonly blocked: readonly SkippedPath[];
}

/**
 * Makes the changes of git. A refused change is tried again once another change was made. For example, a working tree
 * must leave a branch before another working tree can check out this branch.
 */
async function applyAll(context: Context, planned: readonly GitChange[], message: string): Promise<Applied> {
  const how = { contentOf: (hash: Hash) => context.blobs.get(hash), message };
  const done: GitChange[] = [];
  for (let left = planned; ;) {
    const refused = new Map<GitChange, string>();
    const paths = new Map<GitChange["path"], string>();
    for (const change of left) {
      // If one part of a repository was refused, its next part is not tried. The `.git` file and the rest of the
      // repository depend on each other.
      const problem = paths.get(change.path) ?? (await orProblem(() => context.git.apply(change, how)));
      if (problem === undefined) done.push(change);
      else {
        refused.set(change, problem);
        paths.set(change.path, problem);
      }
    }
    if (refused.size === 0 || refused.size === left.length) {
      return { done, blocked: [...paths].map(([path, problem]) => leftAlone(path, problem)) };
    }
    left = [...refused.keys()];
  }
}

/** Returns the result of `work`. If `work` fails, returns the reason as a text for people. */
async function orProblem<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    return gitTrouble(error);
  }
}

const MOST_MESSAGE = 100;
