import { posix } from "node:path";
import {
  parsePath,
  pathFromBytes,
  pathInRoot,
  type WorkspacePath,
  splitRoot,
  isWithin,
  nameOf,
} from "../../core/values/path.ts";
import { sortTargets, type ActionTargets, type Target } from "../../core/records/action-targets.ts";
import type { Context } from "./context.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { shownPath } from "./shape.ts";

/**
 * Parses the paths that a caller named, and refuses unknown ones. A path is known in two cases: the path, or something
 * beneath it, was ever recorded; or the path exists now and would be recorded. Throws `NOT_FOUND` for any other path,
 * because an empty answer would look as if the path were known and had no changes. The error names the rule that
 * excludes the path, or recorded paths that have the same name.
 */
export async function knownPaths(
  context: Context,
  given: readonly string[] | undefined,
): Promise<readonly WorkspacePath[] | undefined> {
  const paths = given?.map(parseGivenPath);
  for (const path of paths ?? []) {
    if (splitRoot(path).path === "" || (await isRecorded(context, path))) continue;
    const { tracked, rule, pattern, source } = await context.worktree.explain(path);
    if (!tracked) throw excludedPath(path, [rule, pattern, source === undefined ? undefined : `(${source})`]);
    if ((await context.worktree.inspect(path)) === undefined) throw await unknownPath(context, path);
  }
  return paths;
}

/**
 * True if the path, or a path beneath it, was ever recorded. A path without an entry of its own can be a folder in
 * which files were recorded.
 */
export async function isRecorded({ index }: Context, path: WorkspacePath): Promise<boolean> {
  if ((await index.iterations(path)).length > 0) return true;
  const { seq } = await index.head();
  for await (const rows of index.entriesAt(seq, path)) if (rows.length > 0) return true;
  return (await index.touched(-1, seq)).some((one) => isWithin(one, path));
}

function excludedPath(path: WorkspacePath, rule: readonly (string | undefined)[]): ChronicleError {
  const shown = shownPath(path);
  const words = rule.filter((word) => word !== undefined).join(" ");
  return new ChronicleError("NOT_FOUND", `${JSON.stringify(shown)} is excluded and was never recorded: ${words}`, {
    hint: "excluded files are not recorded; to record this file from now on, add its name to the list `forceInclude` (`chronicle config forceInclude` shows the list)",
    data: { path: shown, excluded: words },
  });
}

export async function unknownPath(context: Context, path: WorkspacePath): Promise<ChronicleError> {
  const candidates = (await context.index.pathsNamed(nameOf(path))).map(shownPath);
  return new ChronicleError("NOT_FOUND", `${JSON.stringify(shownPath(path))} was never recorded`, {
    hint:
      candidates.length > 0
        ? `recorded with that name: ${candidates.slice(0, 5).join(", ")}`
        : "`chronicle explain PATH` says whether a capture would record the path; `chronicle snapshot` records the present state",
    data: { path: shownPath(path), candidates },
  });
}

/**
 * Parses a path that a caller gives. The path is relative to the first root, or has the form `@<root id>:<path>`. A
 * trailing slash is allowed, and `.` is the root. A name that is not UTF-8 is given as `base64:<bytes>`. A file whose
 * own name begins with `base64:` is given as `./base64:…`. Throws `PATH_INVALID` for an invalid path.
 */
export function parseGivenPath(text: string): WorkspacePath {
  const match = /^@([a-z0-9-]+):(.*)$/s.exec(text);
  const given = match?.[2] ?? text;
  if (given.startsWith("base64:")) return pathInRoot(match?.[1], pathFromBytes(Buffer.from(given.slice(7), "base64")));
  const inner = given.replace(/\/+$/, "").replace(/^(?:\.\/)+/, "");
  return pathInRoot(match?.[1], parsePath(inner === "." ? "" : inner));
}

type Touched = Exclude<ActionTargets, { readonly kind: "none" }>;

/**
 * Resolves the targets that a tool names to the paths that the tool would reach. Symbolic links in the folders of a
 * path are resolved. If a path is itself a link, both the link and its target become targets. A path that leads into
 * the workspace through a link counts as a path of the workspace. The target of a link that leads out of the workspace
 * counts as an outside path.
 *
 * The result may be outdated if somebody replaces a link later. No wrong file is kept aside in that case, because files
 * to keep aside are opened without following links.
 */
export function resolveTargets(context: Context, targets: Touched): Touched {
  const { roots } = context.worktree;
  const deep = new Set(targets.outsideDeep);
  const named: Target[] = [
    ...targets.paths.map((path) => ({ path: absoluteOf(context, path), deep: false })),
    ...targets.outside.map((path) => ({ path, deep: deep.has(path) })),
  ];
  const reached = named.map((one) => ({ one, real: context.outside.resolve(one.path) }));
  if (reached.every(({ one, real }) => real.name === one.path && real.end === one.path)) return targets;
  const all = reached.flatMap(({ one, real }): Target[] => {
    const target = { path: real.name, deep: one.deep };
    return real.end === real.name ? [target] : [target, { path: real.end, deep: false }];
  });
  const { wholeWorkspace, ...sorted } = sortTargets(all, { roots });
  const swept = [...(targets.swept ?? []), ...(sorted.swept ?? [])];
  return { kind: wholeWorkspace ? "workspace" : targets.kind, ...sorted, ...(swept.length === 0 ? {} : { swept }) };
}

export function absoluteOf({ worktree }: Context, path: WorkspacePath): string {
  const { root, path: inner } = splitRoot(path);
  const folder = worktree.roots.find((one) => one.id === root)?.folder ?? "/";
  return posix.join(folder, inner);
}
