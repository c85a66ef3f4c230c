import { ChronicleError } from "../../core/values/errors.ts";
import { isWithin, nameOf, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "./context.ts";
import { parseGivenPath } from "./given-path.ts";
import { shownPath } from "./shape.ts";

/**
 * Returns the paths that a caller named, each of which must be known: it (or something beneath it) was once recorded,
 * or it exists now and would be recorded. Throws `NOT_FOUND` for any other path, with the rule that excludes it, or
 * with paths of the same name: "no difference" would suggest that it had been compared.
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
 * True if the path, or anything beneath it, was ever recorded. A folder on the way to a written file has no entry of
 * its own.
 */
async function isRecorded({ index }: Context, path: WorkspacePath): Promise<boolean> {
  if ((await index.iterations(path)).length > 0) return true;
  const { seq } = await index.head();
  for await (const rows of index.entriesAt(seq, path)) if (rows.length > 0) return true;
  return (await index.touched(-1, seq)).some((one) => isWithin(one, path));
}

function excludedPath(path: WorkspacePath, rule: readonly (string | undefined)[]): ChronicleError {
  const shown = shownPath(path);
  const words = rule.filter((word) => word !== undefined).join(" ");
  return new ChronicleError("NOT_FOUND", `${JSON.stringify(shown)} is excluded and was never recorded: ${words}`, {
    hint: "excluded files are never recorded or touched; `chronicle config forceInclude NAME` takes one in from now on",
    data: { path: shown, excluded: words },
  });
}

/** Returns the error for a path that was never recorded, with recorded paths of the same name. */
export async function unknownPath(context: Context, path: WorkspacePath): Promise<ChronicleError> {
  const candidates = (await context.index.pathsNamed(nameOf(path))).map(shownPath);
  return new ChronicleError("NOT_FOUND", `${JSON.stringify(shownPath(path))} was never recorded`, {
    hint:
      candidates.length > 0
        ? `recorded with that name: ${candidates.slice(0, 5).join(", ")}`
        : "`chronicle explain PATH` says whether it would be; `chronicle snapshot` records what is there now",
    data: { path: shownPath(path), candidates },
  });
}
