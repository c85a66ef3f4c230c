import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import type { HookCall } from "../hooks/hook-call.ts";
import { readSmall, writeSmall } from "./run-folder.ts";

/** The last call of an agent's hooks. `doctor` compares it with the agent's own files. */
export interface LastCall {
  /** ISO-8601. */
  readonly at: string;
  readonly event: string;
  readonly version: string;
}

function fileOf(folder: string, agent: string): string {
  return join(folder, `last-${agent}.json`);
}

/** Prefix of the session ids of `agents test`: such sessions do not count as calls of an agent. */
export const MADE_UP_SESSION = "chronicle-test-";

/**
 * True if the agent itself made the call. A test call, or one that could not be understood, does not show that the
 * agent's hooks fire.
 */
export function isOwnCall(call: HookCall | undefined): call is HookCall {
  return call !== undefined && !call.session.startsWith(MADE_UP_SESSION);
}

/** Records a call that the agent itself made (`isOwnCall`). */
export function rememberCall(disk: Disk, folder: string, agent: string, call: LastCall): void {
  writeSmall(disk, fileOf(folder, agent), JSON.stringify(call));
}

/** Returns the last call of an agent's hooks; `undefined` if there was none. */
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
