/** How Chronicle stands in one of an agent's configuration files. Pure: text in, text out. */

import type { Misfit } from "./json-dialect.ts";

/** What is to be put there. */
export interface Wanted {
  /** The command line of the hook, for a shell. */
  readonly hook: string;
  /** That of the hook before a tool: the one place at which an agent may be stopped. */
  readonly hookBefore: string;
  /** The program of the MCP server, and its arguments. */
  readonly mcp: readonly string[];
}

/** One file of an agent's configuration. */
export interface ConfigFile {
  /** Beneath the base folder (the project, or the user's home). */
  readonly path: string;
  /** What of Chronicle's it holds. */
  readonly holds: "hooks" | "mcp" | "both";
  /** The agent's way with a file that it does not take, in words: `ignores it`, `does not start with it`. */
  readonly otherwise: string;
  /** Why the agent does not take a text; `undefined`: it does. */
  misfit(text: string): Misfit | undefined;
  /** The text with Chronicle in it; the same text if it is there already. Throws `REFUSED` for what cannot be read. */
  install(text: string | undefined, wanted: Wanted): string;
  /** The text without anything of Chronicle's. Throws `REFUSED`. */
  uninstall(text: string): string;
  /** The command lines of Chronicle's that stand there, also in a text that the agent does not take. Throws `REFUSED`. */
  found(text: string): Found;
}

export interface Found {
  readonly hooks: readonly string[];
  readonly mcp: readonly string[] | undefined;
  /** A server of the user's own has the name of Chronicle's. */
  readonly namesake: boolean;
  /** Events of the agent that have no hook of Chronicle's, though others have. */
  readonly missing: readonly string[];
  /** Events other than that before a tool whose hook of Chronicle's may stop the agent. */
  readonly misplaced: readonly string[];
}

/** The configuration of one agent. */
export interface AgentConfig {
  readonly name: string;
  readonly title: string;
  readonly files: Readonly<Record<Scope, readonly ConfigFile[]>>;
  /** An environment variable that moves the user's files, and which folder it stands for (empty: the home). */
  readonly moved?: { readonly variable: string; readonly instead: string };
  /** What a person has to do besides. */
  readonly notes: Readonly<Record<Scope, readonly string[]>>;
  /** A folder beneath the user's home, somewhere in which the agent writes a `.json` or `.jsonl` in each session. */
  readonly traces: string;
}

/** Whose configuration: all projects of the user, or the one. */
export type Scope = "user" | "project";
