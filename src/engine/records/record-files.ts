import { FORMAT_VERSION } from "../../core/records/workspace-record.ts";
import type { Hash } from "../../core/values/hash.ts";

/**
 * The files that a record store in a folder of its own keeps beside its log. Each write is durable and atomic. Reading
 * a missing file gives `undefined`.
 */
export interface RecordFiles {
  readonly folder: string;
  /** Reads the checkpoint in `snapshot.json`. The file can be deleted and made again. */
  readCheckpoint(): Buffer | undefined;
  writeCheckpoint(bytes: Uint8Array): void;
  /** Reads `head.json`: the end of the log when the store was last closed. */
  readHead(): string | undefined;
  writeHead(text: string): void;
  readBase(hash: Hash): Buffer | undefined;
  writeBase(hash: Hash, bytes: Uint8Array): void;
  /** Deletes the files of all bases except the base `hash`. */
  keepOnlyBase(hash: Hash): void;
}

/**
 * The end of a log, as `head.json` names it. The file is canonical JSON of `{format, hash, seq, store}`, followed by a
 * newline.
 */
export interface KeptEnd {
  readonly seq: number;
  readonly hash: string;
  readonly store: string;
}

export function encodeKeptEnd({ seq, hash, store }: KeptEnd): string {
  return `${JSON.stringify({ format: FORMAT_VERSION, hash, seq, store })}\n`;
}

/**
 * Returns the end of the log that the text of a `head.json` names; `undefined` if the text does not have the exact
 * form.
 */
export function decodeKeptEnd(text: string): KeptEnd | undefined {
  const match = /^\{"format":2,"hash":"([0-9a-f]{64})","seq":([1-9]\d{0,15}),"store":"([^"\\]+)"\}\n$/.exec(text);
  return match === null ? undefined : { hash: match[1] ?? "", seq: Number(match[2]), store: match[3] ?? "" };
}
