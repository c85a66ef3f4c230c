import { join } from "node:path";
import type { Disk } from "../../disk/disk.ts";
import { readSmall, writeSmall } from "./run-folder.ts";

/** When an agent's hooks were last heard of. `doctor` compares it with the agent's own files. */
export interface LastCall {
  /** ISO-8601. */
  readonly at: string;
  readonly event: string;
  readonly version: string;
}

function fileOf(folder: string, agent: string): string {
  return join(folder, `last-${agent}.json`);
}

/** Remembers that an agent's hook was called. */
export function rememberCall(disk: Disk, folder: string, agent: string, call: LastCall): void {
  writeSmall(disk, fileOf(folder, agent), JSON.stringify(call));
}

/** `undefined`: never. */
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
