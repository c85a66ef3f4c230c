import { parseLine } from "../core/log/chain.ts";
import type { Head } from "../core/values/event.ts";
import type { HistoryAnchor } from "../core/log/history-anchor.ts";
import type { EventLog } from "../storage/event-log.ts";
import { FileEventLog } from "../storage/files/file-event-log.ts";
import type { WorkspaceLayout } from "../storage/files/layout.ts";
import { refuseOtherWorkspace } from "../store/workspace-file.ts";
import { mirrorParts } from "./mirror-places.ts";
import type { StoreParts } from "./open-context.ts";

/** A history whose contents the store must keep: a workspace's own, or a part of what it holds of its origin's. */
export interface MarkedHistory {
  /** Different for each. */
  readonly key: string;
  readonly anchor: HistoryAnchor | undefined;
  openLog(): FileEventLog;
  /** Whose history it is; `undefined` where it has no line yet. */
  workspaceOf(log: EventLog): Promise<string | undefined>;
  /** What is known of it beside its log. */
  known(): Promise<readonly Head[]>;
}

/** All histories in the folder of a workspace. */
export function historiesOf(parts: StoreParts, id: string): MarkedHistory[] {
  const files = parts.layout.workspace(id);
  // The needs of a store of another format are unknown: nothing is freed.
  refuseOtherWorkspace(parts.backends.disk, files.workspaceJson);
  const own: MarkedHistory = {
    key: id,
    anchor: undefined,
    openLog: () => new FileEventLog(parts.backends.disk, files),
    workspaceOf: async () => id,
    known: () => anchorsOf(parts, files, id),
  };
  return [own, ...mirrorsOf(parts, files, id)];
}

/** What a replica lacks of its copy is sent again: nothing else has to vouch for it. */
function mirrorsOf({ backends: { disk } }: StoreParts, { upstream }: WorkspaceLayout, id: string): MarkedHistory[] {
  return mirrorParts(disk, upstream).map((anchor) => ({
    key: `${id}/${anchor?.seq ?? 0}`,
    anchor,
    openLog: () => new FileEventLog(disk, upstream.mirror(anchor?.seq ?? 0), anchor),
    workspaceOf: async (log) => anchor?.workspace ?? (await firstWorkspace(log)),
    known: async () => [],
  }));
}

/** The workspace that the first line of a log begins. */
export async function firstWorkspace(log: EventLog): Promise<string | undefined> {
  for await (const [line] of log.read({ seq: 1, offset: 0 })) {
    if (line !== undefined) return /^workspace:(.+)$/.exec(parseLine(line.bytes).recordId)?.[1];
  }
  return undefined;
}

/** What is known of a history beside its log: the kept head, and what the index has seen. */
async function anchorsOf({ backends, heads }: StoreParts, files: WorkspaceLayout, id: string): Promise<Head[]> {
  const kept = heads.last(id);
  const index = backends.openIndex(files.index);
  try {
    const known = await index.head();
    return [...(kept?.valid === true ? [kept] : []), known].filter(({ seq }) => seq > 0);
  } finally {
    await index.close();
  }
}
