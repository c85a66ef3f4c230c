import { basename, dirname, join } from "node:path";
import { NOT_EMPTY } from "../../core/values/errno.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { knownHome } from "../../process/places.ts";
import {
  isEmptyFolder,
  isLink,
  readTextIfThere,
  removeEmptyFolder,
  removeUserFile,
  replaceUserFile,
} from "../../process/user-files.ts";
import type { AgentConfig, ConfigFile, Found, Scope, Wanted } from "./agent-config.ts";
import { wholePath } from "../../core/tree/root-place.ts";
import type { Misfit } from "./json-dialect.ts";
import { optional } from "../../util/optional.ts";

export interface AgentBase {
  readonly scope: Scope;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly project: string;
}

export interface FilePlan {
  readonly path: string;
  readonly holds: ConfigFile["holds"];
  /** The text of the file before the change; `undefined` if the file does not exist. */
  readonly before: string | undefined;
  /** The text of the file after the change; `undefined` if the file is removed or does not exist. */
  readonly after: string | undefined;
  /** The path of a backup of the previous text; `undefined` if no backup is made. */
  readonly backup: string | undefined;
  /**
   * True if the user has another MCP server with the name of Chronicle's server. An installation leaves that server
   * unchanged; an uninstallation does not check this. Also true if the user has edited or written the file of a
   * command. That file then stays as it is.
   */
  readonly namesake: boolean;
  /** The folders to remove if they are empty once the file is removed, the innermost one first. */
  readonly folders: readonly string[];
}

/** The state of one file. `found` is `undefined` if the file does not exist, or cannot be read or parsed. */
export interface FileState {
  readonly path: string;
  readonly holds: ConfigFile["holds"];
  readonly found: Found | undefined;
  /**
   * The reason why the agent does not accept the file, or why Chronicle cannot read it. Absent if neither is the case.
   */
  readonly refused?: { readonly what: string; readonly hint: string };
}

/**
 * Returns the absolute path of a configuration file. `path`: the relative path (`ConfigFile.path`). In the scope
 * `user`, the agent's environment variable can move the file (`AgentConfig.moved`). Throws `USAGE` if the value of this
 * variable is no absolute path.
 */
export function configPath(agent: AgentConfig, path: string, { scope, env, userHome, project }: AgentBase): string {
  if (scope === "project") return join(project, path);
  const { moved } = agent;
  const folder = moved === undefined ? undefined : env[moved.variable];
  if (moved === undefined || folder === undefined || folder === "") return join(userHome || NO_HOME, path);
  const inner = moved.instead !== "" && path.startsWith(`${moved.instead}/`) ? path.slice(moved.instead.length) : path;
  return join(wholePath(`$${moved.variable}`, folder), inner);
}

/** The path of a folder that does not exist. Systems use this path as the home folder of users that have none. */
const NO_HOME = "/nonexistent";

/** Throws `USAGE` in the scope `user` if the home folder is unknown. */
function refuseHomeless({ scope, userHome }: AgentBase): void {
  if (scope === "user") knownHome(userHome);
}

function backupOf(path: string): string {
  return `${path}.before-chronicle`;
}

/**
 * Returns the changes that `install` must make, file by file. A file that had no entry of Chronicle gets a backup.
 * Writes nothing. Throws `REFUSED` if the agent does not accept a file, or if a file cannot be edited.
 */
export function planInstall(agent: AgentConfig, base: AgentBase, wanted: Wanted): FilePlan[] {
  refuseHomeless(base);
  return agent.files[base.scope].map((file) => {
    const path = configPath(agent, file.path, base);
    const before = readConfig(path);
    if (before !== undefined) refuseMisfit(agent, file, { path, text: before });
    const after = noted(file, {
      path,
      before,
      after: named(path, () => edited(before, (text) => file.install(text, wanted))),
    });
    refuseMisfit(agent, file, { path, text: after });
    const isNew = before !== undefined && before !== after && !isOurs(found(file, before));
    const { namesake } = found(file, after);
    const backup = isNew ? backupOf(path) : undefined;
    return { path, holds: file.holds, before, after, backup, namesake, folders: [] };
  });
}

/**
 * Returns the changes that `uninstall` must make, file by file. A file that is empty without Chronicle's entries and
 * has no backup was made only for Chronicle, and is removed. If the path of the file is a link, only the entries are
 * removed. Removing the link would leave the entries in its target. Writes nothing. Throws `REFUSED` if a file cannot
 * be edited.
 */
export function planUninstall(agent: AgentConfig, base: AgentBase): FilePlan[] {
  refuseHomeless(base);
  return agent.files[base.scope].map((file) => {
    const path = configPath(agent, file.path, base);
    const before = readConfig(path);
    const left = before === undefined ? undefined : named(path, () => withoutEntries(agent, file, { path, before }));
    const isEmptied = left !== before && isEmpty(file, left ?? "") && readTextIfThere(backupOf(path)) === undefined;
    return {
      path,
      holds: file.holds,
      before,
      after: isEmptied && !isLink(path) ? undefined : left,
      backup: undefined,
      namesake: file.holds === "command" && left !== undefined && found(file, left).namesake,
      folders: foldersOf(path, file, before),
    };
  });
}

/**
 * Returns the text of a file without Chronicle's entries. If only these entries have changed since the backup, returns
 * the text of the backup. The backup has the original formatting: the installation may have split lines, and removing
 * an entry does not join these lines again.
 */
function withoutEntries(
  agent: AgentConfig,
  file: ConfigFile,
  { path, before }: { readonly path: string; readonly before: string },
): string {
  const left = edited(before, (text) => file.uninstall(text ?? before));
  const backup = left === before ? undefined : readTextIfThere(backupOf(path));
  // A backup that itself has entries of Chronicle is not restored.
  if (backup === undefined || edited(backup, (text) => file.uninstall(text ?? backup)) !== backup) return left;
  const hook = `chronicle-hook ${agent.name}`;
  const again = edited(backup, (text) => file.install(text, { hook, hookBefore: hook, mcp: ["chronicle", "mcp"] }));
  return edited(again, (text) => file.uninstall(text ?? again)) === left ? backup : left;
}

function isEmpty(file: ConfigFile, text: string): boolean {
  return /^\s*(\{\s*\})?\s*$/.test(text) || file.isEmpty?.(text) === true;
}

/**
 * Returns the text of a new file. If a folder above the file already exists and is empty, the text has a note of how
 * many folders the installation makes itself. The empty folder then stays when the file is removed. No note is needed
 * for a folder with other files, because such a folder is never removed. A folder that is named after a command belongs
 * to Chronicle.
 */
function noted(
  file: ConfigFile,
  { path, before, after }: Pick<FilePlan, "path" | "before"> & { readonly after: string },
): string {
  const { foldersAbove = 0 } = file;
  if (before !== undefined || file.noteFolders === undefined) return after;
  const isOthers = (folder: string): boolean => isEmptyFolder(folder) && !basename(folder).startsWith("chronicle-");
  const made = foldersAround(path, foldersAbove).findIndex(isOthers);
  return made < 0 ? after : file.noteFolders(after, made);
}

/** Returns the folders above a file that the installation made for the file, the innermost one first. */
function foldersOf(path: string, file: ConfigFile, before: string | undefined): string[] {
  const { foldersAbove = 0 } = file;
  return foldersAround(path, Math.min(foldersAbove, file.foldersMade?.(before ?? "") ?? foldersAbove));
}

function foldersAround(path: string, count: number): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); folders.length < count; folder = dirname(folder)) folders.push(folder);
  return folders;
}

/**
 * Writes the planned changes and backups. Removes a backup that is equal to the new text of its file. Skips a file that
 * another process has changed as planned. Throws `REFUSED` for a file that was changed otherwise since it was planned,
 * so that no setting is lost that the agent or another program has just written. Throws system errors.
 */
export function carryOut(plans: readonly FilePlan[]): void {
  for (const { path, before, after, backup, folders } of plans) {
    const now = readConfig(path);
    if (after === before || now === after) continue;
    if (now !== before) throw changedSince(path);
    if (backup !== undefined && before !== undefined) replaceUserFile(backup, before, 0o600);
    if (after === undefined) {
      removeUserFile(path);
      removeIfEmpty(folders);
    } else replaceUserFile(path, after);
    if (after !== undefined && readTextIfThere(backupOf(path)) === after) removeUserFile(backupOf(path));
  }
}

function changedSince(path: string): ChronicleError {
  const hint = "give the same command again; files that are done already stay as they are";
  return new ChronicleError("REFUSED", `${path} was changed by another program at this moment`, {
    hint,
    data: { path },
  });
}

function removeIfEmpty(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      removeEmptyFolder(folder);
    } catch (error) {
      // A folder with other files stays. A link in place of a folder stays as well, because Chronicle has not made it.
      if (!NOT_EMPTY.has(errnoOf(error) ?? "") && errnoOf(error) !== "ENOTDIR") throw error;
      return;
    }
  }
}

export function stateOf(agent: AgentConfig, base: AgentBase): FileState[] {
  return agent.files[base.scope].map((file) => {
    const path = configPath(agent, file.path, base);
    const state = { path, holds: file.holds };
    try {
      const text = readConfig(path);
      if (text === undefined) return { ...state, found: undefined };
      const misfit = file.misfit(text);
      const refused = misfit === undefined ? {} : { refused: refusalOf(agent, file, { path, misfit }) };
      return { ...state, found: foundOrNothing(file, text), ...refused };
    } catch (error) {
      return { ...state, found: undefined, refused: whyUnreadable(path, error) };
    }
  });
}

function whyUnreadable(path: string, error: unknown): { readonly what: string; readonly hint: string } {
  if (error instanceof ChronicleError && error.code === "REFUSED")
    return { what: error.message, hint: error.hint ?? "mend that file" };
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  return { what: `${path} cannot be read: ${errno}`, hint: "mend that file" };
}

/**
 * Returns Chronicle's entries in a text. If the text cannot be parsed, the result depends on the agent. If the agent
 * does not accept the text, returns `undefined`, and `misfit` has the reason. If the agent accepts the text, throws
 * `REFUSED`.
 */
function foundOrNothing(file: ConfigFile, text: string): Found | undefined {
  try {
    return found(file, text);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "REFUSED" && file.misfit(text) !== undefined)
      return undefined;
    throw error;
  }
}

function found(file: ConfigFile, text: string): Found {
  return file.found(text.replace(BYTE_ORDER_MARK, ""));
}

const BYTE_ORDER_MARK = /^\uFEFF/;

/** Returns the edited text. A byte order mark at the beginning of the text stays. */
function edited(text: string | undefined, edit: (plain: string | undefined) => string): string {
  const mark = text === undefined ? "" : (BYTE_ORDER_MARK.exec(text)?.[0] ?? "");
  return mark + edit(text?.slice(mark.length));
}

/**
 * Returns the text of a file; `undefined` if there is no file. Throws `REFUSED` if the file is not UTF-8, because its
 * bytes could not be written back unchanged.
 */
function readConfig(path: string): string | undefined {
  try {
    return readTextIfThere(path, "exactly");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const hint = "save the file as UTF-8; nothing was written";
    throw new ChronicleError("REFUSED", `${path}: the file is not UTF-8`, { hint, data: { path }, cause: error });
  }
}

function refusalOf(
  agent: AgentConfig,
  { otherwise }: ConfigFile,
  { path, misfit }: { readonly path: string; readonly misfit: Misfit },
): { readonly what: string; readonly hint: string } {
  const { what, line, hint } = misfit;
  return { what: `${agent.title} ${otherwise}: ${path}, line ${line}: ${what}`, hint };
}

function refuseMisfit(
  agent: AgentConfig,
  file: ConfigFile,
  { path, text }: { readonly path: string; readonly text: string },
): void {
  const misfit = file.misfit(text);
  if (misfit === undefined) return;
  const { what, hint } = refusalOf(agent, file, { path, misfit });
  const { line } = misfit;
  throw new ChronicleError("REFUSED", what, {
    hint: `${hint}, then install again; nothing was written`,
    data: { path, line },
  });
}

function isOurs({ hooks, mcp, command }: Found): boolean {
  return hooks.length > 0 || mcp !== undefined || command === "unedited";
}

function named<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    throw new ChronicleError(error.code, `${path}: ${error.message}`, {
      ...optional({ hint: error.hint }),
      data: { path },
      cause: error,
    });
  }
}
