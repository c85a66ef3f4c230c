import type { SyncTroubleShape } from "../../../api/sync-api.ts";
import { type ChronicleError, STARTING } from "../../../core/values/errors.ts";
import type { ReplicaHalt, ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { LinkState } from "./connection-keeper.ts";

type Kind = SyncTroubleShape["kind"];

/** The facts about a sync that may be in trouble. See `SyncFacts`. */
interface Facts {
  readonly record: Pick<ReplicaRecord, "halted" | "stopped" | "paused">;
  readonly link: LinkState;
  readonly linkError: ChronicleError | undefined;
  readonly failure: ChronicleError | undefined;
  readonly blocked: readonly string[];
}

/** The system's errors when this side cannot write. */
const ERRNOS: Readonly<Record<string, Kind>> = {
  ENOSPC: "disk-full",
  EDQUOT: "disk-full",
  EACCES: "no-permission",
  EPERM: "no-permission",
  EROFS: "no-permission",
};

/** The same for a blocked path, by its reason. */
const BLOCKS: Readonly<Record<string, Kind>> = { "no-space": "disk-full", "not-permitted": "no-permission" };

const TOKEN: ReadonlySet<string> = new Set(["unauthenticated", "forbidden"]);

const NEXT: Readonly<Record<Kind, string>> = {
  "disk-full": "free some space on the disk of the folder, and of the store; it goes on by itself within seconds",
  "no-permission":
    "let this user write there (`ls -ld` shows who may), or mount the file system for writing; it is tried again by itself, at once: chronicle sync flush",
  unreachable: "is the origin running, and reachable from here? it is tried again by itself, every few seconds",
  "token-refused": "start it again with another token (--token-file FILE)",
  starting: "wait: it is tried again by itself, every few seconds",
};

/**
 * Returns the trouble that a person can do something about here, of several. `next`: what to do if the sync is halted.
 */
export function troubleOf(facts: Facts, next: string | undefined): SyncTroubleShape | undefined {
  const { record, failure, blocked, linkError, link } = facts;
  const { halted } = record;
  if (halted !== undefined) return haltTrouble(halted, next);
  if (record.paused === true || record.stopped === true) return undefined;
  const kind = failure === undefined ? undefined : ERRNOS[String(failure.data["errno"])];
  if (failure !== undefined && kind !== undefined) return trouble(kind, failure.message, failure.hint);
  for (const detail of blocked) {
    const [reason = ""] = detail.split(": ", 1);
    const why = BLOCKS[reason];
    if (why !== undefined) return trouble(why, detail.slice(reason.length + 2));
  }
  return link === "offline" && linkError !== undefined ? awayTrouble(linkError) : undefined;
}

/** Returns the trouble of a sync that is halted, or was when it was stopped. */
export function haltTrouble({ reason, detail }: ReplicaHalt, next: string | undefined): SyncTroubleShape | undefined {
  return TOKEN.has(reason) ? trouble("token-refused", detail ?? reason, next) : undefined;
}

function awayTrouble({ code, data, message, hint }: ChronicleError): SyncTroubleShape | undefined {
  // Another process holds what the server must open.
  if (code === "LOCKED") return trouble("starting", message, hint);
  if (code !== "UNAVAILABLE") return undefined;
  if (data["about"] === STARTING) return trouble("starting", message);
  const next = hint === undefined ? NEXT.unreachable : `${hint} (it is tried again by itself, every few seconds)`;
  return trouble("unreachable", message, next);
}

function trouble(kind: Kind, message: string, next = NEXT[kind]): SyncTroubleShape {
  return { kind, message, next };
}
