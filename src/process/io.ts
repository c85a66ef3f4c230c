import type { Readable, Writable } from "node:stream";
import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import type { Inheritance } from "./inheritance.ts";

/** A target of text and bytes. */
export interface Sink {
  readonly isTerminal: boolean;
  readonly colours: boolean;
  /** The width in characters; 80 if it is unknown. */
  readonly columns: number;
  /** True if the reader has gone (`EPIPE`). Further output is then dropped. */
  readonly broken: boolean;
  write(text: string): void;
  /** Writes bytes. Resolves when more may be written. */
  writeBytes(bytes: Uint8Array): Promise<void>;
}

/** The surroundings of the command line. `main.ts` makes them from the process. */
export interface Io {
  /** The arguments without the program and the script. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /**
   * The state that this process has inherited (descriptors, exact bytes). A command that replaces this process must
   * inherit it, too.
   */
  readonly inherited: Inheritance;
  readonly version: string;
  readonly out: Sink;
  readonly err: Sink;
  readonly stdinIsTerminal: boolean;
  readStdin(): Promise<string>;
  /** Returns stdin and stdout themselves, for a command that uses a protocol on them. */
  streams(): { readonly input: Readable; readonly output: Writable };
  /** Returns the current folder. Throws `NOT_FOUND` if it was removed. */
  cwd(): string;
  chdir(folder: string): void;
  /** Returns the time in epoch milliseconds. */
  now(): number;
  openStore(options: StoreOptions): Promise<StoreApi>;
  /**
   * Calls back at Ctrl-C, SIGTERM and SIGHUP, which then do not end the process. Returns a function that undoes this.
   */
  onInterrupt(callback: (signal: NodeJS.Signals) => void): () => void;
  /**
   * Ends this process by the signal that ended its command, once all output is written. If the process ended with an
   * exit code instead, a loop in the shell would continue.
   */
  endBy(signal: NodeJS.Signals): void;
  /**
   * Calls back with errors that no code awaited. Errors of the system, of SQLite and of Chronicle (`ChronicleError`)
   * then no longer end the process. Returns a function that undoes this.
   */
  onUncaught(callback: (error: unknown) => void): () => void;
}
