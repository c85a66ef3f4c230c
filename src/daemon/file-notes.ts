import { join } from "node:path";
import type { ActionEnd } from "../api/action-api.ts";
import type { Disk } from "../disk/disk.ts";
import type { HookCall } from "../hooks/hook-call.ts";
import type { SessionNote, SessionNotes } from "../hooks/session-note.ts";
import { readSmall, removeSmall, writeSmall } from "./run-folder.ts";

/**
 * Stores the note of each session (the state that its hooks need from call to call) in a file, so that the process of a
 * later hook can read it.
 */
export class FileNotes implements SessionNotes {
  readonly #disk: Disk;
  readonly #folder: string;

  /** `folder`: an existing folder. */
  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
  }

  get(session: string): SessionNote | undefined {
    const text = readSmall(this.#disk, this.#path(session));
    return text === undefined ? undefined : parseNote(text);
  }

  put(session: string, note: SessionNote): void {
    writeSmall(this.#disk, this.#path(session), JSON.stringify(note));
  }

  remove(session: string): void {
    removeSmall(this.#disk, this.#path(session));
  }

  /** Returns a mark that changes when the note's file is written; `undefined` if there is no file. */
  markOf(session: string): string | undefined {
    const stat = this.#disk.lstat(this.#path(session));
    return stat === undefined ? undefined : [stat.ino, stat.ctimeNs, stat.mtimeNs, stat.size].join(" ");
  }

  /**
   * Removes the notes that were written before `since` (in epoch milliseconds). Such notes are left when an agent is
   * killed, because it then does not end its session.
   */
  removeOlder(since: number): void {
    for (const { name, kind } of this.#disk.list(this.#folder)) {
      if (kind !== "file" || !/^session-.*\.json$/.test(name.toString())) continue;
      const path = join(this.#folder, name.toString());
      const written = this.#disk.lstat(path)?.mtimeNs;
      if (written !== undefined && Number(written / 1_000_000n) < since) removeSmall(this.#disk, path);
    }
  }

  #path(session: string): string {
    return join(this.#folder, `session-${session}.json`);
  }
}

interface KeptNote {
  readonly note: SessionNote;
  readonly file: string | undefined;
  /** The part of the note that must be in the file, because the log does not have it. */
  readonly durable: string;
}

/**
 * Keeps notes in memory. One part of a note is not in the log (see `durableOf`), and another process needs this part
 * after the end of this process. When this part changes, the note is written to its file. If this process answers a
 * hook too late, another process answers the hook and writes the file. The file then replaces the note in memory.
 */
export class KeptNotes implements SessionNotes {
  readonly #files: FileNotes;
  readonly #known = new Map<string, KeptNote>();

  constructor(files: FileNotes) {
    this.#files = files;
  }

  get(session: string): SessionNote | undefined {
    const file = this.#files.markOf(session);
    const known = this.#known.get(session);
    if (known !== undefined && known.file === file) return known.note;
    this.#known.delete(session);
    const note = this.#files.get(session);
    if (note !== undefined) this.#known.set(session, { note, file, durable: durableOf(note) });
    return note;
  }

  put(session: string, note: SessionNote): void {
    const durable = durableOf(note);
    const known = this.#known.get(session);
    // If only the open calls of a session with one agent have changed, the file is not written, because the log has
    // these calls.
    if (known?.durable === durable) {
      this.#known.set(session, { ...known, note });
      return;
    }
    this.#files.put(session, note);
    this.#known.set(session, { note, file: this.#files.markOf(session), durable });
  }

  remove(session: string): void {
    this.#known.delete(session);
    this.#files.remove(session);
  }
}

/**
 * Returns the part of a note that must be durable. If the session has several agents (`hasLanes`), the part includes
 * the open calls, because the log does not record which agent began a call. The agent of each call must be known when
 * an agent begins its next call, because only the earlier calls of this agent have then ended.
 */
function durableOf(note: SessionNote): string {
  const { workspace, turn, asked, isIdle, hasLanes, unsaid, ends, open, doubted, waiting, queues } = note;
  return JSON.stringify({
    workspace,
    turn,
    asked,
    isIdle,
    hasLanes,
    unsaid,
    ends,
    waiting,
    queues,
    ...(hasLanes === true ? { open, doubted } : {}),
  });
}

function parseNote(text: string): SessionNote | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // A torn note is ignored, so that the session is begun again.
    return undefined;
  }
  if (typeof value !== "object" || value === null || !("workspace" in value) || !("open" in value)) return undefined;
  const { workspace, open } = value;
  if (typeof workspace !== "string" || typeof open !== "object" || open === null) return undefined;
  const turn = "turn" in value && typeof value.turn === "string" ? { turn: value.turn } : {};
  const asked = "asked" in value && typeof value.asked === "string" ? { asked: value.asked } : {};
  const list: unknown = "unsaid" in value ? value.unsaid : undefined;
  const unsaid = Array.isArray(list) ? { unsaid: list.filter((one) => typeof one === "string") } : {};
  const ends = "ends" in value ? { ends: endsOf(value.ends) } : {};
  const doubted =
    "doubted" in value && typeof value.doubted === "object" ? { doubted: textsOf(value.doubted ?? {}) } : {};
  return {
    workspace,
    open: textsOf(open),
    ...turn,
    ...asked,
    ...unsaid,
    ...ends,
    ...doubted,
    ...queueOf(value),
    ...flagsOf(value),
  };
}

function queueOf(value: object): Pick<SessionNote, "waiting" | "queues"> {
  const list: unknown = "waiting" in value ? value.waiting : undefined;
  const waiting = Array.isArray(list) ? { waiting: list.filter((one) => isWaitingCall(one)) } : {};
  const queues = "queues" in value && typeof value.queues === "object" ? { queues: textsOf(value.queues ?? {}) } : {};
  return { ...waiting, ...queues };
}

/** The fields of a call are not checked one by one, because only Chronicle writes these files. */
function isWaitingCall(value: unknown): value is HookCall {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "before" && "lane" in value;
}

function flagsOf(value: object): Pick<SessionNote, "isIdle" | "hasLanes"> {
  const idle = "isIdle" in value && value.isIdle === true ? { isIdle: true } : {};
  const lanes = "hasLanes" in value && value.hasLanes === true ? { hasLanes: true } : {};
  return { ...idle, ...lanes };
}

function textsOf(value: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
  );
}

function endsOf(value: unknown): Record<string, ActionEnd> {
  const ends: Record<string, ActionEnd> = {};
  for (const [key, end] of Object.entries(value ?? {}) as [string, unknown][]) {
    if (typeof end !== "object" || end === null) continue;
    const outcome = OUTCOMES.find((one) => "outcome" in end && one === end.outcome) ?? "done";
    ends[key] = { outcome, ...("reason" in end && typeof end.reason === "string" ? { reason: end.reason } : {}) };
  }
  return ends;
}

const OUTCOMES = ["done", "failed", "denied"] as const;
