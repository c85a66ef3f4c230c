import { FORMAT_VERSION } from "../../core/records/workspace-record.ts";
import type { Hash } from "../../core/values/hash.ts";

/**
 * The files that a record store in a folder of its own keeps beside its log. Each write is durable and atomic. Reading
 * a missing file gives `undefined`.
 */
export interface RecordFiles {
  readonly folder: string;
  /** Reads `snapshot.json`, the checkpoint. It is disposable. */
  readCheckpoint(): Buffer | undefined;
  writeCheckpoint(bytes: Uint8Array): void;
  /** Reads `head.json`: the end of the log when the store was last closed. */
  readHead(): string | undefined;
  writeHead(text: string): void;
  readBase(hash: Hash): Buffer | undefined;
  writeBase(hash: Hash, bytes: Uint8Array): void;
  /** Deletes the files of all other bases. */
  keepOnlyBase(hash: Hash): void;
}

/** The end of a log in `head.json`: canonical JSON of `{format, hash, seq, store}` and a newline. */
export interface KeptEnd {
  readonly seq: number;
  readonly hash: string;
  readonly store: string;
}

export function encodeKeptEnd({ seq, hash, store }: KeptEnd): string {
  return `${JSON.stringify({ format: FORMAT_VERSION, hash, seq, store })}\n`;
}

/** Returns `undefined` for a text that is not exactly that of a `head.json`. */
export function decodeKeptEnd(text: string): KeptEnd | undefined {
  const match = /^\{"format":2,"hash":"([0-9a-f]{64})","seq":([1-9]\d{0,15}),"store":"([^"\\]+)"\}\n$/.exec(text);
  return match === null ? undefined : { hash: match[1] ?? "", seq: Number(match[2]), store: match[3] ?? "" };
}
