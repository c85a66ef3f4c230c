import { join } from "node:path";
import { ChronicleError } from "../../core/errors.ts";
import { readTextIfThere, removeUserFile, replaceUserFile } from "../user-files.ts";
import type { AgentConfig, ConfigFile, Found, Scope, Wanted } from "./agent-config.ts";
import { wholePath } from "../../core/whole-path.ts";

/** Where an agent's files are looked for. */
export interface AgentBase {
  readonly scope: Scope;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** The project's folder. */
  readonly project: string;
}

/** What is to become of one file. */
export interface FilePlan {
  readonly path: string;
  readonly holds: ConfigFile["holds"];
  readonly before: string | undefined;
  /** `undefined`: the file is removed. */
  readonly after: string | undefined;
  /** What there was is kept here first. */
  readonly backup: string | undefined;
}

/** What stands in one file; `undefined`: there is no such file. */
export interface FileState {
  readonly path: string;
  readonly holds: ConfigFile["holds"];
  readonly found: Found | undefined;
  /** Why it cannot be read. */
  readonly unreadable?: string;
}

/** The file's absolute path. Throws `USAGE` where the agent's own variable is none. */
export function configPath(agent: AgentConfig, path: string, { scope, env, userHome, project }: AgentBase): string {
  if (scope === "project") return join(project, path);
  const { moved } = agent;
  const folder = moved === undefined ? undefined : env[moved.variable];
  if (moved === undefined || folder === undefined || folder === "") return join(userHome, path);
  const inner = moved.instead !== "" && path.startsWith(`${moved.instead}/`) ? path.slice(moved.instead.length) : path;
  return join(wholePath(`$${moved.variable}`, folder), inner);
}

function backupOf(path: string): string {
  return `${path}.before-chronicle`;
}

/** What `install` would do, file by file. Throws `REFUSED`, with the file's name, before anything is written. */
export function planInstall(agent: AgentConfig, base: AgentBase, wanted: Wanted): FilePlan[] {
  return agent.files[base.scope].map((file) => {
    const path = configPath(agent, file.path, base);
    const before = readTextIfThere(path);
    const after = named(path, () => file.install(before, wanted));
    const isNew = before !== undefined && !isThere(file.found(before));
    return { path, holds: file.holds, before, after, backup: isNew ? backupOf(path) : undefined };
  });
}

/** What `uninstall` would do. A file that was made for Chronicle alone is removed. */
export function planUninstall(agent: AgentConfig, base: AgentBase): FilePlan[] {
  return agent.files[base.scope].map((file) => {
    const path = configPath(agent, file.path, base);
    const before = readTextIfThere(path);
    const left = before === undefined ? undefined : named(path, () => file.uninstall(before));
    const isOurs =
      left !== before && /^\s*(\{\s*\})?\s*$/.test(left ?? "") && readTextIfThere(backupOf(path)) === undefined;
    return { path, holds: file.holds, before, after: isOurs ? undefined : left, backup: undefined };
  });
}

/** Does what was planned. A backup that says what the file says now is removed. Throws system errors. */
export function carryOut(plans: readonly FilePlan[]): void {
  for (const { path, before, after, backup } of plans) {
    if (after === before) continue;
    if (backup !== undefined && before !== undefined) replaceUserFile(backup, before, 0o600);
    if (after === undefined) removeUserFile(path);
    else replaceUserFile(path, after);
    if (after !== undefined && readTextIfThere(backupOf(path)) === after) removeUserFile(backupOf(path));
  }
}

/** What stands where. */
export function stateOf(agent: AgentConfig, base: AgentBase): FileState[] {
  return agent.files[base.scope].map((file) => {
    const path = configPath(agent, file.path, base);
    const text = readTextIfThere(path);
    try {
      return { path, holds: file.holds, found: text === undefined ? undefined : named(path, () => file.found(text)) };
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "REFUSED") throw error;
      return { path, holds: file.holds, found: undefined, unreadable: error.message };
    }
  });
}

function isThere({ hooks, mcp }: Found): boolean {
  return hooks.length > 0 || mcp !== undefined;
}

function named<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    throw new ChronicleError(error.code, `${path}: ${error.message}`, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      data: { path },
      cause: error,
    });
  }
}
