import { ChronicleError } from "../core/errors.ts";
import type { Context } from "./context.ts";
import type { ReadyWrite } from "./ready-write.ts";
import type { Outcome } from "./write-batch.ts";

/** Writes where there is a folder. */
export async function writeOnDisk(_context: Context, _writes: readonly ReadyWrite[]): Promise<Outcome[]> {
  throw new ChronicleError("PLATFORM_UNSUPPORTED", "not built");
}
