import { loadProcess } from "./load-process.ts";

/**
 * Writes by many clients at once. Each client has a connection of its own, and sends its next write as soon as the one
 * before is answered.
 */
export interface WritePlan {
  /** The address of the server. */
  readonly url: string;
  readonly token: string;
  /** For each client, the URL path of the folder of its files, as in `/v1/workspaces/x/files/folder`. */
  readonly folders: readonly string[];
  /** The number of files of each client. The client writes them in turn. */
  readonly files: number;
  /** The size of each written content, in bytes. */
  readonly bytes: number;
  /** After this time, no write is begun. */
  readonly seconds: number;
  /** The maximum number of writes of all clients together. Default: no limit. */
  readonly most?: number;
}

/** The writes of one file. */
export interface WrittenFile {
  /** The last hash that the server acknowledged. */
  readonly acknowledged?: string;
  /** The hash of the write that had no answer when the server ended. */
  readonly underWay?: string;
}

export interface WriteLoad {
  /** The number of acknowledged writes. */
  readonly acknowledged: number;
  /** Acknowledged writes a second, of all clients together. */
  readonly perSecond: number;
  /** The median of the response times, in milliseconds. */
  readonly p50: number;
  /** The 99th percentile of the response times, in milliseconds. */
  readonly p99: number;
  /** URL path of each written file → its possible contents. */
  readonly written: Readonly<Record<string, WrittenFile>>;
}

/**
 * Runs the clients in one process of their own. Also resolves if the server ends meanwhile. Rejects if a write is
 * answered with another status than 200 or 201, or with a wrong hash.
 */
export function writeLoad(plan: WritePlan): Promise<WriteLoad> {
  return loadProcess("write-load-main.ts", plan);
}
