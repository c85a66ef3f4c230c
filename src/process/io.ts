import type { Readable, Writable } from "node:stream";
import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import type { CommandRunner, RunOptions } from "../api/workspace-api.ts";
import type { Inheritance } from "./inheritance.ts";
import type { Around, WorkAround } from "../core/values/agents-role.ts";
import type { NeedsClient } from "./needs-client.ts";

export interface Sink {
  readonly isTerminal: boolean;
  readonly colours: boolean;
  /** The width in characters; 80 if it is unknown. */
  readonly columns: number;
  /**
   * True if a write has failed, for example because the reader has closed the stream (`EPIPE`). Further output is then
   * dropped.
   */
  readonly broken: boolean;
  write(text: string): void;
  /** Writes the bytes. Resolves when they are written, or dropped because a write has failed. */
  writeBytes(bytes: Uint8Array): Promise<void>;
}

/**
 * The interface of a command line to its process: arguments, environment, streams and signals. If the store's
 * long-lived process carries out a command, they are those of the client process. `start.ts` makes the `Io` of a
 * process.
 */
export interface Io {
  /** The arguments without the program and the script. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The home folder; empty if it is unknown (see `ownHome`). */
  readonly userHome: string;
  /**
   * The descriptors and texts from this process's parent. A command that replaces this process must inherit them, too.
   */
  readonly inherited: Inheritance;
  readonly version: string;
  readonly out: Sink;
  readonly err: Sink;
  readonly stdinIsTerminal: boolean;
  /** Reads stdin to its end, as UTF-8. */
  readStdin(): Promise<string>;
  /** Stdin and stdout themselves, for a command that uses a protocol on them. */
  streams(): { readonly input: Readable; readonly output: Writable };
  /** Returns the current folder. Throws `NOT_FOUND` if it was removed. */
  cwd(): string;
  chdir(folder: string): void;
  /** Returns the time, in epoch milliseconds. */
  now(): number;
  /**
   * Opens a store. If `once` is true, the process ends right after the store is closed (see `openStoreOnce`). Default:
   * false.
   */
  openStore(options: StoreOptions, once?: boolean): Promise<StoreApi>;
  /**
   * Set if this is the store's long-lived process and it carries out a command for a client process. `needsClient`
   * returns the error that hands the command back to the client (see `NeedsClient`). `changing` must be called before
   * each change. `progress` shows a text on the client's terminal at once, in place of the previous text. `startedWithin`
   * returns the open work that started the client, and throws `NeedsClient` if the client's ancestors are unknown.
   */
  readonly served?: {
    readonly needsClient: (reason: string) => NeedsClient;
    readonly changing: () => void;
    readonly progress: (text: string) => void;
    readonly startedWithin: (whose?: Around) => Promise<WorkAround | undefined>;
  };
  /**
   * The id of this command. Set if the store's process may have begun this command already. A change is made only once
   * for each id.
   */
  readonly request?: string;
  /**
   * Sends the output of this command to the user's pager once the output does not fit on the screen. In the store's
   * process, the output is held back until the command ends. Absent if neither this process nor its client has a
   * terminal.
   */
  readonly page?: () => void;
  /** Starts the command of a run in the client process for which this process carries out `chronicle run`. */
  readonly runner?: CommandRunner;
  /**
   * The end of a run's command. Set if the store's process has recorded the start of the run, but has ended before the
   * run's command. This process then records the end of the run.
   */
  readonly ended?: RunOptions["ended"];
  /**
   * Runs a command line with another `Io`, for a process that carries out the commands of clients. Resolves to the exit
   * code.
   */
  readonly runInside?: (io: Io) => Promise<number>;
  /**
   * Calls `callback` on SIGINT (Ctrl-C), SIGTERM and SIGHUP. While a callback is set, these signals do not end the
   * process. Returns a function that removes the callback.
   */
  onInterrupt(callback: (signal: NodeJS.Signals) => void): () => void;
  /**
   * Ends this process by the signal that ended its command, once all output is written. If this process ended with an
   * exit code instead, a shell would continue a loop that contains the command. If this process ignores the signal, it
   * ends with its exit code instead.
   */
  endBy(signal: NodeJS.Signals): void;
  /**
   * Calls `callback` with each uncaught error. While a callback is set, errors of the system, of SQLite and of
   * Chronicle (`ChronicleError`) do not end the process; any other error still does. Returns a function that removes
   * the callback.
   */
  onUncaught(callback: (error: unknown) => void): () => void;
}
