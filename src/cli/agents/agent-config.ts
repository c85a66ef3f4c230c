// This module describes the configuration files of agents and Chronicle's entries in these files. All functions work on
// the texts of files, and access no files.

import { isObject } from "./json-edit.ts";
import type { Misfit } from "./json-dialect.ts";

/** The commands of Chronicle's entries in a configuration file. */
export interface Wanted {
  /** The command line of the hook, for a shell. */
  readonly hook: string;
  /** The command line of the hook that runs before a tool. Only this hook may stop the agent. */
  readonly hookBefore: string;
  /** The program of the MCP server and its arguments. */
  readonly mcp: readonly string[];
}

/** One file of an agent's configuration. */
export interface ConfigFile {
  /** The path relative to the project or to the user's home folder. */
  readonly path: string;
  /** The kinds of Chronicle's entries in this file. `command`: the whole file is a slash command of Chronicle. */
  readonly holds: "hooks" | "mcp" | "both" | "command";
  /**
   * The number of folders above the file that an installation may make, and that an uninstallation removes if they are
   * empty. Default: 0, because the folder belongs to the agent.
   */
  readonly foldersAbove?: number;
  /**
   * Returns the text of a new file with a note that the installation has made only `made` of the folders above the
   * file. An uninstallation then removes only these folders.
   */
  noteFolders?(text: string, made: number): string;
  /**
   * Returns the number of folders that a text notes. Returns `undefined` if the text has no note, which means that the
   * installation made all of the folders.
   */
  foldersMade?(text: string): number | undefined;
  /**
   * The words after the agent's name in a sentence about a file that the agent does not accept. Examples: `ignores the
   * whole file`, `does not start with this file`.
   */
  readonly otherwise: string;
  /** Returns the reason why the agent does not accept a text; `undefined` if the agent accepts it. */
  misfit(text: string): Misfit | undefined;
  /**
   * Returns the text with Chronicle's entries. `text`: `undefined` if the file does not exist. A text that already has
   * these entries is returned unchanged. Throws `REFUSED` for a text that cannot be parsed or edited.
   */
  install(text: string | undefined, wanted: Wanted): string;
  /** Returns the text without Chronicle's entries. Throws `REFUSED` for a text that cannot be parsed or edited. */
  uninstall(text: string): string;
  /**
   * Returns true if a text from which Chronicle's entries were removed has nothing else. Default: true for an empty
   * text or an empty object.
   */
  isEmpty?(text: string): boolean;
  /**
   * Returns Chronicle's entries in a text, even if the agent does not accept the text. Throws `REFUSED` for a text that
   * cannot be parsed.
   */
  found(text: string): Found;
}

export interface Found {
  /** The distinct command lines of Chronicle's hooks. */
  readonly hooks: readonly string[];
  /** The words of the command line of Chronicle's MCP server; `undefined` if the text has no such server. */
  readonly mcp: readonly string[] | undefined;
  /**
   * True if the user has another MCP server with the name of Chronicle's server, or has edited or written the file of a
   * command.
   */
  readonly namesake: boolean;
  /** The state of a slash command. Absent for files that hold no command. */
  readonly command?: "missing" | "unedited" | "edited";
  /**
   * The events that should have a hook of Chronicle but have none. Empty if no event at all has such a hook, because
   * Chronicle's hooks are then not installed.
   */
  readonly missing: readonly string[];
  /** The events at which a hook of Chronicle has `--strict` by mistake, because the events do not precede a tool. */
  readonly misplaced: readonly string[];
}

export interface AgentConfig {
  readonly name: string;
  readonly title: string;
  readonly files: Readonly<Record<Scope, readonly ConfigFile[]>>;
  /**
   * The environment variable that moves the user's files. The value of this variable replaces the folder `instead`. If
   * `instead` is empty, the value replaces the home folder. If `moved` is absent, the user's files cannot be moved.
   */
  readonly moved?: { readonly variable: string; readonly instead: string };
  /** True if the hooks follow the client's documentation only, and were never run with the client itself. */
  readonly untried?: true;
  /** Further steps that a person must do after the installation. */
  readonly notes: Readonly<Record<Scope, readonly string[]>>;
  /**
   * The folder of the agent's session files, relative to the user's home folder. A session file is a `.json` or
   * `.jsonl` file, perhaps in a subfolder. If absent, the agent has no such files.
   */
  readonly traces?: string;
}

/** The configuration's scope: all projects of the user, or one project. */
export type Scope = "user" | "project";

/** Matches the name or path of Chronicle's program, and the name of its package. */
const PROGRAM = /^(?:@chronicle-dev\/chronicle(?:@.*)?|(?:.*[/\\])?chronicle(?:\.(?:[cm]?js|cmd|exe))?)$/;

/**
 * Matches the path of Chronicle's launcher, as `install` writes it into an entry. An entry with this path belongs to
 * Chronicle, whatever program runs the launcher.
 */
const LAUNCHER = /[/\\]bin[/\\]chronicle\.js$/;

/** Matches programs that may run Chronicle's program. */
const RUNNER = /^(?:.*[/\\])?(?:node|nodejs|npx|npm|pnpx|pnpm|yarn|bunx|bun|deno)(?:\.(?:exe|cmd))?$/;

/**
 * Returns the words of the command line in an entry for an MCP server. Returns `undefined` if the entry does not run
 * Chronicle's `mcp`: another server may have the name of Chronicle's.
 */
export function ownCommand(entry: unknown): string[] | undefined {
  if (!isObject(entry) || typeof entry["command"] !== "string") return undefined;
  const args: unknown[] = Array.isArray(entry["args"]) ? entry["args"] : [];
  const words = [entry["command"], ...args.map(String)];
  const at = words.findIndex((word) => PROGRAM.test(word));
  const program = words[at] ?? "";
  const runs = at === 0 || RUNNER.test(entry["command"]) || LAUNCHER.test(program);
  return at >= 0 && runs && words.includes("mcp", at + 1) ? words : undefined;
}
