import type { DoctorCheck } from "../../../src/api/store-api.ts";
import type { KnownReplicaShape } from "../../../src/api/action-shapes.ts";
import type { RecordingShape, WorkspaceShape } from "../../../src/api/shapes.ts";
import type { SyncShape } from "../../../src/api/sync-api.ts";
import type { LastCheck } from "../integrity/last-check.ts";
import { counted } from "../parts/words.ts";

/** The view of the page in which a person settles a matter. */
export type Place = "/integrity" | "/conflicts" | "/sync" | "/space" | "";

/** Something that needs a person's attention, and what to do about it. */
export interface Matter {
  readonly key: string;
  /** True for a fault. Any other matter is only a note. */
  readonly isFault: boolean;
  readonly text: string;
  readonly hint?: string | undefined;
  /** A command to copy. */
  readonly command?: string;
  readonly workspace?: string;
  /** The view of the workspace, and the words of the link to it. */
  readonly at?: readonly [view: Place, words: string];
}

/** The facts about a workspace. If a fact is absent, it is not known yet, or is not shown to this caller. */
export interface Known {
  readonly shape: WorkspaceShape;
  readonly recording?: RecordingShape | undefined;
  readonly conflicts?: number | undefined;
  readonly replicas?: readonly KnownReplicaShape[] | undefined;
  readonly check?: LastCheck | undefined;
}

/**
 * The time, in milliseconds, within which somebody must have worked in a workspace for its unrecorded edits to be a
 * matter.
 */
const LATELY_MS = 24 * 3_600_000;

type Own = (key: string, matter: Omit<Matter, "key" | "workspace">) => Matter;

/** Returns the matters of one workspace, faults first. */
export function mattersOf(known: Known, now: number): Matter[] {
  const { id } = known.shape;
  const own: Own = (key, matter) => ({ key: `${id} ${key}`, workspace: id, ...matter });
  return [...faultsOf(known, own), ...unsettledIn(known, own), ...unwatchedIn(known, own, now)];
}

function faultsOf({ shape: { id, present, problem }, recording, check }: Known, own: Own): Matter[] {
  const faults: Matter[] = [];
  if (problem !== undefined)
    faults.push(own("problem", { isFault: true, text: problem, at: ["/integrity", "Check the history"] }));
  if (check !== undefined && check.problems > 0) {
    const text = `the last check found ${counted(check.problems, "problem")}`;
    faults.push(own("check", { isFault: true, text, at: ["/integrity", "Check again"] }));
  }
  if (!present) {
    const text = "the folder is gone. Move it back, or get its files out of the history into another folder:";
    faults.push(own("gone", { isFault: true, text, command: `chronicle -w ${id} restore latest --to FOLDER` }));
  }
  const { trouble, hint } = recording?.by.find((one) => one.trouble !== undefined) ?? {};
  if (trouble !== undefined) faults.push(own("trouble", { isFault: true, text: trouble, hint }));
  return faults;
}

/** Returns the matters of conflicts that wait for a decision, and of replicas that are behind. */
function unsettledIn({ conflicts = 0, replicas = [] }: Known, own: Own): Matter[] {
  const matters: Matter[] = [];
  if (conflicts > 0) {
    const text = `${counted(conflicts, "conflict")} ${conflicts === 1 ? "is" : "are"} not settled`;
    matters.push(own("conflicts", { isFault: false, text, at: ["/conflicts", "Settle"] }));
  }
  const behind = replicas.filter(({ lag }) => lag > 0);
  if (behind.length > 0) {
    const most = counted(Math.max(...behind.map(({ lag }) => lag)), "event");
    const text = `${counted(behind.length, "replica is", "replicas are")} behind, by up to ${most}`;
    matters.push(own("replicas", { isFault: false, text, at: ["/integrity", "See which"] }));
  }
  return matters;
}

/**
 * Returns a matter if edits between commands are not recorded, although somebody has worked in the workspace lately.
 */
function unwatchedIn({ shape, recording }: Known, own: Own, now: number): Matter[] {
  const { path, present, problem, archived, last_event: last, created } = shape;
  const isUsed = Date.parse(last ?? created) > now - LATELY_MS;
  const mayRecord = path !== "" && present && archived !== true && problem === undefined;
  if (recording?.state !== "nothing" || !isUsed || !mayRecord) return [];
  const { reason, hint } = recording;
  if (reason !== null) return [own("watch", { isFault: false, text: reason, hint: hint ?? undefined })];
  const text = "edits between commands are not recorded as they happen. To record each:";
  return [own("watch", { isFault: false, text, command: `chronicle watch --install ${quoted(path)}` })];
}

/** Returns the matters of the syncs of the store. */
export function syncMatters(syncs: readonly SyncShape[]): Matter[] {
  return syncs.flatMap((sync): Matter[] => {
    const { id, state, trouble, reason, degraded, conflicts, lag, pending, hint } = sync;
    const own = { key: `sync ${id}`, workspace: id, at: ["/sync", "The sync"] as const };
    const message = trouble?.message ?? reason ?? degraded;
    const isStanding = state === "halted" || state === "offline";
    if (isStanding || message !== undefined) {
      const words =
        state === "halted" ? "the sync waits for a decision" : state === "offline" ? "the sync is offline" : "the sync";
      const text = message === undefined ? words : `${words}: ${message}`;
      return [{ ...own, isFault: state === "halted", text, hint: trouble?.next ?? hint }];
    }
    if (conflicts > 0) {
      const text = `${counted(conflicts, "conflict")} with the origin ${conflicts === 1 ? "is" : "are"} not settled`;
      return [{ ...own, key: `${id} conflicts`, isFault: false, text, at: ["/conflicts", "Settle"] }];
    }
    if (state !== "paused") return [];
    const left = `${counted(lag, "event")} to come, ${counted(pending, "change")} to go`;
    return [{ ...own, isFault: false, text: `the sync is paused (${left})` }];
  });
}

/** Returns the matters from the checks of the store and the machine: all faults, and other results with a next step. */
export function doctorMatters(checks: readonly DoctorCheck[]): Matter[] {
  return checks
    .filter(({ ok, hint }) => !ok || hint !== undefined)
    .map(({ name, ok, detail, hint, workspace }) => {
      const prefix = `workspace ${workspace}: `;
      const text = workspace !== undefined && detail.startsWith(prefix) ? detail.slice(prefix.length) : detail;
      const at: Pick<Matter, "at"> =
        workspace === undefined
          ? {}
          : name === "kept beside"
            ? { at: ["/space", "Where it goes"] }
            : { at: ["/integrity", "Look"] };
      return {
        ...{ key: `${name} ${detail}`, isFault: !ok, text: workspace === undefined ? `${name}: ${text}` : text },
        ...{ hint, ...at },
        ...(workspace === undefined ? {} : { workspace }),
      };
    });
}

/** Returns the matters with the faults first, and with matters of the same key once. */
export function ranked(matters: readonly Matter[]): Matter[] {
  const once = [...new Map(matters.map((one) => [one.key, one])).values()];
  return [...once.filter(({ isFault }) => isFault), ...once.filter(({ isFault }) => !isFault)];
}

/** Returns a path as one word of a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
