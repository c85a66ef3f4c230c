import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import type { Io, Sink } from "../process/io.ts";

/** The input and output of a hook's command, and its surroundings. */
export interface HookIo extends Pick<Io, "env" | "userHome" | "version" | "readStdin" | "cwd" | "now"> {
  readonly out: Pick<Sink, "write">;
  readonly err: Pick<Sink, "write">;
  /** `once`: for a single call, in a process that ends when the store is closed. */
  openStore(options: StoreOptions, once?: boolean): Promise<StoreApi>;
}
