/** Reads and edits Chronicle's entries in an agent's configuration files. Pure: text in, text out. */

import { isObject } from "./json-edit.ts";
import type { Misfit } from "./json-dialect.ts";

/** The entries to write. */
export interface Wanted {
  /** The command line of the hook, for a shell. */
  readonly hook: string;
  /** The command line of the hook before a tool: the only hook that may stop the agent. */
  readonly hookBefore: string;
  /** The program of the MCP server, and its arguments. */
  readonly mcp: readonly string[];
}

/** One file of an agent's configuration. */
export interface ConfigFile {
  /** The path beneath the base folder (the project, or the user's home). */
  readonly path: string;
  /** The kinds of Chronicle's entries that it holds. */
  readonly holds: "hooks" | "mcp" | "both";
  /** The agent's treatment of a file that it does not accept, in words: `ignores it`, `does not start with it`. */
  readonly otherwise: string;
  /** Returns why the agent does not accept a text; `undefined` if it does. */
  misfit(text: string): Misfit | undefined;
  /**
   * Returns the text with Chronicle's entries; the same text if it has them already. Throws `REFUSED` for a text that
   * cannot be parsed.
   */
  install(text: string | undefined, wanted: Wanted): string;
  /** Returns the text without Chronicle's entries. Throws `REFUSED`. */
  uninstall(text: string): string;
  /** Returns Chronicle's command lines in a text, even if the agent does not accept it. Throws `REFUSED`. */
  found(text: string): Found;
}

export interface Found {
  readonly hooks: readonly string[];
  readonly mcp: readonly string[] | undefined;
  /** True if a server of the user's own has the name of Chronicle's. */
  readonly namesake: boolean;
  /** Events of the agent without a hook of Chronicle's, though others have one. */
  readonly missing: readonly string[];
  /** Events, other than the event before a tool, whose hook of Chronicle's may stop the agent. */
  readonly misplaced: readonly string[];
}

/** The configuration of one agent. */
export interface AgentConfig {
  readonly name: string;
  readonly title: string;
  readonly files: Readonly<Record<Scope, readonly ConfigFile[]>>;
  /** An environment variable that moves the user's files, and the folder that it replaces (empty: the home). */
  readonly moved?: { readonly variable: string; readonly instead: string };
  /** Further steps for a person. */
  readonly notes: Readonly<Record<Scope, readonly string[]>>;
  /**
   * A folder beneath the user's home in which, at some depth, the agent writes a `.json` or `.jsonl` in each session.
   */
  readonly traces: string;
}

/** The configuration's scope: all projects of the user, or one project. */
export type Scope = "user" | "project";

/** Matches Chronicle's program, or its package. */
const PROGRAM = /^(?:@chronicle-dev\/chronicle(?:@.*)?|(?:.*[/\\])?chronicle(?:\.(?:[cm]?js|cmd|exe))?)$/;

/** Matches the path that `install` writes. An entry with it is Chronicle's, whichever program runs it. */
const LAUNCHER = /[/\\]bin[/\\]chronicle\.js$/;

/** Matches programs that may run Chronicle's program. */
const RUNNER = /^(?:.*[/\\])?(?:node|nodejs|npx|npm|pnpx|pnpm|yarn|bunx|bun|deno)(?:\.(?:exe|cmd))?$/;

/**
 * Returns the command line of an entry among MCP servers; `undefined` if it is not Chronicle's. Another server may have
 * the same name.
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
