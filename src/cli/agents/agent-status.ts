import { NodeDisk } from "../../disk/node-disk.ts";
import { diagnosticsFile, diagnosticsSince } from "../../daemon/diagnostics.ts";
import { lastCall } from "../../daemon/last-call.ts";
import { ownUid, runFolder } from "../../daemon/run-folder.ts";
import type { Io } from "../../process/io.ts";
import { printable } from "../../process/printable.ts";
import { ago } from "../render/when.ts";
import { readTextIfThere } from "../../process/user-files.ts";
import type { AgentConfig } from "./agent-config.ts";
import { type AgentBase, configPath, type FileState, stateOf } from "./install-agent.ts";
import { type HookPlaces, hookText } from "./installed-hook.ts";
import { unacceptedEvents } from "./codex-trust.ts";
import { newestTrace } from "./newest-trace.ts";
import { switchedOff } from "./switched-off.ts";
import { quotePath } from "../../core/shell/quote-command.ts";
import { addAll } from "../../util/long-lists.ts";

/** The status of Chronicle's installation for one agent. */
export interface AgentStatus {
  readonly agent: string;
  readonly title: string;
  readonly scope: "user" | "project";
  readonly state: "installed" | "partly" | "not installed";
  readonly files: readonly { readonly path: string; readonly installed: boolean }[];
  /** The hook's command lines in the configuration. */
  readonly hooks: readonly string[];
  readonly strict: boolean;
  /** True if the hooks are installed and nothing keeps the agent from calling them. */
  readonly active: boolean;
  /** The time of the last hook call, ISO-8601; `null`: never. */
  readonly last_call: string | null;
  /** The version that answered that call. */
  readonly version: string | null;
  readonly problems: readonly AgentProblem[];
}

/** A problem with an agent's hooks. */
export interface AgentProblem {
  readonly what: string;
  readonly hint: string;
  /** True if, because of it, nothing that the agent does is recorded, or not all. */
  readonly stops: boolean;
  /** The problem existed when the agent last worked; it may have been fixed since. */
  readonly past?: true;
}

/**
 * The tolerance for the times of session files, in milliseconds: an agent writes its first lines a moment before or
 * after its hooks run.
 */
const GRACE_MS = 120_000;
const DAY_MS = 86_400_000;

/** Checks an agent's configuration, and whether its hooks are called. */
export function agentStatus(
  io: Io,
  agent: AgentConfig,
  { base, places }: { readonly base: AgentBase; readonly places: HookPlaces },
): AgentStatus {
  const states = stateOf(agent, base);
  const hooks = [...new Set(states.flatMap(({ found }) => found?.hooks ?? []))];
  const files = states.map((state) => ({ path: state.path, installed: isInstalled(state) }));
  const count = files.filter((file) => file.installed).length;
  const disk = new NodeDisk();
  const run = runFolder(disk, { env: io.env, home: places.home, uid: ownUid() });
  const last = lastCall(disk, run.folder, agent.name);
  const traces = configPath(agent, agent.traces, { ...base, scope: "user" });
  const problems = [
    ...states.flatMap(refusals),
    ...[...new Set(hooks.map(programOf))].flatMap((path) => commandProblems(io, path, { agent, base, places })),
  ];
  addAll(problems, [...missingHooks(agent, base, states), ...misplacedStrict(agent, base, states)]);
  if (hooks.length > 0)
    addAll(problems, [...offSettings(agent, base), ...unaccepted(disk, { agent, base, last: last?.at })]);
  if (hooks.length > 0 && base.scope === "user") addAll(problems, silence(disk, traces, { agent, last: last?.at }));
  return {
    agent: agent.name,
    title: agent.title,
    scope: base.scope,
    state: count === 0 ? "not installed" : count === files.length ? "installed" : "partly",
    files,
    hooks,
    strict: hooks.some((command) => command.includes(" --strict")),
    active: hooks.length > 0 && !problems.some(({ stops }) => stops),
    last_call: last?.at ?? null,
    version: last?.version ?? null,
    problems,
  };
}

function isInstalled({ holds, found }: FileState): boolean {
  if (found === undefined) return false;
  const hooked = holds === "mcp" || found.hooks.length > 0;
  return hooked && (holds === "hooks" || found.mcp !== undefined);
}

/** Reports a file that the agent does not accept, unless it is known to have nothing of Chronicle's. */
function refusals({ holds, found, refused }: FileState): AgentProblem[] {
  const isOthers = found !== undefined && found.hooks.length === 0 && found.mcp === undefined;
  return refused === undefined || isOthers ? [] : [{ ...refused, stops: holds !== "mcp" }];
}

/** Checks that the hook that the agent's configuration names exists, and is of this Chronicle. */
function commandProblems(
  io: Io,
  path: string,
  { agent, base, places }: { readonly agent: AgentConfig; readonly base: AgentBase; readonly places: HookPlaces },
): AgentProblem[] {
  const hint = installAgain(agent, base);
  const stat = new NodeDisk().lstat(path);
  if (stat === undefined) return [{ what: `the hook ${path} does not exist: nothing is recorded`, hint, stops: true }];
  if ((stat.mode & 0o100) === 0)
    return [{ what: `the hook ${path} cannot be executed`, hint: `chmod 755 ${quotePath(path)}`, stops: true }];
  const text = readTextIfThere(path) ?? "";
  if (text === hookText(io, places)) return [];
  const version = /version ([0-9][^\s.]*(?:\.[^\s.]+)*)\./.exec(text)?.[1] ?? "unknown";
  const named = [/^node='?(.*?)'?$/m, /^entry='?(.*?)'?$/m].map((line) => line.exec(text)?.[1] ?? "");
  const gone = named.find((file) => file !== "" && new NodeDisk().lstat(file) === undefined);
  if (gone !== undefined)
    return [{ what: `the hook ${path} points to ${gone}, which does not exist`, hint, stops: true }];
  return [{ what: `the hook ${path} is of another installation (version ${version})`, hint, stops: false }];
}

function installAgain({ name }: AgentConfig, { scope }: AgentBase): string {
  return `chronicle agents install ${name}${scope === "project" ? " --project" : ""}`;
}

function offSettings(agent: AgentConfig, base: AgentBase): AgentProblem[] {
  return switchedOff(agent, base).map((problem) => ({ ...problem, stops: true }));
}

/** Reports hooks that somebody removed: the agent's work is then only partly recorded. */
function missingHooks(agent: AgentConfig, base: AgentBase, states: readonly FileState[]): AgentProblem[] {
  const hint = installAgain(agent, base);
  return states.flatMap(({ path, found }) => {
    const missing = found?.missing ?? [];
    return missing.length === 0 ? [] : [{ what: `${path} has no hook for ${missing.join(", ")}`, hint, stops: true }];
  });
}

/**
 * Reports hooks that Codex skips silently, because nobody has accepted them. Hooks that were called since their file
 * was written were accepted in some way.
 */
function unaccepted(
  disk: NodeDisk,
  { agent, base, last }: { readonly agent: AgentConfig; readonly base: AgentBase; readonly last: string | undefined },
): AgentProblem[] {
  if (agent.name !== "codex") return [];
  const file = configPath(agent, ".codex/hooks.json", base);
  const written = Number((disk.lstat(file)?.mtimeNs ?? 0n) / 1_000_000n);
  if (last !== undefined && Date.parse(last) > written) return [];
  const events = unacceptedEvents(file, configPath(agent, ".codex/config.toml", { ...base, scope: "user" }));
  if (events.length === 0) return [];
  const what = `Codex skips hooks in ${file} that nobody has accepted: ${events.join(", ")}`;
  return [{ what, hint: "start codex, and accept them (/hooks shows them)", stops: true }];
}

/**
 * Reports `--strict` at events where earlier versions installed it. A failure to record then refuses prompts, and keeps
 * a turn from ending.
 */
function misplacedStrict(agent: AgentConfig, base: AgentBase, states: readonly FileState[]): AgentProblem[] {
  return states.flatMap(({ path, found }) => {
    const misplaced = found?.misplaced ?? [];
    if (misplaced.length === 0) return [];
    const what = `${path} has --strict in hooks that are not before a tool: ${misplaced.join(", ")}`;
    return [{ what, hint: `${installAgain(agent, base)} --strict`, stops: false }];
  });
}

/** Returns the program of a hook's command line, which is quoted for a shell. */
function programOf(command: string): string {
  const quoted = /^'((?:[^']|'\\'')*)'/.exec(command)?.[1];
  return quoted === undefined ? (command.split(" ", 1)[0] ?? "") : quoted.replaceAll(`'\\''`, "'");
}

/** Reports an agent that has worked without calling its hooks. */
function silence(
  disk: NodeDisk,
  traces: string,
  { agent, last }: { readonly agent: AgentConfig; readonly last: string | undefined },
): AgentProblem[] {
  const newest = newestTrace(disk, traces);
  const heard = last === undefined ? 0 : Date.parse(last);
  if (newest === undefined || newest <= heard + GRACE_MS) return [];
  const when = new Date(newest).toISOString();
  const what = `${agent.title} worked at ${when}, and its hooks were ${last === undefined ? "never called" : `last called at ${last}`}`;
  const trust = agent.name === "codex" ? "Codex skips hooks that are not trusted: accept them with /hooks; " : "";
  return [
    {
      what,
      hint: `${trust}restart ${agent.title}, then try: chronicle agents test ${agent.name}`,
      stops: true,
      past: true,
    },
  ];
}

/** Returns the status for people. */
export function statusLines(status: AgentStatus, now: number): string[] {
  const heard = status.last_call === null ? "never called" : `last called ${ago(status.last_call, now)}`;
  const strict = status.strict ? ", strict" : "";
  const more = status.state === "not installed" ? "" : ` (${heard}${strict})`;
  const off = status.hooks.length > 0 && !status.active ? ", NOT ACTIVE" : "";
  const lines = [`${status.title}, ${status.scope}: ${status.state}${off}${more}`];
  for (const file of status.files) if (file.installed) lines.push(`  ${printable(file.path)}`);
  for (const { what, hint } of status.problems) lines.push(`  BAD ${printable(what)}`, `      ${printable(hint)}`);
  return lines;
}

/** Returns the diagnostics of the last day, grouped by their source, and the file that has them. */
export function recentTroubles(
  io: Io,
  { home }: HookPlaces,
): { readonly lines: ReturnType<typeof diagnosticsSince>; readonly file: string } {
  const disk = new NodeDisk();
  const run = runFolder(disk, { env: io.env, home, uid: ownUid() });
  const lines = diagnosticsSince(disk, run.folder, new Date(io.now() - DAY_MS));
  return { lines, file: diagnosticsFile(run.folder) };
}
