import { findCollisions, type NameRules } from "../../../core/tree/find-collisions.ts";
import { parentOf, type WorkspacePath, displayPath, foldersAbove, isWithin } from "../../../core/values/path.ts";
import type { IndexStore } from "../../../storage/index-store.ts";
import { createdPaths, type SettledDecision } from "../ground/decide-cycle.ts";
import type { Entry } from "../../../core/values/entry.ts";
import type { IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import { both, settle } from "../../../core/tree/reconcile.ts";
import type { EditorFiles } from "../paths/editor-files.ts";
import type { FolderJournal } from "./folder-journal.ts";
import type { NotHeldPaths } from "../paths/not-held-paths.ts";
import { outermost, type FileHistory } from "./read-cycle.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

interface HoldGround {
  readonly mirror: Pick<FileHistory, "entriesAt">;
  /** The origin's event as of which the mirror is read. */
  readonly head: number;
  readonly rules: ReplicatedPaths;
  /**
   * `again` has the paths to check, besides the paths of `conflicts`. A folder is therefore checked only if the origin
   * has not accepted the folder's deletion, or if the folder is already in conflict. `refused` has the paths whose last
   * change the origin has refused.
   */
  readonly journal: Pick<FolderJournal, "again" | "refused">;
  readonly conflicts: readonly IdentifiedConflict[];
  readonly editorFiles?: Pick<EditorFiles, "leftOut"> | undefined;
  /** The entries that stay at the origin because the folder's disk cannot hold them. Default: there are none. */
  readonly notHeld?: Pick<NotHeldPaths, "leftOut"> | undefined;
}

/**
 * Changes the decisions so that no folder is deleted at the origin while an entry stays in the folder there. Otherwise,
 * the folder's deletion would be sent again and again. An entry stays at the origin if its deletion was refused or is
 * never sent. The deletion of an entry is never sent in four cases: the sync excludes the entry, the sync does not
 * write the entry back, the entry is an editor's own file, or the folder's disk cannot hold the entry.
 *
 * A folder that stays at the origin is a conflict until the folder is empty at the origin, or a person restores the
 * folder locally. In the mode `two-way-resolved`, the folder is restored locally without a conflict.
 */
export async function holdFolders(
  decisions: readonly SettledDecision[],
  ground: HoldGround,
): Promise<readonly SettledDecision[]> {
  const going = new Map(decisions.filter(isGoing).map((one) => [one.path, one]));
  const suspects = [...ground.journal.again, ...ground.conflicts.map(({ record }) => record.path)];
  const tops = outermost(suspects.filter((path) => isFolder(going.get(path))));
  if (tops.length === 0) return decisions;
  const held = new Map<WorkspacePath, WorkspacePath>();
  for (const top of tops) {
    for await (const rows of ground.mirror.entriesAt(ground.head, top)) {
      for (const { path, entry } of rows) {
        if (entry !== undefined && path !== top && stays(entry, going, ground)) note(held, path, top);
      }
    }
  }
  const isTop = new Set(tops);
  return decisions.map((one) => {
    const holder = held.get(one.path);
    if (holder === undefined || !isFolder(going.get(one.path))) return one;
    return heldDecision(one, { holder, isTop: isTop.has(one.path), rules: ground.rules });
  });
}

/** True if the origin's entry would be deleted or become another kind of entry. */
function isGoing({ sides, decision }: SettledDecision): boolean {
  return sides.remote !== undefined && decision.remote?.kind !== sides.remote.kind;
}

function isFolder(one: SettledDecision | undefined): boolean {
  return one?.sides.remote?.kind === "dir";
}

/** True if the entry stays at the origin even if it is deleted in the folder. */
function stays(
  entry: Entry,
  going: ReadonlyMap<WorkspacePath, SettledDecision>,
  { rules, journal, editorFiles, notHeld }: HoldGround,
): boolean {
  const { path } = entry;
  if (!rules.isShared(path, entry.kind === "dir") || editorFiles?.leftOut.has(path) === true) return true;
  if (notHeld?.leftOut.has(path) === true) return true;
  return going.has(path) && (!rules.goesBack(path, entry) || journal.refused.has(path));
}

function note(held: Map<WorkspacePath, WorkspacePath>, path: WorkspacePath, top: WorkspacePath): void {
  for (const folder of foldersAbove(path)) {
    if (!isWithin(folder, top) || held.has(folder)) break;
    held.set(folder, path);
  }
}

interface Holding {
  readonly holder: WorkspacePath;
  readonly isTop: boolean;
  readonly rules: ReplicatedPaths;
}

/**
 * Returns the decision for a folder that stays at the origin. Only the topmost such folder becomes a conflict. The
 * folders beneath are settled together with the topmost folder.
 */
function heldDecision(one: SettledDecision, { holder, isTop, rules }: Holding): SettledDecision {
  const { sides } = one;
  if (rules.mode === "two-way-resolved") return { ...one, decision: settle(sides, both(sides.remote)) };
  const stay = settle(sides, sides);
  const heldBy = `at the origin, the folder holds ${JSON.stringify(displayPath(holder))}, which is not deleted there`;
  if (!isTop) return { ...one, decision: { ...stay, action: "held" }, heldBy };
  return { ...one, decision: { ...stay, action: "conflict" }, heldBy };
}

interface NameGround {
  /** `undefined` if the folder's file system distinguishes all names. */
  readonly rules: NameRules | undefined;
  readonly index: Pick<IndexStore, "childrenAt">;
  readonly local: number;
}

/**
 * Returns the new paths that cannot be created, because their names collide with names of present paths or of other new
 * paths. Of new paths that collide only with each other, the first one can be created.
 */
export async function findHeldNames(
  decisions: readonly SettledDecision[],
  { rules, index, local }: NameGround,
): Promise<WorkspacePath[]> {
  const created = createdPaths(decisions);
  if (rules === undefined || created.length === 0) return [];
  const gone = new Set(decisions.filter((one) => one.decision.local === undefined).map(({ path }) => path));
  const present = new Set<WorkspacePath>();
  for (const folder of new Set(created.map(parentOf))) {
    for (const { path } of await index.childrenAt(folder, local)) if (!gone.has(path)) present.add(path);
  }
  const isNew = new Set(created);
  return findCollisions([...present, ...created], rules).flatMap((group) => {
    const stays = group.find((path) => !isNew.has(path)) ?? group[0];
    return group.filter((path) => path !== stays && isNew.has(path));
  });
}
