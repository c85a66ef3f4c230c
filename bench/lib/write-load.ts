import { loadProcess } from "./load-process.ts";

/** Writes by many clients at once, each on a connection of its own, each the next as soon as the one before is answered. */
export interface WritePlan {
  /** Address of the server. */
  readonly url: string;
  readonly token: string;
  /** One for each client: where its files lie, as `/v1/workspaces/x/files/folder`. */
  readonly folders: readonly string[];
  /** Each client writes this many files in turn. */
  readonly files: number;
  readonly bytes: number;
  readonly seconds: number;
  /** Stop after this many writes in all. */
  readonly most?: number;
}

/** The writes of one file. */
export interface WrittenFile {
  /** The last hash that the server acknowledged. */
  readonly acknowledged?: string;
  /** The hash of the write in flight when the server ended. */
  readonly underWay?: string;
}

export interface WriteLoad {
  readonly acknowledged: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  /** Milliseconds. */
  readonly p99: number;
  /** The expected state of each target. */
  readonly written: Readonly<Record<string, WrittenFile>>;
}

/** Runs the clients in one process of their own. A server that goes away ends them; any answer but 200 or 201 rejects. */
export function writeLoad(plan: WritePlan): Promise<WriteLoad> {
  return loadProcess("write-load-main.ts", plan);
}
