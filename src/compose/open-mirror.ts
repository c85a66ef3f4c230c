import { ChronicleError } from "../core/values/errors.ts";
import type { RootRecord } from "../core/records/workspace-record.ts";
import { FileWithheldContents } from "../replication/replica/withheld-contents.ts";
import { FileWitnessNotes } from "../replication/replica/witness-notes.ts";
import { answer } from "../engine/log/answer.ts";
import { workspaceRecord } from "../engine/log/own-record.ts";
import type { HistoryContext, StoreTasks } from "../engine/log/context.ts";
import { firstWorkspace } from "./marked-histories.ts";
import { mirrorParts, openMirrorFiles } from "./mirror-places.ts";
import { openHistory, type HowToOpen, type OpenedContext, type StoreParts } from "./open-context.ts";
import { retentionOf } from "../store/retention-files.ts";

/**
 * Opens a workspace's mirror of its origin's history for reading: as a workspace without a folder, with the origin's
 * id. A process that follows the origin goes on meanwhile. Throws `NOT_FOUND` if the workspace follows none, or nothing
 * has come yet.
 */
export async function openMirror(
  parts: StoreParts,
  id: string,
  how: HowToOpen & { readonly tasks: StoreTasks },
): Promise<OpenedContext> {
  const { backends, layout } = parts;
  const all = mirrorParts(backends, layout.workspace(id).upstream);
  if (all.length === 0) throw nothingThere("this workspace follows no other one");
  const files = await openMirrorFiles(parts, layout.workspace(id).upstream, all.at(-1));
  try {
    const workspaceId = files.anchor?.workspace ?? (await firstWorkspace(files.log));
    if (workspaceId === undefined) throw nothingThere("nothing has come of the origin's history yet");
    const history = { ...files, workspaceId };
    const retention = await retentionOf(backends.disk, parts.configFolder, { id, ...parts.retention });
    const tasks = { ...how.tasks, ...tasksOfCopy(parts, id) };
    const roots = await hostedRoots(history);
    return openHistory(parts, history, { ...how, roots, retention, tasks, readOnly: true, isCopy: true });
  } catch (error) {
    await files.close();
    throw error;
  }
}

function nothingThere(what: string): ChronicleError {
  return new ChronicleError("NOT_FOUND", what, {
    hint: "`chronicle sync status` shows what is synced, and how far it is",
  });
}

/** Returns the origin's roots, without its folders: they are on another machine. */
async function hostedRoots(history: HistoryContext): Promise<readonly RootRecord[]> {
  const { roots } = await answer(history, ({ damage }) =>
    workspaceRecord(history).catch((error: unknown) => {
      throw damage ?? error;
    }),
  );
  return roots.map(({ only: _only, ...root }) => ({ ...root, folder: "" }));
}

/**
 * Returns the tasks of a mirror. A witnessed contradiction is a fault of the copy: one of the two histories is not what
 * it was.
 */
function tasksOfCopy({ backends: { disk }, layout }: StoreParts, id: string): Partial<StoreTasks> {
  const { witness, withheld } = layout.workspace(id).upstream;
  return {
    fileFaults: () => {
      const note = new FileWitnessNotes(disk, witness).get();
      return note === undefined ? [] : [{ where: "witness.json", fault: `the origin contradicted it: ${note.reason}` }];
    },
    withheld: () => new FileWithheldContents(disk, withheld).list(),
    copy: async () => undefined,
  };
}
