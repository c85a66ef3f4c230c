import type { RecentAction, RecentItem, RecentItemKind } from "../../api/recent-api.ts";
import { claimedName } from "../../core/records/actor-name.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { WorkspacePath } from "../../core/values/path.ts";

export type Who = RecentItem["who"];

/** The own events of a line's work, by path: the seqs of the first and the last one. */
export type OwnPaths = Map<WorkspacePath, { readonly first: number; last: number }>;

/** A line of the list of recent work, before its details are read. Details are read only for lines that are shown. */
export interface RecentLine {
  readonly kind: RecentItemKind;
  readonly id: string;
  /** The last event of the work. The lines are ordered by it. */
  readonly seq: number;
  /** The event right before the work. */
  readonly fromSeq: number;
  readonly timestamp: string;
  readonly summary: string;
  readonly actor: string;
  readonly who: Who;
  readonly session?: string | undefined;
  readonly changed: number;
  /** True if `changed` is the recorded number of changed paths. Default: the own paths are counted. */
  readonly isCounted?: boolean;
  /** The own paths. Default: all paths with an event after `fromSeq`, up to `seq`. */
  readonly own?: OwnPaths;
  /** True if events of the work may lie before the window that was read. */
  readonly isCut?: boolean;
  /** The ids of the operations that the line stands for. Default: the id of the line. */
  readonly operations?: readonly string[];
  /** The texts in which `grep` looks. Default: the summary. */
  readonly texts?: readonly string[];
  /** Reads the title, if the work may have one: what a person had asked for. */
  readonly title?: () => Promise<string | undefined>;
  /** Reads the remaining fields of the item. `short`: the beginning of the id that people are shown. */
  readonly more: (short: string) => Promise<Pick<RecentItem, "back"> & Partial<RecentItem>>;
  /** The actions of the line, the oldest first. */
  readonly beneath?: () => readonly RecentAction[];
}

/** Notes an own event. Events must be noted in the order of the log. */
export function noteOwn(own: OwnPaths, path: WorkspacePath, seq: number): void {
  const known = own.get(path);
  if (known === undefined) own.set(path, { first: seq, last: seq });
  else known.last = seq;
}

/** Whether a name is that of a person. To find that out takes long for a list of many lines. */
const persons = new RecentMap<string, boolean>(256);

/** Returns who stands behind the name of an actor. `depth`: the number of agents, runs and actions around the work. */
export function whoOf(actor: string, depth = 0): Who {
  if (actor === "ambiguous") return "unknown";
  let isPerson = persons.get(actor);
  if (isPerson === undefined) {
    isPerson = claimedName(actor) !== undefined;
    persons.put(actor, isPerson);
  }
  if (isPerson) return "person";
  return depth > 0 ? "sub-agent" : "agent";
}
