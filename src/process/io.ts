import type { Readable, Writable } from "node:stream";
import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import type { CommandRunner, RunOptions } from "../api/workspace-api.ts";
import type { Inheritance } from "./inheritance.ts";
import type { NeedsClient } from "./needs-client.ts";

export interface Sink {
  readonly isTerminal: boolean;
  readonly colours: boolean;
  /** The width in characters; 80 if it is unknown. */
  readonly columns: number;
  /** True if the reader has gone (`EPIPE`). Then further output is dropped. */
  readonly broken: boolean;
  write(text: string): void;
  /** Resolves when more may be written. */
  writeBytes(bytes: Uint8Array): Promise<void>;
}

/** The surroundings of the command line. `main.ts` makes them from the process. */
export interface Io {
  /** The arguments without the program and the script. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** A command that replaces this process must inherit it, too. */
  readonly inherited: Inheritance;
  readonly version: string;
  readonly out: Sink;
  readonly err: Sink;
  readonly stdinIsTerminal: boolean;
  readStdin(): Promise<string>;
  /** Stdin and stdout themselves, for a command that uses a protocol on them. */
  streams(): { readonly input: Readable; readonly output: Writable };
  /** Throws `NOT_FOUND` if the current folder was removed. */
  cwd(): string;
  chdir(folder: string): void;
  /** In epoch milliseconds. */
  now(): number;
  openStore(options: StoreOptions): Promise<StoreApi>;
  /**
   * Set in the store's long-lived process, which carries out a command for another process. `needsClient` returns the
   * error with which the command is given back to that process (see `NeedsClient`). `changing` must be called before each
   * change.
   */
  readonly served?: { readonly needsClient: (reason: string) => NeedsClient; readonly changing: () => void };
  /** The id of the request. A change that was made under this id is not made again. */
  readonly request?: string;
  /** Starts the command of a run in the process for which this one carries out `chronicle run`. */
  readonly runner?: CommandRunner;
  /** The end of a run whose command has ended after the store's process, which recorded it. */
  readonly ended?: RunOptions["ended"];
  /** Runs a command line in other surroundings. Resolves to its exit code. */
  readonly runInside?: (io: Io) => Promise<number>;
  /**
   * Calls back at Ctrl-C, SIGTERM and SIGHUP, which then do not end the process. Returns a function that stops this.
   */
  onInterrupt(callback: (signal: NodeJS.Signals) => void): () => void;
  /**
   * Ends this process by the signal that ended its command, once all output is written. With an exit code instead, a
   * loop in the shell would continue.
   */
  endBy(signal: NodeJS.Signals): void;
  /**
   * Calls back with uncaught errors. Errors of the system, of SQLite and of Chronicle (`ChronicleError`) then no longer
   * end the process. Returns a function that stops this.
   */
  onUncaught(callback: (error: unknown) => void): () => void;
}
