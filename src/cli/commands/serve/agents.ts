import { EXIT } from "../../../api/problems.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { AgentConfig, Scope } from "../../agents/agent-config.ts";
import { AGENT_CONFIGS } from "../../agents/agent-table.ts";
import { agentStatus, type AgentStatus, statusLines } from "../../agents/agent-status.ts";
import { refuseOwn } from "../../support/written-path.ts";
import { type AgentBase, carryOut, type FilePlan, planInstall, planUninstall } from "../../agents/install-agent.ts";
import { isHookCurrent, wantedFor, writeHookScript } from "../../agents/hook-script.ts";
import { type AgentTest, testAgent } from "../../agents/test-agent.ts";
import { NodeDisk } from "../../../disk/node-disk.ts";
import { makeHookImage } from "../../../daemon/make-hook-image.ts";
import type { CommandContext } from "../../support/context.ts";
import { placesOf } from "../../../process/places.ts";
import { counted } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";

const USAGE = "chronicle agents install|uninstall|status|test claude|codex|gemini|opencode|cursor|copilot|cline";

/**
 * The warning for an installation in a project. The changed files name programs on one person's machine, but could be
 * committed with the project.
 */
const SHARED = "these files name programs on this machine of yours: keep them out of the repository that others clone";

/**
 * The note for a configuration file in which an MCP server of the user's own is named `chronicle`. The path of the file
 * follows the text.
 */
const NAMESAKE =
  "you have another MCP server with the name chronicle, which stays; therefore Chronicle's MCP server is not " +
  "added to";

/** The note for the file of a command that a person has edited or written. The path of the file follows the text. */
const EDITED = "you have edited this file, so it stays as it is; remove it if you do not want it:";

function meantAgents(words: readonly string[], mayBeAll: boolean): readonly AgentConfig[] {
  if (words.length === 0 && mayBeAll) return AGENT_CONFIGS;
  if (words.length === 0) throw usageError("which agent?", USAGE);
  // An agent that is named twice is changed once, because its second change would be planned before the first change is
  // written.
  return [...new Set(words)].map((word) => {
    const found = AGENT_CONFIGS.find((one) => one.name === word);
    if (found === undefined) throw usageError(`there is no agent '${word}'`, USAGE);
    return found;
  });
}

function scopeOf({ input }: CommandContext): Scope {
  if (input.flag("project") && input.flag("user")) throw usageError("--project or --user, not both", USAGE);
  return input.flag("project") ? "project" : "user";
}

function baseOf({ io }: CommandContext, scope: Scope): AgentBase {
  return { scope, env: io.env, userHome: io.userHome, project: io.cwd() };
}

export async function agents(context: CommandContext): Promise<number> {
  const [what = "", ...words] = context.input.args;
  const changes = what === "install" || what === "uninstall";
  if (changes && !context.input.flag("dryRun")) await context.refuseAgent(`agents ${what}`);
  if (what === "install") return install(context, meantAgents(words, false));
  if (what === "uninstall") return change(context, meantAgents(words, true), "uninstall");
  if (what === "status") return status(context, meantAgents(words, true));
  if (what === "test") return test(context, words);
  throw usageError(`there is no 'agents ${what}'`, USAGE);
}

async function install(context: CommandContext, meant: readonly AgentConfig[]): Promise<number> {
  const code = change(context, meant, "install");
  if (!context.input.flag("dryRun")) await makeHookImage(new NodeDisk(), placesIn(context).home);
  return code;
}

function placesIn({ io, input }: CommandContext): ReturnType<typeof placesOf> {
  return placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
}

interface Done {
  readonly agent: AgentConfig;
  readonly plans: readonly FilePlan[];
}

function change(context: CommandContext, meant: readonly AgentConfig[], what: "install" | "uninstall"): number {
  const { io, input } = context;
  const scope = scopeOf(context);
  const base = baseOf(context, scope);
  const places = placesIn(context);
  const strict = input.flag("strict");
  const dryRun = input.flag("dryRun");
  // All changes are planned before the first write, so that nothing is written if one of the files cannot be read.
  const all: Done[] = meant.map((agent) => {
    const wanted = wantedFor(agent.name, { ...places, strict });
    return { agent, plans: what === "install" ? planInstall(agent, base, wanted) : planUninstall(agent, base) };
  });
  const mends = what === "install" && !isHookCurrent(io, places);
  if (!dryRun) {
    // An installation must not write into Chronicle's own folders. An agent's path may lead there through a link, or
    // through the environment variable that moves the agent's files.
    if (what === "install")
      for (const { path } of all.flatMap(({ plans }) => plans)) refuseOwn(context, "an agent's configuration", path);
    if (what === "install") writeHookScript(io, places);
    for (const { plans } of all) carryOut(plans);
  }
  if (context.json) context.printJson({ what, scope, dry_run: dryRun, agents: all.map(shapeOf) });
  else for (const one of all) tell(context, one, { what, dryRun, scope, mends });
  return EXIT.done;
}

function changeOf({ before, after }: FilePlan): "unchanged" | "created" | "changed" | "removed" {
  if (before === after) return "unchanged";
  if (before === undefined) return "created";
  return after === undefined ? "removed" : "changed";
}

function shapeOf({ agent, plans }: Done): Readonly<Record<string, unknown>> {
  const files = plans.map((plan) => ({
    path: plan.path,
    holds: plan.holds,
    change: changeOf(plan),
    backup: plan.backup ?? null,
  }));
  return { agent: agent.name, files };
}

interface Telling {
  readonly what: "install" | "uninstall";
  readonly dryRun: boolean;
  readonly scope: Scope;
  /** True if an installation makes the hook's script anew, because the script was missing or not current. */
  readonly mends: boolean;
}

function tell(context: CommandContext, { agent, plans }: Done, { what, dryRun, scope, mends }: Telling): void {
  const changed = plans.filter((plan) => plan.before !== plan.after);
  const would = dryRun ? "would be " : "";
  const already = what === "install" ? "is installed already" : "is not installed";
  if (changed.length === 0 && mends)
    context.print(`${agent.title}: is installed already; its hook ${dryRun ? "would be" : "was"} made anew`);
  else if (changed.length === 0) context.print(`${agent.title}: ${already}; nothing to change`);
  else context.print(`${agent.title}: ${counted(changed.length, "file")} ${would}changed`);
  for (const plan of changed) {
    const kept = plan.backup === undefined ? "" : ` (before: ${printable(plan.backup)})`;
    context.print(`  ${changeOf(plan).padEnd(8)} ${printable(plan.path)}${kept}`);
  }
  const kept = plans.filter(({ namesake }) => namesake);
  for (const { path, holds } of kept)
    context.print(`  note: ${holds === "command" ? EDITED : NAMESAKE} ${printable(path)}`);
  if (what === "uninstall") return;
  for (const note of agent.notes[scope]) context.print(`  note: ${note}`);
  if (scope === "project") context.print(`  note: ${SHARED}`);
  const more = scope === "project" ? " --project" : "";
  if (!dryRun)
    context.print(context.paint("dim", context.worded(`  try it: chronicle agents test ${agent.name}${more}`)));
}

async function status(context: CommandContext, meant: readonly AgentConfig[]): Promise<number> {
  const { io, input } = context;
  const isOne = input.flag("project") || input.flag("user");
  const scopes: readonly Scope[] = isOne ? [scopeOf(context)] : ["user", "project"];
  const places = placesIn(context);
  const all = meant.flatMap((agent) =>
    scopes.map((scope) => agentStatus(io, agent, { base: baseOf(context, scope), places })),
  );
  if (context.json) context.printJson({ agents: all });
  else for (const one of all) for (const line of statusLines(one, io.now())) context.print(line);
  return all.some((one) => one.problems.length > 0) ? EXIT.failed : EXIT.done;
}

/**
 * Returns the result of a test. If the hook works, but a known problem keeps the agent's work from being recorded,
 * returns a failure instead. A problem that may have been fixed since (`past`) is ignored.
 */
function asAgentDoes({ title }: AgentConfig, { problems }: AgentStatus, result: AgentTest): AgentTest {
  const stop = problems.find(({ stops, past }) => stops && past !== true);
  if (stop === undefined || !result.ok) return result;
  const detail = `the hook works, but ${title} does not call it as it should: ${stop.what} (${stop.hint})`;
  return { ...result, ok: false, detail };
}

interface Tested {
  readonly agent: AgentConfig;
  readonly state: AgentStatus;
}

function testedAgents(context: CommandContext, words: readonly string[], scope: Scope): readonly Tested[] {
  const all = meantAgents(words, true).map((agent): Tested => {
    const given = { base: baseOf(context, scope), places: placesIn(context) };
    return { agent, state: agentStatus(context.io, agent, given) };
  });
  const hooked = words.length > 0 ? all : all.filter(({ state }) => state.hooks.length > 0);
  if (hooked.length === 0) throw noHooks("no agent has hooks", AGENT_CONFIGS.map(({ name }) => name).join("|"), scope);
  return hooked;
}

function noHooks(fact: string, name: string, scope: Scope): ChronicleError {
  return new ChronicleError("NOT_FOUND", `${fact} of Chronicle (${scope})`, {
    hint: `chronicle agents install ${name}${scope === "project" ? " --project" : ""}`,
  });
}

async function test(context: CommandContext, words: readonly string[]): Promise<number> {
  const scope = scopeOf(context);
  const results = [];
  for (const { agent, state } of testedAgents(context, words, scope)) {
    const [first] = state.hooks;
    if (first === undefined) throw noHooks(`${agent.title} has no hooks`, agent.name, scope);
    const strict = (command: string): boolean => command.includes(" --strict");
    const commands = {
      hook: state.hooks.find((command) => !strict(command)) ?? first,
      before: state.hooks.find(strict) ?? first,
    };
    results.push(asAgentDoes(agent, state, await testAgent(context, agent.name, commands)));
  }
  if (context.json) context.printJson({ tests: results });
  else {
    for (const one of results) {
      const mark = one.ok ? context.paint("green", "ok ") : context.paint("red", "BAD");
      context.print(`${mark} ${one.agent}: ${printable(one.detail)}`);
    }
  }
  return results.every((one) => one.ok) ? EXIT.done : EXIT.failed;
}
