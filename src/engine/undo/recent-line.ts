import type { RecentAction, RecentItem, RecentItemKind } from "../../api/recent-api.ts";
import { claimedName } from "../../core/records/actor-name.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { WorkspacePath } from "../../core/values/path.ts";

export type Who = RecentItem["who"];

/** Maps each path that the work of a line changed to the seqs of the work's first and last event at this path. */
export type OwnPaths = Map<WorkspacePath, { readonly first: number; last: number }>;

/** A line of the list of recent work, before its details are read. Details are read only for lines that are shown. */
export interface RecentLine {
  readonly kind: RecentItemKind;
  readonly id: string;
  /** The seq of the last event of the work. The list is ordered by this seq. */
  readonly seq: number;
  /** The seq of the event right before the work. */
  readonly fromSeq: number;
  readonly timestamp: string;
  readonly summary: string;
  readonly actor: string;
  readonly who: Who;
  readonly session?: string | undefined;
  readonly changed: number;
  /**
   * True if `changed` is a recorded number, which is shown as it is. By default, the changed paths of the line are
   * counted.
   */
  readonly isCounted?: boolean;
  /** The paths that the work changed. Default: all paths with an event after `fromSeq`, up to `seq`. */
  readonly own?: OwnPaths;
  /** True if the work may have events that are older than the events that were read. */
  readonly isCut?: boolean;
  /** True if the work still goes on. It may then have changes that are newer than `seq`. */
  readonly isOpen?: boolean;
  /** The ids of the operations that the line stands for. Default: the id of the line. */
  readonly operations?: readonly string[];
  /** The texts in which `grep` looks. Default: the summary. */
  readonly texts?: readonly string[];
  /** Reads the title, which is what a person had asked for. Set if the work may have a title. */
  readonly title?: () => Promise<string | undefined>;
  /** Reads the remaining fields of the item. `short`: the shortened id that people are shown. */
  readonly more: (short: string) => Promise<Pick<RecentItem, "back"> & Partial<RecentItem>>;
  /** The actions of the line, the oldest first. */
  readonly beneath?: () => readonly RecentAction[];
}

/** Notes an event of the work at a path. Events must be noted in the order of the log. */
export function noteOwn(own: OwnPaths, path: WorkspacePath, seq: number): void {
  const known = own.get(path);
  if (known === undefined) own.set(path, { first: seq, last: seq });
  else known.last = seq;
}

/** Maps a name to true if it is that of a person. This cache saves time in lists of many lines. */
const persons = new RecentMap<string, boolean>(256);

/** Returns what kind of actor has this name. `depth`: the number of agents, runs and actions around the work. */
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
