import { ChronicleError } from "../../core/values/errors.ts";
import { isWithin, nameOf, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "./context.ts";
import { parseGivenPath } from "./given-path.ts";
import { shownPath } from "./shape.ts";

/**
 * The paths that a caller named, of which something can be said: each was recorded once (or something beneath it), or is there now
 * and would be.
 * Throws `NOT_FOUND` for any other one, with the rule that leaves it out, or paths of the same name: "no difference"
 * would sound as if it had been looked at.
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

/** Was the path, or anything beneath it, ever recorded? A folder on the way to a file that was written has no entry of its own. */
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

/** The error for a path that was never recorded, with recorded paths of the same name. */
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
