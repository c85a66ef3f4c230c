import type { RunShape } from "../../api/shapes.ts";
import { changeType } from "../../core/values/entry.ts";
import { foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import type { BackTo } from "../capture/seen-absent.ts";
import { SeenAbsent } from "../capture/seen-absent.ts";
import type { OwnChange } from "../facts/first-event.ts";
import type { OmittedPaths } from "../facts/omitted-changes.ts";
import type { Context } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";

const MOST_PATHS = 20;

type Asked = Pick<OwnChange, "path" | "before" | "after"> & { readonly back: BackTo };

/**
 * Returns notes for people on changed paths whose earlier state is not known: a path that is listed as created may have
 * existed before, or its recorded earlier state may be outdated. An undo leaves such a path as it is.
 */
export async function unknownNotes(context: Context, changes: Iterable<Asked>): Promise<string[]> {
  return notesOf(await doubtful(context, changes));
}

interface Doubtful {
  readonly path: WorkspacePath;
  /** The reason why the earlier state is not known, for people. */
  readonly doubt: string;
}

async function doubtful(context: Context, changes: Iterable<Asked>): Promise<Doubtful[]> {
  const seen = new SeenAbsent(context);
  const found: Doubtful[] = [];
  for (const { path, before, after, back } of changes) {
    const doubt = await seen.doubtOf({ path, before: after, after: before }, back);
    if (doubt !== undefined) found.push({ path, doubt });
  }
  return found;
}

function notesOf(found: readonly Doubtful[]): string[] {
  const notes = found.slice(0, MOST_PATHS).map(({ path, doubt }) => `${shownPath(path)}: ${doubt}`);
  const more = found.length - notes.length;
  return more === 0 ? notes : [...notes, `and ${more} more paths whose earlier state is not known`];
}

/** Paths that may have existed before a run, although the history has no earlier state of these paths. */
export interface UnknownBefore {
  readonly paths: readonly WorkspacePath[];
  readonly notes: readonly string[];
}

/**
 * Returns the changed paths of a run whose earlier state is not known, with the notes of `unknownNotes`. Looks only at
 * created paths that were omitted when the run began (`omitted`), or that lie in an omitted folder. No other path can
 * have existed without a record.
 */
export async function unknownBeforeRun(
  context: Context,
  changes: readonly OwnChange[],
  { fromSeq, omitted }: { readonly fromSeq: number; readonly omitted: OmittedPaths },
): Promise<UnknownBefore> {
  const mayBe = changes.filter(
    (change) =>
      changeType(change) === "created" && [change.path, ...foldersAbove(change.path)].some((path) => omitted.has(path)),
  );
  const back = { seqs: [fromSeq] };
  const found = await doubtful(
    context,
    mayBe.map((change) => ({ ...change, back: { ...back, action: change.first.action } })),
  );
  return { paths: found.map(({ path }) => path), notes: notesOf(found) };
}

/** Returns the fields of a run's answer that are about created paths which may have existed before. */
export function unknownShape({ paths, notes }: UnknownBefore): Pick<RunShape, "notes" | "newly_recorded"> {
  return paths.length === 0 ? {} : { notes: [...notes], newly_recorded: paths.map(shownPath) };
}
