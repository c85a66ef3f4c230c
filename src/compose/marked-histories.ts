import { parseLine } from "../core/log/chain.ts";
import type { Head } from "../core/values/event.ts";
import type { HistoryAnchor } from "../core/log/history-anchor.ts";
import type { EventLog } from "../storage/event-log.ts";
import type { WorkspaceLayout } from "../storage/layout.ts";
import { refuseOtherWorkspace } from "../store/workspace-file.ts";
import { mirrorParts } from "./mirror-places.ts";
import type { StoreParts } from "./open-context.ts";

/** A history whose contents the store must keep: a workspace's own, or a part of its mirror of the origin's. */
export interface MarkedHistory {
  /** A unique key. */
  readonly key: string;
  readonly anchor: HistoryAnchor | undefined;
  openLog(): Promise<EventLog>;
  /** Resolves to the workspace that the history is of; `undefined` if it has no line yet. */
  workspaceOf(log: EventLog): Promise<string | undefined>;
  /** Resolves to the heads known of it beside its log. */
  known(): Promise<readonly Head[]>;
}

/** Returns all histories in the folder of a workspace. */
export function historiesOf(parts: StoreParts, id: string): MarkedHistory[] {
  const files = parts.layout.workspace(id);
  // The needs of a store of another format are unknown: free nothing.
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

/** Returns the histories of a mirror. Lines that it lacks are sent again, so no other heads vouch for it. */
function mirrorsOf({ backends }: StoreParts, { upstream }: WorkspaceLayout, id: string): MarkedHistory[] {
  return mirrorParts(backends, upstream).map((anchor) => ({
    key: `${id}/${anchor?.seq ?? 0}`,
    anchor,
    openLog: () => backends.openLog(upstream.mirror(anchor?.seq ?? 0), { after: anchor }),
    workspaceOf: async (log) => anchor?.workspace ?? (await firstWorkspace(log)),
    known: async () => [],
  }));
}

/** Returns the workspace that the first line of a log begins. */
export async function firstWorkspace(log: EventLog): Promise<string | undefined> {
  for await (const [line] of log.read({ seq: 1, offset: 0 })) {
    if (line !== undefined) return /^workspace:(.+)$/.exec(parseLine(line.bytes).recordId)?.[1];
  }
  return undefined;
}

/** Returns the heads of a history that are known beside its log: the kept one, and the index's. */
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
