import type { CreateOptions } from "../api/store-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { DEFAULT_LIMITS, EVERYTHING } from "../core/filter/filter.ts";
import { FORMAT_VERSION, type WorkspaceRecord } from "../core/records/workspace-record.ts";
import { isWorkspaceName } from "../core/records/workspace-name.ts";
import { beginHosted, type Seed } from "../engine/capture/begin-hosted.ts";
import type { ForkSource } from "../engine/undo/fork.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { listedWorkspace, type RootsCache } from "../store/roots-cache.ts";
import { storeTasks } from "./store-tasks.ts";
import { writeWorkspaceFile } from "../store/workspace-file.ts";
import { unfinishedName, withNames } from "../store/workspace-names.ts";
import { optional } from "../util/optional.ts";

/** The event of the workspace's own record. */
const FIRST_EVENT = 1;

/** The properties of a new hosted workspace. */
export interface NewWorkspace extends Pick<CreateOptions, "name"> {
  readonly source?: ForkSource | undefined;
}

/** Throws `USAGE` for an invalid name. */
export function checkName(name: string): void {
  if (isWorkspaceName(name)) return;
  throw new ChronicleError("USAGE", `${JSON.stringify(name.slice(0, 200))} cannot be the name of a workspace`, {
    hint: "use 1 to 128 letters, digits and . _ : @ -, beginning with a letter, a digit, _ or @",
  });
}

/**
 * Makes a workspace without a folder. It is built beside its place and renamed into it: after a crash it is whole, or
 * not there. Returns its id. Throws `REFUSED` for a name that is taken.
 */
export async function createWorkspace(parts: StoreParts, cache: RootsCache, wanted: NewWorkspace): Promise<string> {
  const { backends, layout } = parts;
  const { name, source } = wanted;
  return withNames(parts, async () => {
    if (name !== undefined) refuseTaken(await cache.list(), name);
    const id = backends.newId();
    const record = recordOf(wanted, new Date(backends.now()).toISOString());
    await build(parts, id, record, seedOf(source));
    backends.move(layout.workspace(unfinishedName(id)).folder, layout.workspace(id).folder);
    backends.disk.syncFolder(layout.workspaces);
    cache.note(listedWorkspace(id, record, FIRST_EVENT));
    return id;
  });
}

/** Refuses a name that another workspace has, or that is another one's id. */
function refuseTaken(all: readonly { readonly id: string; readonly name?: string }[], name: string): void {
  const taken = all.find((one) => one.name === name || one.id === name);
  if (taken === undefined) return;
  throw new ChronicleError("REFUSED", `there is a workspace ${JSON.stringify(name)} already`, {
    hint: "choose another name, or go on in that one",
    data: { name, workspace: taken.id },
  });
}

function recordOf({ name, source }: NewWorkspace, created: string): WorkspaceRecord {
  const only = { id: null, folder: "", filter: EVERYTHING, limits: DEFAULT_LIMITS };
  return {
    format: FORMAT_VERSION,
    created,
    roots: source?.roots ?? [only],
    device: "0",
    inode: "0",
    ...optional({ name }),
    ...(source?.protectedNames === undefined ? {} : { protectedNames: source.protectedNames }),
    ...(source === undefined ? {} : { from: source.origin }),
  };
}

function seedOf(source: ForkSource | undefined): Seed {
  if (source === undefined) return { entries: [] };
  const { entries, erasures, origin, label } = source;
  return { entries, erasures, message: `forked from ${origin.workspace} at ${label}` };
}

/** Builds the workspace where no other process looks: its index is only needed until the two events are written. */
async function build(parts: StoreParts, id: string, record: WorkspaceRecord, seed: Seed): Promise<void> {
  const { backends, layout } = parts;
  const aside: StoreParts = {
    ...parts,
    backends: { ...backends, openIndex: async () => backends.scratchIndex() },
    layout: { ...layout, workspace: (one) => layout.workspace(unfinishedName(one)) },
  };
  const files = aside.layout.workspace(id);
  backends.disk.makeFolder(files.folder, 0o700);
  writeWorkspaceFile(backends.disk, files.workspaceJson, id);
  const opened = await openContext(aside, id, { roots: record.roots, tasks: storeTasks(aside, id) });
  try {
    await beginHosted(opened.context, record, seed);
  } finally {
    await opened.close();
  }
}
