import type {
  ChangeShape,
  CoverageShape,
  GitChangeShape,
  OmissionShape,
  RestoreShape,
  SkippedShape,
} from "../../api/shapes.ts";
import { changeType, type Change } from "../../core/values/entry.ts";
import { quotePath } from "../../core/shell/quote-command.ts";
import type { GitChange, GitItem } from "../../core/records/git-record.ts";
import type { Coverage, Omission } from "../../core/records/coverage.ts";
import {
  beginsLikeMark,
  displayPath,
  isUtf8Path,
  pathToBytes,
  splitRoot,
  textMark,
  type WorkspacePath,
} from "../../core/values/path.ts";
import type { ApplyReport, BlockedPath } from "../../worktree/worktree.ts";
import { optional } from "../../util/optional.ts";

/** Converts values of the engine to shapes of the API. */

/**
 * Returns the exact bytes of a path if its shown form (`shownPath`) is escaped or begins with `./`. Returns `{}` for
 * any other path.
 */
export function exactPath(path: WorkspacePath): { path_b64?: string } {
  const { root, path: inner } = splitRoot(path);
  const isExact = isUtf8Path(inner) && !beginsLikeMark(root, inner);
  return isExact ? {} : { path_b64: pathToBytes(inner).toString("base64") };
}

/**
 * Returns a path as JSON shows it. A path that is not UTF-8 is escaped. Any other path stays as it is, with a prefix in
 * two cases: `@<root>:` if the path is in a further root, and `./` if it begins like such a prefix (see `textMark`).
 */
export function shownPath(path: WorkspacePath): string {
  const { root, path: inner } = splitRoot(path);
  if (!isUtf8Path(inner)) return displayPath(path);
  return textMark(root, inner) + inner;
}

/** Returns the text that `parseGivenPath` parses to exactly this path. */
export function givenPath(path: WorkspacePath): string {
  const { root, path: inner } = splitRoot(path);
  const at = root === undefined ? "" : `@${root}:`;
  if (!isUtf8Path(inner)) return `${at}base64:${pathToBytes(inner).toString("base64")}`;
  return /^(?:base64:|@|\.\/)/.test(inner) ? `${at}./${inner}` : at + inner;
}

/**
 * Returns a path as an argument of a `chronicle` command, quoted for a shell. A path in the first root gets the prefix
 * `:/`, so that the argument names the same path in every current folder.
 */
export function pathArgument(path: WorkspacePath): string {
  return quotePath(splitRoot(path).root === undefined ? `:/${givenPath(path)}` : givenPath(path));
}

/** The maximum number of refs, and of other items, of one repository that an answer lists. */
const MOST_REFS = 1_000;

/** Returns the changes of a repository as answers show them, which is without contents. */
export function gitShape({ path, before, after, items }: GitChange): GitChangeShape {
  const [refs, others] = [items.filter(({ name }) => name.startsWith("refs/")), items.filter(isOther)];
  return {
    path: shownPath(path),
    ...exactPath(path),
    head_before: { ...before },
    head_after: { ...after },
    refs: refs
      .slice(0, MOST_REFS)
      .map((item) => ({ name: item.name, before: item.before ?? null, after: item.after ?? null })),
    also: others.map(({ name }) => name).slice(0, MOST_REFS),
  };
}

function isOther({ name }: GitItem): boolean {
  return name !== "HEAD" && !name.startsWith("refs/");
}

export function changeShape(change: Change): ChangeShape {
  const { before, after, path } = change;
  return {
    path: shownPath(path),
    ...exactPath(path),
    change_type: changeType(change),
    kind: (after ?? before)?.kind ?? "file",
    before_hash: before?.hash ?? "",
    after_hash: after?.hash ?? "",
    before_size: before?.size ?? 0,
    after_size: after?.size ?? 0,
    size_delta: (after?.size ?? 0) - (before?.size ?? 0),
    ...(before === undefined ? {} : { before_permissions: before.mode }),
    ...(after === undefined ? {} : { after_permissions: after.mode }),
  };
}

export function omissionShape(one: Omission): OmissionShape {
  return { path: shownPath(one.path), reason: one.reason, ...optional({ detail: one.detail }) };
}

export function coverageShape(coverage: Coverage): CoverageShape {
  const { complete, omitted, unapplied } = coverage;
  const rules =
    unapplied === undefined ? {} : { unapplied: unapplied.map(({ source, detail }) => ({ source, detail })) };
  return { complete, omitted: omitted.map(omissionShape), ...rules };
}

export function skippedShape(one: Pick<BlockedPath, "path" | "detail"> & { readonly reason: string }): SkippedShape {
  return { path: shownPath(one.path), reason: one.reason, detail: one.detail };
}

/**
 * Returns the shape of a conflict: the path of a file that somebody wrote during an apply, and the path of the kept
 * copy.
 */
export function conflictShape(one: ApplyReport["conflicts"][number]): RestoreShape["conflicts"][number] {
  return { path: shownPath(one.path), kept_at: shownPath(one.keptAt) };
}
