import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** Throws `INTEGRITY_VIOLATION` if the chain is not whole. */
export async function verifyIntegrity(_context: Context): Promise<void> {
  notYet("verifyIntegrity");
}
