import type { ChangesOptions, Selection } from "../../api/action-api.ts";
import type { ChangesShape } from "../../api/action-shapes.ts";
import type { ChangeShape } from "../../api/shapes.ts";
import { type Change, sameEntry } from "../../core/values/entry.ts";
import { composeGit, type GitChange } from "../../core/records/git-record.ts";
import { idOfGit, loggedGit } from "../capture/git-work.ts";
import { backTo } from "../capture/seen-absent.ts";
import { actionShapes } from "../facts/action-shapes.ts";
import type { LoggedAction } from "../facts/actions.ts";
import { eventsOfWork, groupsOf, ownChanges, type PathGroups, type Work } from "../facts/own-work.ts";
import { privatesGivenUp } from "../facts/pruning.ts";
import { actionsEver } from "../facts/transactions.ts";
import type { Context } from "../log/context.ts";
import { changeShape, gitShape, shownPath } from "../log/shape.ts";
import { lineParts } from "../read/change-details.ts";
import { Patches } from "../read/patches.ts";
import { renameParts, renamesAmong } from "../read/renames.ts";
import { UndoneParts } from "./how-undone.ts";
import { compactedAway, selectorOf, workOf } from "./selection.ts";
import { withoutSightings } from "./without-sightings.ts";
import { unknownNotes } from "./unknown-before.ts";

/**
 * Returns the net changes of the selected work, without the changes of others (see `ownChanges`). The default selection
 * is the last turn. Throws the errors of `workOf`, and `PRUNED` if all events of the work were compacted away.
 */
export async function changesOfSelection(
  context: Context,
  selection: Selection,
  options: ChangesOptions = {},
): Promise<ChangesShape> {
  const asked = selectorOf(selection) === undefined ? { turn: "last" } : selection;
  const work = await workOf(context, asked);
  const ambiguous = new Set<string>();
  const all = await eventsOfWork(context, {
    ...work,
    isOwn: (record, path, seq) => {
      const isOwn = work.isOwn(record, path, seq);
      if (!isOwn && record.candidates?.some((one) => work.mayBe.has(one)) === true) ambiguous.add(shownPath(path));
      return isOwn;
    },
  });
  const own = await withoutSightings(context, work, all);
  const groups = await groupsOf(context, own);
  const changes = await detailed(context, [...ownChanges(groups)], options);
  const { lost } = work;
  // If all events of the work were compacted away, an empty list would be wrong.
  if (lost !== undefined && changes.length + ambiguous.size === 0) throw compactedAway(lost.what, lost.before);
  const git = await gitOf(context, work);
  const notes = [
    ...unlistedNotes(work),
    ...(await unknownOf(context, groups, work)),
    ...git.notes,
    ...(await givenUpNotes(context, work)),
  ];
  const actions = work.everything === true ? await actionsAmong(context, own) : work.actions;
  return {
    selection: work.label,
    actions: await shapesOf(context, actions),
    undone: await (await UndoneParts.of(context)).ofEvents(own),
    changes,
    ...(git.changes.length === 0 ? {} : { git: git.changes.map(gitShape) }),
    ambiguous: [...ambiguous],
    ...(notes.length === 0 ? {} : { notes }),
  };
}

/** Returns notes on files that were kept aside for the work, but were given up before their seven days were over. */
async function givenUpNotes(context: Context, { keepers = [] }: Work): Promise<string[]> {
  const found = new Set<string>();
  for (const { omittedChanges, lastSeq } of keepers) {
    if (!omittedChanges.some(({ kept }) => kept)) continue;
    const why = await privatesGivenUp(context, lastSeq);
    if (why !== undefined) found.add(`the files that were kept aside were ${why}; ${BACK_WITHOUT}`);
  }
  return [...found];
}

const BACK_WITHOUT =
  "an undo brings these files back only if no `gc` has freed them yet; otherwise, it brings back only recorded files";

/** Returns the net changes that the work made to the state of git, and notes on problems with recording them. */
async function gitOf(
  context: Context,
  { keepers = [] }: Work,
): Promise<{ readonly changes: readonly GitChange[]; readonly notes: readonly string[] }> {
  const ids = new Set(keepers.filter(({ changedGit }) => changedGit === true).map(({ id }) => id));
  if (ids.size === 0) return { changes: [], notes: [] };
  const all = await loggedGit(context, (row) => ids.has(idOfGit(row)));
  return {
    changes: all.reduce<readonly GitChange[]>((sum, { changes }) => composeGit(sum, changes), []),
    notes: [...new Set(all.flatMap(({ problem }) => problem ?? []))],
  };
}

/**
 * Returns the shapes of changes with the requested details. The details are patches and, for renamed files, the old or
 * new path.
 */
async function detailed(
  context: Context,
  changes: readonly Change[],
  { patch = false, renames = false }: ChangesOptions,
): Promise<ChangeShape[]> {
  const patches = patch ? new Patches(context) : undefined;
  const found = renames ? await renamesAmong(context, changes) : undefined;
  const partOf = await renameParts(found ?? new Map(), patches);
  const linesOf = found === undefined ? () => ({}) : await lineParts(context, { changes, renames: found });
  const shapes: ChangeShape[] = [];
  for (const change of changes)
    shapes.push({ ...changeShape(change), ...(await patches?.ofKept(change)), ...partOf(change), ...linesOf(change) });
  return shapes;
}

function unlistedNotes({ lost, keepers = [] }: Work): string[] {
  const unrecorded = keepers.flatMap(({ omittedChanges }) => omittedChanges.filter((one) => one.recorded === true));
  const paths = [...new Set(unrecorded.map(({ path }) => shownPath(path)))];
  const more = paths.length > MOST_PATHS ? ` and ${paths.length - MOST_PATHS} more` : "";
  const named = `${paths.slice(0, MOST_PATHS).join(", ")}${more}`;
  return [
    ...(lost === undefined
      ? []
      : [`${lost.what} before event ${lost.before} is not listed, because a compaction removed it`]),
    ...(paths.length === 0
      ? []
      : [`the new states of these paths could not be recorded, and are not listed: ${named}`]),
  ];
}

function unknownOf(context: Context, paths: readonly PathGroups[], { back }: Pick<Work, "back">): Promise<string[]> {
  const asked = paths.flatMap(({ path, groups, first }) => {
    const { before, after } = { before: groups.at(0)?.before, after: groups.at(-1)?.after };
    return sameEntry(before, after) ? [] : [{ path, before, after, back: backTo(first, back) }];
  });
  return unknownNotes(context, asked);
}

const MOST_PATHS = 20;

async function actionsAmong(
  context: Context,
  own: Awaited<ReturnType<typeof eventsOfWork>>,
): Promise<readonly LoggedAction[]> {
  return (await actionsEver(context)).filter((one) => own.ids.has(one.id));
}

async function shapesOf(context: Context, actions: readonly LoggedAction[]): Promise<ChangesShape["actions"]> {
  return actions.length === 0 ? [] : actionShapes(context, actions);
}
