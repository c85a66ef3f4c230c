import { canonicalJson } from "../values/canonical-json.ts";
import type { EntryKind } from "../values/entry.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import { type Hash, sha256 } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";
import { damaged, hashOf, list, object, optionalText, text, whole } from "../values/record-fields.ts";
import { optional } from "../../util/optional.ts";

/**
 * The paths that were changed off the record, each with marks that identify the state in which the path was left. A
 * capture omits a path if the present state of the path still has these marks. This data is stored beside the log and
 * not in the log, because the lines of a log cannot be erased. `docs/format.md` describes the bytes.
 */
export interface OffRecord {
  /** A text that is hashed into each `seal`, so that equal contents have different seals in different workspaces. */
  readonly salt: string;
  /**
   * The commands that are running off the record. While such a command runs, any change may have been made by the
   * command.
   */
  readonly going: readonly OffRecordCommand[];
  readonly notes: readonly OffRecordNote[];
}

/** A command, or an action of the library, that is running off the record. */
export interface OffRecordCommand {
  readonly id: string;
  /** The process that writes the notes when the command ends. */
  readonly pid: number;
  /** A mark that distinguishes the process from earlier and later processes with the same pid. */
  readonly pidMark?: string;
  /** The PID namespace of `pid`. */
  readonly pidSpace?: string;
  /** The time at which the command started, in ISO 8601 UTC. */
  readonly started: string;
}

/** A path that was changed off the record. */
export interface OffRecordNote {
  readonly path: WorkspacePath;
  /**
   * The seq of the log's last event when the note was written. The note has no effect once the path has a later event.
   */
  readonly seq: number;
  /** The state in which the path was left; `undefined` if the path did not exist. */
  readonly state: OffRecordState | undefined;
}

/** The marks that identify the state of a path. The marks do not contain the path's content. */
export interface OffRecordState {
  readonly kind: EntryKind;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
  readonly dev: bigint;
  /** The salted hash (`sealOf`) of a file's content or a link's target; `undefined` for a folder. */
  readonly seal: Hash | undefined;
}

/** Returns the salted hash of a content. `content` is the SHA-256 of the content without a salt. */
export function sealOf({ salt }: Pick<OffRecord, "salt">, content: Hash): Hash {
  return sha256(`${salt}\n${content}`);
}

const FORMAT = 1;
const KINDS: ReadonlySet<string> = new Set<EntryKind>(["file", "symlink", "dir"]);

export function encodeOffRecord({ salt, going, notes }: OffRecord): string {
  const value: Json = {
    format: FORMAT,
    salt,
    going: going.map(({ id, pid, pidMark, pidSpace, started }) => ({
      id,
      pid,
      ...optional({ pid_mark: pidMark, pid_space: pidSpace }),
      started,
    })),
    notes: notes.map(({ path, seq, state }) => ({ ...encodePath(path), seq, state: encodeState(state) })),
  };
  return `${canonicalJson(value)}\n`;
}

function encodeState(state: OffRecordState | undefined): Json {
  if (state === undefined) return null;
  const { kind, size, mtimeNs, ctimeNs, ino, dev, seal } = state;
  return {
    kind,
    size,
    mtime_ns: String(mtimeNs),
    ctime_ns: String(ctimeNs),
    inode: String(ino),
    device: String(dev),
    ...optional({ seal }),
  };
}

/** Decodes the output of `encodeOffRecord`. Throws `LOG_DAMAGED` if the text is invalid or has another format. */
export function decodeOffRecord(encoded: string): OffRecord {
  const body = object(parsed(encoded), "what is off the record");
  if (whole(body, "format") !== FORMAT) damaged("the notes of what is off the record are of another format");
  return {
    salt: text(body, "salt"),
    going: list(body, "going").map((item) => {
      const one = object(item, "a command off the record");
      const pidMark = optionalText(one, "pid_mark");
      const pidSpace = optionalText(one, "pid_space");
      const marks = {
        ...optional({ pidMark, pidSpace }),
      };
      return { id: text(one, "id"), pid: whole(one, "pid"), ...marks, started: text(one, "started") };
    }),
    notes: list(body, "notes").map((item) => {
      const one = object(item, "a note of what is off the record");
      return { path: decodePath(one), seq: whole(one, "seq"), state: decodeState(one["state"]) };
    }),
  };
}

function parsed(encoded: string): Json {
  try {
    return JSON.parse(encoded) as Json;
  } catch {
    return damaged("the notes of what is off the record are not JSON");
  }
}

function decodeState(value: Json | undefined): OffRecordState | undefined {
  if (value === null) return undefined;
  const body = object(value, "a state off the record");
  const kind = text(body, "kind");
  if (!KINDS.has(kind)) damaged(`the kind of a path off the record is ${JSON.stringify(kind)}`);
  return {
    kind: kind as EntryKind,
    size: whole(body, "size"),
    mtimeNs: digits(body, "mtime_ns"),
    ctimeNs: digits(body, "ctime_ns"),
    ino: digits(body, "inode"),
    dev: digits(body, "device"),
    seal: body["seal"] === undefined ? undefined : hashOf(body, "seal"),
  };
}

function digits(body: RecordBody, key: string): bigint {
  const value = text(body, key);
  return /^-?\d{1,20}$/.test(value) ? BigInt(value) : damaged(`${key} is not a whole number`);
}
