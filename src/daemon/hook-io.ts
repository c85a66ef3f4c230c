import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import type { Io, Sink } from "../process/io.ts";

export interface HookIo extends Pick<Io, "env" | "userHome" | "version" | "readStdin" | "cwd" | "now"> {
  readonly out: Pick<Sink, "write">;
  readonly err: Pick<Sink, "write">;
  /** `once`: the store is used for a single call, and the process ends when the store is closed. */
  openStore(options: StoreOptions, once?: boolean): Promise<StoreApi>;
}
