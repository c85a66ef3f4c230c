import { extname } from "node:path";
import { NodeDisk } from "../../disk/node-disk.ts";
import { orNothing } from "../../daemon/agent-process.ts";
import { isThere, readTextIfThere, statBehindLink } from "../../process/user-files.ts";
import { isObject, readJsonc } from "./json-edit.ts";
import { ourPlaces } from "./json-hooks.ts";
import { readToml, tomlMisfit } from "./toml-mcp.ts";
import type { Disk } from "../../disk/disk.ts";
import { errnoOf, ChronicleError } from "../../core/values/errors.ts";
import type { AgentConfig, Scope } from "./agent-config.ts";
import { type AgentBase, configPath, type FileState, stateOf } from "./install-agent.ts";
import { diagnosticsFile, diagnosticsSince } from "../../daemon/diagnostics.ts";
import { lastCall } from "../../daemon/last-call.ts";
import { ownUid, runFolder } from "../../daemon/run-folder.ts";
import type { Io } from "../../process/io.ts";
import { printable } from "../../process/printable.ts";
import { ago } from "../render/words.ts";
import { type HookPlaces, hookText } from "./hook-script.ts";
import { quotePath } from "../../core/shell/quote-command.ts";
import { addAll } from "../../util/long-lists.ts";
import { AGENT_CONFIGS } from "./agent-table.ts";

export interface AgentStatus {
  readonly agent: string;
  readonly title: string;
  readonly scope: "user" | "project";
  readonly state: "installed" | "partly" | "not installed";
  readonly files: readonly { readonly path: string; readonly installed: boolean }[];
  /** The distinct command lines of Chronicle's hook in the configuration. */
  readonly hooks: readonly string[];
  /** True if at least one of Chronicle's hooks has `--strict`. */
  readonly strict: boolean;
  /** True if Chronicle was only tested with documented inputs of this agent, and never with the agent itself. */
  readonly untried: boolean;
  /** True if hooks are installed and no known problem keeps the agent's work from being recorded. */
  readonly active: boolean;
  /** The time of the agent's last call of a hook (ISO-8601), in any scope; `null` if the agent has never called one. */
  readonly last_call: string | null;
  /** The version of Chronicle that answered the last call; `null` if there was no call. */
  readonly version: string | null;
  readonly problems: readonly AgentProblem[];
}

interface AgentProblem {
  readonly what: string;
  readonly hint: string;
  /** True if the problem keeps some or all of the agent's work from being recorded. */
  readonly stops: boolean;
  /** True if the problem existed when the agent last worked, but may have been fixed since. */
  readonly past?: true;
}

/**
 * The maximum time, in milliseconds, by which a session file may be newer than the last call of a hook. If the file is
 * newer than that, the agent has worked without its hooks. A smaller difference is normal, because an agent may write
 * to the file after its hooks have run.
 */
const GRACE_MS = 120_000;
const DAY_MS = 86_400_000;

/**
 * Checks an agent's configuration, and whether its hooks are called. Throws `USAGE` if the value of the agent's
 * environment variable (`AgentConfig.moved`) is no absolute path.
 */
export function agentStatus(
  io: Io,
  agent: AgentConfig,
  { base, places }: { readonly base: AgentBase; readonly places: HookPlaces },
): AgentStatus {
  const states = stateOf(agent, base);
  const hooks = [...new Set(states.flatMap(({ found }) => found?.hooks ?? []))];
  const files = states.map((state) => ({ path: state.path, installed: isInstalled(state) }));
  const isMain = (_: unknown, at: number): boolean => states[at]?.holds !== "command";
  const main = files.filter(isMain);
  const count = main.filter((file) => file.installed).length;
  const disk = new NodeDisk();
  const run = runFolder(disk, { env: io.env, home: places.home, uid: ownUid() });
  const last = lastCall(disk, run.folder, agent.name);
  const problems = [
    ...states.flatMap(refusals),
    ...[...new Set(hooks.map(programOf))].flatMap((path) => commandProblems(io, path, { agent, base, places })),
  ];
  addAll(problems, [...missingHooks(agent, base, states), ...misplacedStrict(agent, base, states)]);
  if (hooks.length > 0)
    addAll(problems, [...offSettings(agent, base), ...unaccepted(disk, { agent, base, last: last?.at })]);
  if (hooks.length > 0 && base.scope === "user") addAll(problems, silence(disk, { agent, base, last: last?.at }));
  return {
    agent: agent.name,
    title: agent.title,
    scope: base.scope,
    state: count === 0 ? "not installed" : count === main.length ? "installed" : "partly",
    files,
    hooks,
    untried: agent.untried === true,
    strict: hooks.some((command) => command.includes(" --strict")),
    active: hooks.length > 0 && !problems.some(({ stops }) => stops),
    last_call: last?.at ?? null,
    version: last?.version ?? null,
    problems,
  };
}

function isInstalled({ holds, found }: FileState): boolean {
  if (found === undefined) return false;
  if (holds === "command") return found.command !== "missing";
  const hooked = holds === "mcp" || found.hooks.length > 0;
  return hooked && (holds === "hooks" || found.mcp !== undefined);
}

/**
 * Reports a file that cannot be read or that the agent does not accept. A file that certainly has no entry of Chronicle
 * is not reported.
 */
function refusals({ holds, found, refused }: FileState): AgentProblem[] {
  const isOthers = found !== undefined && found.hooks.length === 0 && found.mcp === undefined;
  return refused === undefined || isOthers ? [] : [{ ...refused, stops: holds === "hooks" || holds === "both" }];
}

interface HookOwner {
  readonly agent: AgentConfig;
  readonly base: AgentBase;
  readonly places: HookPlaces;
}

function commandProblems(io: Io, path: string, owner: HookOwner): AgentProblem[] {
  try {
    return hookProblems(io, path, owner);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    const hint = `move away what is at this path, then: ${installAgain(owner.agent, owner.base)}`;
    return [{ what: `the hook ${path} cannot be read (${errno})`, hint, stops: true }];
  }
}

/** Returns the problems of the hook's script at `path`. Throws system errors. */
function hookProblems(io: Io, path: string, { agent, base, places }: HookOwner): AgentProblem[] {
  const hint = installAgain(agent, base);
  const stat = statBehindLink(path);
  if (stat === undefined) return [{ what: `the hook ${path} does not exist: nothing is recorded`, hint, stops: true }];
  if ((stat.mode & 0o100) === 0)
    return [{ what: `the hook ${path} cannot be executed`, hint: `chmod 755 ${quotePath(path)}`, stops: true }];
  const text = readTextIfThere(path) ?? "";
  if (text === hookText(io, places)) return [];
  const version = /version ([0-9][^\s.]*(?:\.[^\s.]+)*)\./.exec(text)?.[1] ?? "unknown";
  const named = [/^node=(.*)$/m, /^entry=(.*)$/m].map((line) => programOf(line.exec(text)?.[1] ?? ""));
  const gone = named.find((file) => file !== "" && !isThere(file));
  if (gone !== undefined)
    return [{ what: `the hook ${path} points to ${gone}, which does not exist`, hint, stops: true }];
  return [{ what: `the hook ${path} belongs to another installation (version ${version})`, hint, stops: false }];
}

function installAgain({ name }: AgentConfig, { scope }: AgentBase): string {
  return `chronicle agents install ${name}${scope === "project" ? " --project" : ""}`;
}

function offSettings(agent: AgentConfig, base: AgentBase): AgentProblem[] {
  return switchedOff(agent, base).map((problem) => ({ ...problem, stops: true }));
}

/**
 * Reports the events that have no hook of Chronicle, if other events have such a hook. In that case, the agent's work
 * is only partly recorded.
 */
function missingHooks(agent: AgentConfig, base: AgentBase, states: readonly FileState[]): AgentProblem[] {
  const hint = installAgain(agent, base);
  const isHooked = states.some(({ found }) => (found?.hooks.length ?? 0) > 0);
  return states.flatMap(({ path, holds, found, refused }) => {
    const missing = found?.missing ?? [];
    if (missing.length > 0) return [{ what: `${path} has no hook for ${missing.join(", ")}`, hint, stops: true }];
    // Some agents have a separate file of hooks for each event. If only one of these files is gone, report that file.
    const isGone = isHooked && holds === "hooks" && refused === undefined && (found?.hooks.length ?? 0) === 0;
    return isGone ? [{ what: `${path} is not there, or is no hook of Chronicle`, hint, stops: true }] : [];
  });
}

/**
 * Reports hooks that Codex silently skips, because nobody has accepted them or somebody has switched them off. Reports
 * nothing if a hook was called after the file was written, because that call shows that the hooks are accepted. Reports
 * nothing for other agents.
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
  const what = `Codex skips hooks in ${file} that are not accepted, or are switched off: ${events.join(", ")}`;
  return [{ what, hint: "start codex, and accept these hooks or switch them on (/hooks shows them)", stops: true }];
}

/**
 * Reports hooks with `--strict` at events that do not precede a tool. Earlier versions installed such hooks. If
 * recording fails at such an event, the agent refuses a prompt or cannot end its turn.
 */
function misplacedStrict(agent: AgentConfig, base: AgentBase, states: readonly FileState[]): AgentProblem[] {
  return states.flatMap(({ path, found }) => {
    const misplaced = found?.misplaced ?? [];
    if (misplaced.length === 0) return [];
    const what = `${path} has --strict in hooks that are not before a tool: ${misplaced.join(", ")}`;
    return [{ what, hint: `${installAgain(agent, base)} --strict`, stops: false }];
  });
}

/** Returns the first word of a command line, without the quotes that `shellWord` may have added. */
function programOf(command: string): string {
  const quoted = /^'((?:[^']|'\\'')*)'/.exec(command)?.[1];
  return quoted === undefined ? (command.split(" ", 1)[0] ?? "") : quoted.replaceAll(`'\\''`, "'");
}

/** Reports an agent that has worked without calling its hooks. */
function silence(
  disk: NodeDisk,
  { agent, base, last }: { readonly agent: AgentConfig; readonly base: AgentBase; readonly last: string | undefined },
): AgentProblem[] {
  const { traces } = agent;
  const newest = traces === undefined ? undefined : newestTrace(disk, configPath(agent, traces, base));
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

const UNTRIED: readonly string[] = [
  "  by its documented hooks: tested with documented inputs, not run with the program itself",
];

export function statusLines(status: AgentStatus, now: number): string[] {
  const heard = status.last_call === null ? "never called" : `last called ${ago(status.last_call, now)}`;
  const strict = status.strict ? ", strict" : "";
  const more = status.state === "not installed" ? "" : ` (${heard}${strict})`;
  const off = status.hooks.length > 0 && !status.active ? ", NOT ACTIVE" : "";
  const untried = status.untried && status.state !== "not installed" ? UNTRIED : [];
  const lines = [`${status.title}, ${status.scope}: ${status.state}${off}${more}`, ...untried];
  for (const file of status.files) if (file.installed) lines.push(`  ${printable(file.path)}`);
  for (const { what, hint } of status.problems) lines.push(`  BAD ${printable(what)}`, `      ${printable(hint)}`);
  return lines;
}

/** Returns the diagnostics of the last day, and the path of their file. */
export function recentTroubles(
  io: Io,
  { home }: HookPlaces,
): { readonly lines: ReturnType<typeof diagnosticsSince>; readonly file: string } {
  const disk = new NodeDisk();
  const run = runFolder(disk, { env: io.env, home, uid: ownUid() });
  const lines = diagnosticsSince(disk, run.folder, new Date(io.now() - DAY_MS));
  return { lines, file: diagnosticsFile(run.folder) };
}

/**
 * Returns the events at which Codex skips Chronicle's hook. With `/hooks`, a person accepts a hook or switches it off.
 * Codex skips a hook that is not accepted or is switched off. Codex (0.169) stores both decisions in the user's
 * `config.toml`, under `[hooks.state."<file>:pre_tool_use:<group>:<hook>"]`. A change of an accepted hook is not
 * detected, because only Codex can compute the hash of a hook (`trusted_hash`).
 */
function unacceptedEvents(hooksFile: string, configFile: string): string[] {
  const text = orNothing(() => readTextIfThere(hooksFile));
  if (text === undefined) return [];
  const states = statesIn(orNothing(() => readTextIfThere(configFile)) ?? "");
  const names = [hooksFile, orNothing(() => new NodeDisk().realpath(hooksFile)) ?? hooksFile];
  return ourPlaces(text).flatMap(({ event, group, hook }) => {
    const place = `${snakeCase(event)}:${group}:${hook}`;
    const state = names.map((name) => states[`${name}:${place}`]).find((one) => one !== undefined);
    const isOn = isObject(state) && typeof state["trusted_hash"] === "string" && state["enabled"] !== false;
    return isOn ? [] : [event];
  });
}

function statesIn(config: string): Readonly<Record<string, unknown>> {
  // An invalid file is not reported here, because Codex itself reports it and does not start.
  if (tomlMisfit(config) !== undefined) return {};
  const { hooks } = readToml(config);
  const state = isObject(hooks) ? hooks["state"] : undefined;
  return isObject(state) ? state : {};
}

function snakeCase(event: string): string {
  return event.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** The maximum number of file names that `newestTrace` reads. An agent's folder may have the sessions of years. */
const MAX_NAMES = 20_000;
const MAX_DEPTH = 5;

/**
 * Returns the time of the newest `.json` or `.jsonl` file, in epoch milliseconds; `undefined` if there is no such file.
 * Looks into the subfolders down to the depth `MAX_DEPTH`, and reads at most `MAX_NAMES` names.
 */
function newestTrace(disk: Disk, folder: string): number | undefined {
  let left = MAX_NAMES;
  let newest: number | undefined;
  const look = (at: string, depth: number): void => {
    for (const { name, kind } of listOrNothing(disk, at)) {
      if ((left -= 1) < 0) return;
      const path = `${at}/${name.toString()}`;
      if (kind === "dir" && depth < MAX_DEPTH) look(path, depth + 1);
      if (kind !== "file" || !/\.jsonl?$/.test(path)) continue;
      const time = Number((disk.lstat(path)?.mtimeNs ?? 0n) / 1_000_000n);
      newest = Math.max(newest ?? 0, time);
    }
  };
  look(folder, 0);
  return newest;
}

function listOrNothing(disk: Disk, folder: string): ReturnType<Disk["list"]> {
  try {
    return disk.list(folder);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

/** A file in which an agent's hooks can be switched off. */
interface Switch {
  readonly scope: Scope;
  readonly path: string;
  /** Returns the name of the setting that switches Chronicle's hooks off; `undefined` if no setting does. */
  readonly offBy: (settings: Readonly<Record<string, unknown>>) => string | undefined;
}

/** Claude Code and Copilot CLI have the same name for this setting. */
function offByName({ disableAllHooks }: Readonly<Record<string, unknown>>): string | undefined {
  return disableAllHooks === true ? "disableAllHooks" : undefined;
}

function offInGemini({ hooksConfig }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isObject(hooksConfig)) return undefined;
  if (hooksConfig["enabled"] === false) return "hooksConfig.enabled";
  const { disabled } = hooksConfig;
  return Array.isArray(disabled) && disabled.includes("chronicle") ? "hooksConfig.disabled" : undefined;
}

function offInCodex({ features }: Readonly<Record<string, unknown>>): string | undefined {
  return isObject(features) ? ["hooks", "codex_hooks"].find((name) => features[name] === false) : undefined;
}

const SWITCHES: Readonly<Record<string, readonly Switch[]>> = {
  claude: [
    { scope: "user", path: ".claude/settings.json", offBy: offByName },
    { scope: "project", path: ".claude/settings.json", offBy: offByName },
    { scope: "project", path: ".claude/settings.local.json", offBy: offByName },
  ],
  copilot: [
    { scope: "user", path: ".copilot/hooks/chronicle.json", offBy: offByName },
    { scope: "project", path: ".github/hooks/chronicle.json", offBy: offByName },
    { scope: "project", path: ".github/copilot/settings.json", offBy: offByName },
    { scope: "project", path: ".github/copilot/settings.local.json", offBy: offByName },
  ],
  codex: [
    { scope: "user", path: ".codex/config.toml", offBy: offInCodex },
    { scope: "project", path: ".codex/config.toml", offBy: offInCodex },
  ],
  gemini: [
    { scope: "user", path: ".gemini/settings.json", offBy: offInGemini },
    { scope: "project", path: ".gemini/settings.json", offBy: offInGemini },
  ],
};

function switchedOff(agent: AgentConfig, base: AgentBase): { readonly what: string; readonly hint: string }[] {
  return (SWITCHES[agent.name] ?? []).flatMap(({ scope, path, offBy }) => {
    const file = configPath(agent, path, { ...base, scope });
    const settings = settingsIn(agent, file);
    const setting = settings === undefined ? undefined : offBy(settings);
    if (setting === undefined) return [];
    return [{ what: `${agent.title} runs no hooks: ${setting} in ${file}`, hint: "remove that setting" }];
  });
}

/**
 * Returns the text of a file; `undefined` if the file is missing or unreadable. If this process cannot read the file,
 * the user's agent cannot read it, either.
 */
function textOrNothing(file: string): string | undefined {
  try {
    return readTextIfThere(file);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Returns the settings in a file; `undefined` if the file cannot be read or the agent does not accept it. Such a file
 * switches nothing off. `refusals` reports the file if it is one of the agent's `files`.
 */
function settingsIn(agent: AgentConfig, file: string): Readonly<Record<string, unknown>> | undefined {
  const text = textOrNothing(file)?.replace(/^\uFEFF/, "");
  const reader = agent.files.user.find(({ path }) => extname(path) === extname(file));
  if (text === undefined || reader?.misfit(text) !== undefined) return undefined;
  try {
    return file.endsWith(".toml") ? readToml(text) : readJsonc(text);
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}

/**
 * Returns sentences about agents that have hooks of Chronicle but may work without being recorded. Checks the user's
 * configuration, and the project's configuration in each of the `folders`.
 */
export function inactiveAgents(io: Io, places: HookPlaces, folders: readonly string[]): string[] {
  const bases = [
    { scope: "user", project: folders[0] ?? io.cwd() } as const,
    ...folders.map((project) => ({ scope: "project", project }) as const),
  ];
  const told = AGENT_CONFIGS.flatMap((agent) =>
    bases.flatMap((place) => {
      const base = { ...place, env: io.env, userHome: io.userHome };
      return inactive(io, agent, { base, places });
    }),
  );
  return [...new Set(told)];
}

function inactive(
  io: Io,
  agent: AgentConfig,
  where: { readonly base: AgentBase; readonly places: HookPlaces },
): readonly string[] {
  try {
    const { hooks, active, problems } = agentStatus(io, agent, where);
    const stop = problems.find(({ stops }) => stops);
    if (hooks.length === 0 || active || stop === undefined) return [];
    return [`${agent.title} may work unrecorded: ${stop.what} (${stop.hint})`];
  } catch (error) {
    // `USAGE` means that this agent's environment variable is no absolute path. The error does not concern other
    // agents, so it is returned as a sentence.
    if (!(error instanceof ChronicleError) || error.code !== "USAGE") throw error;
    return [`${agent.title} may work unrecorded: ${error.message}`];
  }
}
