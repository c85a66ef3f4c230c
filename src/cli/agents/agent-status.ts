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

/** How Chronicle stands with one agent. */
export interface AgentStatus {
  readonly agent: string;
  readonly title: string;
  readonly scope: "user" | "project";
  readonly state: "installed" | "partly" | "not installed";
  readonly files: readonly { readonly path: string; readonly installed: boolean }[];
  /** The hook's command lines that stand there. */
  readonly hooks: readonly string[];
  readonly strict: boolean;
  /** The hooks stand there, and nothing keeps the agent from calling them. */
  readonly active: boolean;
  /** When a hook was called last, ISO-8601; `null`: never. */
  readonly last_call: string | null;
  /** The version that answered it. */
  readonly version: string | null;
  readonly problems: readonly AgentProblem[];
}

/** Something that is wrong with an agent's hooks. */
export interface AgentProblem {
  readonly what: string;
  readonly hint: string;
  /** While it stands, nothing that the agent does is recorded, or not all of it. */
  readonly stops: boolean;
  /** It was so when the agent last worked; it may have been mended since. */
  readonly past?: true;
}

/** An agent writes its first lines a moment before or after its hooks run, in milliseconds. */
const GRACE_MS = 120_000;
const DAY_MS = 86_400_000;

/** Looks at an agent's configuration, and whether its hooks fire. */
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

/** A file that the agent does not take. One in which nothing of Chronicle's stands is a problem where it cannot be told. */
function refusals({ holds, found, refused }: FileState): AgentProblem[] {
  const isOthers = found !== undefined && found.hooks.length === 0 && found.mcp === undefined;
  return refused === undefined || isOthers ? [] : [{ ...refused, stops: holds !== "mcp" }];
}

/** Is what the agent's configuration names there, and is it this Chronicle's? */
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

/** Somebody took out a part: what the agent does is then recorded by halves. */
function missingHooks(agent: AgentConfig, base: AgentBase, states: readonly FileState[]): AgentProblem[] {
  const hint = installAgain(agent, base);
  return states.flatMap(({ path, found }) => {
    const missing = found?.missing ?? [];
    return missing.length === 0 ? [] : [{ what: `${path} has no hook for ${missing.join(", ")}`, hint, stops: true }];
  });
}

/**
 * Codex skips hooks that nobody has accepted, and says nothing. Hooks that were called since their file was written were
 * accepted, in whichever way.
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

/** As earlier versions installed it: what cannot be recorded then refuses prompts, and keeps a turn from ending. */
function misplacedStrict(agent: AgentConfig, base: AgentBase, states: readonly FileState[]): AgentProblem[] {
  return states.flatMap(({ path, found }) => {
    const misplaced = found?.misplaced ?? [];
    if (misplaced.length === 0) return [];
    const what = `${path} has --strict in hooks that are not before a tool: ${misplaced.join(", ")}`;
    return [{ what, hint: `${installAgain(agent, base)} --strict`, stops: false }];
  });
}

/** The program of a hook's command line, which is quoted for a shell. */
function programOf(command: string): string {
  const quoted = /^'((?:[^']|'\\'')*)'/.exec(command)?.[1];
  return quoted === undefined ? (command.split(" ", 1)[0] ?? "") : quoted.replaceAll(`'\\''`, "'");
}

/** The agent was at work, and its hooks were not heard of. */
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

/** The status for people. */
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

/** What went wrong in the last day, by whose trouble it was, and where it is told. */
export function recentTroubles(
  io: Io,
  { home }: HookPlaces,
): { readonly lines: ReturnType<typeof diagnosticsSince>; readonly file: string } {
  const disk = new NodeDisk();
  const run = runFolder(disk, { env: io.env, home, uid: ownUid() });
  const lines = diagnosticsSince(disk, run.folder, new Date(io.now() - DAY_MS));
  return { lines, file: diagnosticsFile(run.folder) };
}
