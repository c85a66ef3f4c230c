import { parseLine } from "../core/log/chain.ts";
import type { Head } from "../core/values/event.ts";
import type { HistoryAnchor } from "../core/log/history-anchor.ts";
import type { EventLog } from "../storage/event-log.ts";
import type { WorkspaceLayout } from "../storage/layout.ts";
import { refuseOtherWorkspace } from "../store/workspace-file.ts";
import { mirrorParts, openMirrorFiles } from "./mirror-places.ts";
import { type StoreParts, openHistory, type HowToOpen, type OpenedContext } from "./open-context.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { RootRecord } from "../core/records/workspace-record.ts";
import { FileWithheldContents } from "../replication/replica/withheld-contents.ts";
import { FileWitnessNotes } from "../replication/replica/witness-notes.ts";
import { answer } from "../engine/log/answer.ts";
import { workspaceRecord } from "../engine/log/own-record.ts";
import type { HistoryContext, StoreTasks } from "../engine/log/context.ts";
import { retentionOf } from "../store/retention-files.ts";

/**
 * Opens a workspace's mirror of its origin's history for reading. The mirror is opened like a hosted workspace, with
 * the id of the origin's workspace. Another process may follow the origin at the same time. Throws `NOT_FOUND` if the
 * workspace follows no origin, or has received nothing yet.
 */
export async function openMirror(
  parts: StoreParts,
  id: string,
  how: HowToOpen & { readonly tasks: StoreTasks },
): Promise<OpenedContext> {
  const { backends, layout } = parts;
  const all = mirrorParts(backends, layout.workspace(id).upstream);
  if (all.length === 0) throw nothingThere("this workspace follows no origin");
  const files = await openMirrorFiles(parts, layout.workspace(id).upstream, all.at(-1));
  try {
    const workspaceId = files.anchor?.workspace ?? (await firstWorkspace(files.log));
    if (workspaceId === undefined) throw nothingThere("nothing of the origin's history has been received yet");
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
    hint: "`chronicle sync status` shows the syncs and their progress",
  });
}

/** Returns the origin's roots without their folders, because the folders may be on another machine. */
async function hostedRoots(history: HistoryContext): Promise<readonly RootRecord[]> {
  const { roots } = await answer(history, ({ damage }) =>
    workspaceRecord(history).catch((error: unknown) => {
      throw damage ?? error;
    }),
  );
  return roots.map(({ only: _only, ...root }) => ({ ...root, folder: "" }));
}

/**
 * Returns those tasks of a store that a mirror does differently. A contradiction in the witness's note counts as a
 * fault of the mirror.
 */
function tasksOfCopy({ backends: { disk }, layout }: StoreParts, id: string): Partial<StoreTasks> {
  const { witness, withheld } = layout.workspace(id).upstream;
  return {
    fileFaults: () => {
      const note = new FileWitnessNotes(disk, witness).get();
      return note === undefined
        ? []
        : [{ where: "witness.json", fault: `the origin contradicted this mirror: ${note.reason}` }];
    },
    withheld: () => new FileWithheldContents(disk, withheld).list(),
    leftOut: () => new Set(),
    copy: async () => undefined,
  };
}

/**
 * A history whose contents the store must keep: a workspace's own history, or a part of its mirror of the origin's
 * history.
 */
export interface MarkedHistory {
  /** Identifies the history in the store. */
  readonly key: string;
  readonly anchor: HistoryAnchor | undefined;
  openLog(): Promise<EventLog>;
  /** Resolves to the id of the history's workspace; `undefined` if the history has no line yet. */
  workspaceOf(log: EventLog): Promise<string | undefined>;
  /** Resolves to the heads of the history that are kept outside of its log. */
  known(): Promise<readonly Head[]>;
}

export function historiesOf(parts: StoreParts, id: string): MarkedHistory[] {
  const files = parts.layout.workspace(id);
  // Throws for a history of another format. In this case, nothing may be freed, because the needed contents are
  // unknown.
  refuseOtherWorkspace(parts.backends.disk, files.workspaceJson);
  const own: MarkedHistory = {
    key: id,
    anchor: undefined,
    openLog: () => parts.backends.openLog(files),
    workspaceOf: async () => id,
    known: () => anchorsOf(parts, files, id),
  };
  return [own, ...mirrorsOf(parts, files, id)];
}

/**
 * Returns the parts of a mirror. A mirror needs no heads outside of its logs, because the origin sends missing lines
 * again.
 */
function mirrorsOf({ backends }: StoreParts, { upstream }: WorkspaceLayout, id: string): MarkedHistory[] {
  return mirrorParts(backends, upstream).map((anchor) => ({
    key: `${id}/${anchor?.seq ?? 0}`,
    anchor,
    openLog: () => backends.openLog(upstream.mirror(anchor?.seq ?? 0), { after: anchor }),
    workspaceOf: async (log) => anchor?.workspace ?? (await firstWorkspace(log)),
    known: async () => [],
  }));
}

async function firstWorkspace(log: EventLog): Promise<string | undefined> {
  for await (const [line] of log.read({ seq: 1, offset: 0 })) {
    if (line !== undefined) return /^workspace:(.+)$/.exec(parseLine(line.bytes).recordId)?.[1];
  }
  return undefined;
}

/** Returns the heads of a history that are kept outside of its log: the signed head, and the head of the index. */
async function anchorsOf({ backends, heads }: StoreParts, files: WorkspaceLayout, id: string): Promise<Head[]> {
  const kept = heads.last(id);
  const index = await backends.openIndex(files.index);
  try {
    const known = await index.head();
    return [...(kept?.valid === true ? [kept] : []), known].filter(({ seq }) => seq > 0);
  } finally {
    await index.close();
  }
}
