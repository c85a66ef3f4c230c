import type { GitChangeShape, GitHeadShape, GitRepositoryShape } from "../../api/shapes.ts";
import { printable } from "../../process/printable.ts";
import { counted } from "./words.ts";

const SHORT_HASH = 7;
const MOST_REFS = 3;

/**
 * Returns a line for each repository: `git: HEAD 69a504c → 1b2c3d4, branch main`. `back`: true for an undo. The line of
 * an undo goes from the undone state back to the state before it.
 */
export function gitLines(changes: readonly GitChangeShape[] | undefined, { back = false } = {}): string[] {
  return (changes ?? []).map((change) => {
    const parts = [headText(change, back), ...refTexts(change), ...alsoTexts(change)];
    const where = change.path === ".git" ? "" : ` (${printable(change.path)})`;
    return `git${where}: ${parts.filter((one) => one !== "").join(", ")}`;
  });
}

const MOST_REPOSITORIES = 5;

/** Returns a line for each repository of a workspace: the branch and commit, or why its state is not recorded. */
export function gitPlaceLines(all: readonly GitRepositoryShape[] = []): string[] {
  const lines = all.slice(0, MOST_REPOSITORIES).map(({ path, head, not_recorded: reason }) => {
    if (path === "") return `others: their state is not recorded: ${printable(reason ?? "")}`;
    const parent = path.replace(/\/?\.git$/, "");
    const where = parent === "" ? "" : `${printable(parent)}: `;
    const at = head === undefined ? "" : `${branchText(head)} at ${commitText(head)}`;
    if (reason === undefined) return `${where}${at}; an undo of a run or of an agent's command restores this state`;
    return `${where}${at === "" ? "" : `${at}; `}its state is not recorded: ${printable(reason)}`;
  });
  const more = all.length - lines.length;
  return more > 0 ? [...lines, `and ${counted(more, "more repository", "more repositories")}`] : lines;
}

const branchText = ({ branch }: GitHeadShape): string => (branch === undefined ? "detached HEAD" : printable(branch));

function headText({ head_before: before, head_after: after }: GitChangeShape, back: boolean): string {
  const [was, is] = [commitText(before), commitText(after)];
  const branch = after.branch === undefined ? "detached" : `branch ${printable(after.branch)}`;
  const from =
    before.branch === after.branch || before.branch === undefined ? "" : ` (was ${printable(before.branch)})`;
  if (was === is && from === "" && before.branch === after.branch) return "";
  return back ? `HEAD ${is} → ${was} → back, ${branch}${from}` : `HEAD ${was} → ${is}, ${branch}${from}`;
}

function commitText({ commit }: GitHeadShape): string {
  return commit === undefined ? "(no commit)" : commit.slice(0, SHORT_HASH);
}

/**
 * Returns a text for each changed ref, up to `MOST_REFS`. Leaves out the stash, and a branch that was checked out both
 * before and after.
 */
function refTexts({ refs, head_before: before, head_after: after }: GitChangeShape): string[] {
  const isHead = before.branch === after.branch ? after.branch : undefined;
  const others = refs.filter(({ name }) => name !== "refs/stash" && name !== `refs/heads/${isHead ?? ""}`);
  const shown = others.slice(0, MOST_REFS).map(({ name, before: was, after: is }) => {
    const short = printable(name.replace(/^refs\/(?:heads|tags)\//, ""));
    const what = name.startsWith("refs/heads/") ? "branch" : name.startsWith("refs/tags/") ? "tag" : "ref";
    if (was === null) return `${what} ${short} made`;
    return is === null ? `${what} ${short} removed` : `${what} ${short} ${valueText(was)} → ${valueText(is)}`;
  });
  const more = others.length - shown.length;
  return more > 0 ? [...shown, `${counted(more, "more ref")}`] : shown;
}

function valueText(value: string): string {
  return /^[0-9a-f]+$/.test(value) ? value.slice(0, SHORT_HASH) : printable(value);
}

const OPERATIONS: readonly (readonly [prefix: string, word: string])[] = [
  [".git", "the file .git"],
  ["index", "index"],
  ["logs/refs/stash", "stash"],
  ["MERGE_HEAD", "merge"],
  ["rebase-merge/", "rebase"],
  ["rebase-apply/", "rebase"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
  ["BISECT_LOG", "bisect"],
];

function alsoTexts({ also }: GitChangeShape): string[] {
  const words = OPERATIONS.flatMap(([prefix, word]) => (also.some((name) => name.startsWith(prefix)) ? [word] : []));
  return [...new Set(words)];
}
