import type { Readable, Writable } from "node:stream";
import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import type { Inheritance } from "./inheritance.ts";

/** A target of text and bytes. */
export interface Sink {
  readonly isTerminal: boolean;
  readonly colours: boolean;
  /** Width in characters; 80 if unknown. */
  readonly columns: number;
  /** True when the reader has gone (`EPIPE`): everything further is dropped. */
  readonly broken: boolean;
  write(text: string): void;
  /** Resolves when more may be written. */
  writeBytes(bytes: Uint8Array): Promise<void>;
}

/** The surroundings of the command line. `main.ts` makes them from the process. */
export interface Io {
  /** Arguments without the program and the script. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /**
   * The state that this process inherited (descriptors, exact bytes), which a command that replaces it must inherit,
   * too.
   */
  readonly inherited: Inheritance;
  readonly version: string;
  readonly out: Sink;
  readonly err: Sink;
  readonly stdinIsTerminal: boolean;
  readStdin(): Promise<string>;
  /** Stdin and stdout themselves, for a command that speaks a protocol on them. */
  streams(): { readonly input: Readable; readonly output: Writable };
  /** Returns the current folder. Throws `NOT_FOUND` if it was removed. */
  cwd(): string;
  chdir(folder: string): void;
  /** Epoch milliseconds. */
  now(): number;
  openStore(options: StoreOptions): Promise<StoreApi>;
  /** Calls back at Ctrl-C, SIGTERM and SIGHUP instead of ending the process. Returns a function that undoes this. */
  onInterrupt(callback: (signal: NodeJS.Signals) => void): () => void;
  /**
   * Ends this process by the signal that ended its command, once all output is written. After an exit code, a loop in
   * the shell would continue.
   */
  endBy(signal: NodeJS.Signals): void;
  /**
   * Calls back with errors that no code awaited. Errors of the system, of SQLite and of Chronicle (`ChronicleError`)
   * then no longer end the process. Returns a function that undoes this.
   */
  onUncaught(callback: (error: unknown) => void): () => void;
}
