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
  /** True if the reader has gone (`EPIPE`). Further output is then dropped. */
  readonly broken: boolean;
  write(text: string): void;
  /** Resolves when the stream can take more bytes. */
  writeBytes(bytes: Uint8Array): Promise<void>;
}

/** The surroundings of the command line. `main.ts` makes them from the process. */
export interface Io {
  /** The arguments without the program and the script. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** The descriptors and texts that this process inherited. A command that replaces it must inherit them, too. */
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
  /** `once`: the process ends right after the store is closed (see `openStoreOnce`). */
  openStore(options: StoreOptions, once?: boolean): Promise<StoreApi>;
  /**
   * Set if this is the store's long-lived process and it carries out a command for a client process. `needsClient`
   * returns the error that hands the command back to the client (see `NeedsClient`). `changing` must be called before
   * each change. `progress` shows a text on the client's terminal at once, in place of the one before.
   */
  readonly served?: {
    readonly needsClient: (reason: string) => NeedsClient;
    readonly changing: () => void;
    readonly progress: (text: string) => void;
  };
  /** The id of the request. A change is made only once for each id. */
  readonly request?: string;
  /** Starts the command of a run in the client process for which this process carries out `chronicle run`. */
  readonly runner?: CommandRunner;
  /** The end of a run's command that outlived the store's process, which had recorded the start of the run. */
  readonly ended?: RunOptions["ended"];
  /** Runs a command line in other surroundings. Resolves to its exit code. */
  readonly runInside?: (io: Io) => Promise<number>;
  /**
   * Calls back at Ctrl-C, SIGTERM and SIGHUP, which then do not end the process. Returns a function that removes the
   * callback.
   */
  onInterrupt(callback: (signal: NodeJS.Signals) => void): () => void;
  /**
   * Ends this process by the signal that ended its command, once all output is written. An exit code would not end a
   * loop in the shell.
   */
  endBy(signal: NodeJS.Signals): void;
  /**
   * Calls back with uncaught errors. Errors of the system, of SQLite and of Chronicle (`ChronicleError`) then no longer
   * end the process. Returns a function that removes the callback.
   */
  onUncaught(callback: (error: unknown) => void): () => void;
}
