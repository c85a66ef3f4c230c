import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import type { HookCall } from "../hooks/hook-call.ts";
import { readSmall, writeSmall } from "./run-folder.ts";

/** The last call of an agent's hooks. `doctor` compares it with the agent's own files. */
export interface LastCall {
  /** ISO-8601. */
  readonly at: string;
  /** The kind of the call (`HookCall.kind`). */
  readonly event: string;
  /** The version of Chronicle that answered the call. */
  readonly version: string;
}

function fileOf(folder: string, agent: string): string {
  return join(folder, `last-${agent}.json`);
}

/** The prefix of the session ids of `agents test`. Calls in such sessions are not calls of an agent. */
export const MADE_UP_SESSION = "chronicle-test-";

/**
 * Returns true for a call that an agent itself made. Returns false for a call of `agents test`, and for a call that was
 * not understood.
 */
export function isOwnCall(call: HookCall | undefined): call is HookCall {
  return call !== undefined && !call.session.startsWith(MADE_UP_SESSION);
}

/** Records the last call of an agent. Must only be called for calls that the agent itself made (`isOwnCall`). */
export function rememberCall(disk: Disk, folder: string, agent: string, call: LastCall): void {
  writeSmall(disk, fileOf(folder, agent), JSON.stringify(call));
}

/** Returns the last recorded call of an agent; `undefined` if no call is recorded, or if the file is malformed. */
export function lastCall(disk: Disk, folder: string, agent: string): LastCall | undefined {
  const text = readSmall(disk, fileOf(folder, agent));
  if (text === undefined) return undefined;
  try {
    const { at, event, version } = JSON.parse(text) as Partial<Record<keyof LastCall, unknown>>;
    return typeof at === "string" ? { at, event: String(event), version: String(version) } : undefined;
  } catch {
    return undefined;
  }
}
