import type { RecentItem, RecentPath } from "../../api/recent-api.ts";
import { type Change, changeType } from "../../core/values/entry.ts";
import { comparePaths, isRoot, parentOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import type { Renames } from "../../core/tree/renames.ts";
import { optional } from "../../util/optional.ts";
import type { Context } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";
import { countedLines, isLarge, isOfText } from "../read/line-counts.ts";
import { Patches } from "../read/patches.ts";
import { RenameBudget, renamesAmong } from "../read/renames.ts";
import type { OwnPaths, RecentLine } from "./recent-line.ts";

/**
 * The maximum number of changed paths of one line that are compared with their earlier states. If a line has more
 * paths, how each path changed is not shown.
 */
const MOST_COMPARED = 1_000;
/** The maximum number of such paths for all lines of a page. */
const MOST_COMPARED_ON_PAGE = 3_000;

/**
 * The maximum number of files of one line of the list in which added and removed lines are counted. For more files, no
 * numbers are shown.
 */
const MOST_FILES = 20;
/** The maximum number of such files for all lines of a page. */
const MOST_FILES_ON_PAGE = 60;

/** The maximum number of paths and folders that a line names. */
const MOST_NAMED = 6;

type PathsPart = Pick<RecentItem, "changed" | "paths" | "more_paths" | "lines">;

/** Describes the changed paths of the lines of one page. Limits for the whole page bound the time that this takes. */
export class PagePaths {
  readonly #context: Context;
  readonly #patches: Patches;
  readonly #isWithRenames: boolean;
  readonly #similar = new RenameBudget({ files: 40, bytes: 2 * 1024 ** 2, steps: 200_000 });
  #comparable = MOST_COMPARED_ON_PAGE;
  #countable = MOST_FILES_ON_PAGE;

  /** `isWithRenames`: true to list a renamed file as one path. */
  constructor(context: Context, isWithRenames: boolean) {
    this.#context = context;
    this.#patches = new Patches(context);
    this.#isWithRenames = isWithRenames;
  }

  async of(line: RecentLine): Promise<PathsPart> {
    const own = await ownPathsOf(this.#context, line);
    if (own.size > Math.min(MOST_COMPARED, this.#comparable)) {
      return { changed: line.changed, ...named([...own.keys()].map((path) => ({ path, change: "several" as const }))) };
    }
    this.#comparable -= own.size;
    const changes = await this.#netChanges(own);
    const renames = await this.#renamesAmong(changes);
    const shown = withRenames(withoutFolders(changes), renames);
    const lines = await this.#linesOf(changes, renames);
    const changed = line.own === undefined || line.isCounted === true ? line.changed : changes.length;
    return { changed, ...named(shown), ...(lines === undefined ? {} : { lines }) };
  }

  async #netChanges(own: OwnPaths): Promise<Change[]> {
    const { index } = this.#context;
    const changes: Change[] = [];
    for (const [path, { first, last }] of own) {
      const [before, after] = [await index.iterationAt(path, first - 1), await index.iterationAt(path, last)];
      const change = changeBetween(path, before?.entry, after?.entry);
      if (change !== undefined) changes.push(change);
    }
    return changes.sort((a, b) => comparePaths(a.path, b.path));
  }

  /** Returns the renames among changes. The search for similar contents has one budget for the whole page. */
  async #renamesAmong(changes: readonly Change[]): Promise<Renames> {
    if (!this.#isWithRenames) return new Map();
    return renamesAmong(this.#context, changes, this.#similar);
  }

  /**
   * Counts added and removed lines. Returns `undefined` if no file has lines to count, or if some file cannot be
   * counted quickly.
   */
  async #linesOf(changes: readonly Change[], renames: Renames): Promise<RecentItem["lines"]> {
    const gone = new Set<Change>([...renames.values()].map((one) => one.gone));
    const whole = changes.filter((one) => !gone.has(one));
    const files = whole
      .map((one) => ({ ...one, before: one.before ?? renames.get(one.path)?.gone.before }))
      .filter(isOfText);
    if (files.length > Math.min(MOST_FILES, this.#countable) || files.some(isLarge)) return undefined;
    this.#countable -= files.length;
    const lines = { added: 0, removed: 0 };
    let counted = 0;
    for (const change of files) {
      const part = await countedLines(this.#patches, change);
      if (part === undefined) return undefined;
      if (part === "none") continue;
      counted += 1;
      lines.added += part.added;
      lines.removed += part.removed;
    }
    return counted === 0 ? undefined : lines;
  }
}

/** Returns the paths that a line's work changed. If the line has no `own`, reads them from the index. */
export async function ownPathsOf(context: Context, line: RecentLine): Promise<OwnPaths> {
  if (line.own !== undefined) return line.own;
  const paths = await context.index.touched(line.fromSeq, line.seq);
  return new Map(paths.map((path) => [path, { first: line.fromSeq + 1, last: line.seq }]));
}

/** A changed path, before it is shown. */
interface NamedPath {
  readonly path: WorkspacePath;
  readonly change: RecentPath["change"];
  readonly from?: WorkspacePath;
  readonly similarity?: number;
}

/** Leaves out changed folders that directly contain another changed path. */
function withoutFolders(changes: readonly Change[]): Change[] {
  const around = new Set(changes.map(({ path }) => parentOf(path)));
  const isFolder = ({ before, after }: Change): boolean => (after ?? before)?.kind === "dir";
  return changes.filter((one) => !isFolder(one) || !around.has(one.path));
}

/** Joins the deletion and the creation of a renamed file into one path of the list. */
function withRenames(changes: readonly Change[], renames: Renames): NamedPath[] {
  const gone = new Set<Change>([...renames.values()].map((one) => one.gone));
  return changes.flatMap((change): NamedPath[] => {
    const { path } = change;
    const rename = renames.get(path);
    if (rename !== undefined)
      return [{ path, change: "renamed", from: rename.gone.path, similarity: rename.similarity }];
    return gone.has(change) ? [] : [{ path, change: changeType(change) }];
  });
}

/** Lists the paths. If there are too many, lists folders that contain them instead. */
function named(all: readonly NamedPath[]): Pick<RecentItem, "paths" | "more_paths"> {
  const groups = all.length <= MOST_NAMED ? all.map((one) => [one]) : groupsOf(all);
  const shown = groups.slice(0, MOST_NAMED);
  const rest = groups.slice(MOST_NAMED).reduce((sum, one) => sum + one.length, 0);
  return { paths: shown.map(shapeOf), ...(rest === 0 ? {} : { more_paths: rest }) };
}

/**
 * Groups paths by their first component beneath the folder that contains all of them. If there are too many groups,
 * puts all paths into one group.
 */
function groupsOf(all: readonly NamedPath[]): NamedPath[][] {
  const common = commonFolder(all.map(({ path }) => path));
  const depth = common === undefined ? 0 : partsOf(common).length;
  const groups = [
    ...Map.groupBy(all, ({ path }) =>
      partsOf(path)
        .slice(0, depth + 1)
        .join("/"),
    ).values(),
  ];
  return groups.length <= MOST_NAMED || common === undefined ? groups : [[...all]];
}

function shapeOf(group: readonly NamedPath[]): RecentPath {
  const [only, second] = group;
  if (only === undefined || second === undefined) {
    const { path = "" as WorkspacePath, change = "several", from, similarity } = only ?? {};
    const earlier = from === undefined ? {} : { from: shownPath(from), ...optional({ similarity }) };
    return { path: shownPath(path), change, ...earlier };
  }
  const folder = commonFolder(group.map(({ path }) => path)) ?? parentOf(only.path);
  const kinds = new Set(group.map(({ change }) => change));
  const change = kinds.size === 1 ? only.change : "several";
  return { path: shownPath(folder), change, files: group.length };
}

/** Returns the deepest folder that contains all paths; `undefined` if only a root contains all of them. */
function commonFolder(paths: readonly WorkspacePath[]): WorkspacePath | undefined {
  const [first] = paths;
  if (first === undefined) return undefined;
  let folder = parentOf(first);
  for (const path of paths) while (!isRoot(folder) && !path.startsWith(`${folder}/`)) folder = parentOf(folder);
  const isCommon = folder !== ROOT && paths.every((path) => path.startsWith(`${folder}/`));
  return isCommon ? folder : undefined;
}

function partsOf(path: WorkspacePath): string[] {
  return path.split("/");
}
