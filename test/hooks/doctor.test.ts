import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DoctorCheck } from "../../src/api/store-api.ts";
import { AGENT_CONFIGS } from "../../src/cli/agents/agent-table.ts";
import { agentChecks, watchCheck } from "../../src/cli/agents/doctor-checks.ts";
import { inactiveAgents } from "../../src/cli/agents/agent-status.ts";
import { carryOut, planInstall } from "../../src/cli/agents/install-agent.ts";
import { hookScriptPath, wantedFor, writeHookScript } from "../../src/cli/agents/hook-script.ts";
import { addDiagnostic } from "../../src/daemon/diagnostics.ts";
import { rememberCall } from "../../src/daemon/last-call.ts";
import type { Io } from "../../src/process/io.ts";
import { processIo } from "../../src/cli/start.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";

/** Each test plants a fault. `doctor` must find it, and say how to correct it. */

const [claude] = AGENT_CONFIGS;
/** The surroundings of this process, made once for all tests, because a process has its streams only once. */
const PROCESS = processIo("1.2.3", { descriptors: () => [], bytes: () => undefined });
let folder = "";
let io: Io;
let places: { readonly home: string; readonly configFolder: string };

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-doctor-")));
  for (const name of ["home", "project"]) mkdirSync(join(folder, name));
  for (const name of ["store", "store/run", "config"]) mkdirSync(join(folder, name), { mode: 0o700 });
  places = { home: join(folder, "store"), configFolder: join(folder, "config") };
  io = { ...PROCESS, env: {}, userHome: join(folder, "home"), cwd: () => join(folder, "project") };
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function install(agent = claude): void {
  if (agent === undefined) throw new Error("there is no agent");
  writeHookScript(io, places);
  const base = { scope: "user", env: {}, userHome: io.userHome, project: io.cwd() } as const;
  carryOut(planInstall(agent, base, wantedFor(agent.name, { ...places, strict: false })));
}

function called(at: Date): void {
  const call = { at: at.toISOString(), event: "before", version: "1.2.3" };
  rememberCall(new NodeDisk(), join(places.home, "run"), "claude", call);
}

function worked(at: Date): void {
  const trace = join(io.userHome, ".claude/projects/-p/session.jsonl");
  mkdirSync(join(trace, ".."), { recursive: true });
  writeFileSync(trace, "{}");
  utimesSync(trace, at, at);
}

async function check(name: string): Promise<DoctorCheck | undefined> {
  return (await agentChecks(io, places)).find((one) => one.name === name);
}

const HOOKS = "hooks of Claude Code (user)";

describe("doctor", () => {
  it("finds nothing wrong without agents, nor with hooks that were just installed", async () => {
    const checks = (await agentChecks(io, places)).filter((one) => one.name !== "watches");
    expect(checks.filter((one) => !one.ok)).toEqual([]);
    install();
    expect(await check(HOOKS)).toMatchObject({ ok: true, detail: "never called" });
  });

  it("finds hooks that are installed, but are not called while their agent works", async () => {
    install();
    worked(new Date("2026-11-20T10:00:00Z"));
    expect(await check(HOOKS)).toMatchObject({ ok: false, detail: expect.stringMatching(/hooks were never called$/) });
    called(new Date("2026-11-20T10:00:30Z"));
    expect(await check(HOOKS)).toMatchObject({ ok: true });
    worked(new Date("2026-11-21T10:00:00Z"));
    const silent = await check(HOOKS);
    expect(silent).toMatchObject({ ok: false, detail: expect.stringMatching(/last called at 2026-11-20T10:00:30/) });
    expect(silent?.hint).toMatch(/chronicle agents test claude/);
  });

  it("finds a hook that is gone, not executable, of another installation, or half installed", async () => {
    install();
    const script = hookScriptPath(places);
    chmodSync(script, 0o644);
    expect(await check(HOOKS)).toMatchObject({ ok: false, hint: `chmod 755 ${script}` });
    chmodSync(script, 0o755);
    const text = readFileSync(script, "utf8");
    writeFileSync(script, text.replace(/^entry=.*$/m, "entry=/gone/dist/hook.js"));
    expect((await check(HOOKS))?.detail).toMatch(/points to \/gone\/dist\/hook.js, which does not exist/);
    writeFileSync(script, text.replace(/^node=.*$/m, "node=/gone/node"));
    expect((await check(HOOKS))?.detail).toMatch(/points to \/gone\/node, which does not exist/);
    writeFileSync(script, text.replace("version 1.2.3", "version 1.0.0").replace(/^entry=.*$/m, "entry=/bin/sh"));
    expect(await check(HOOKS)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/belongs to another installation \(version 1\.0\.0\)/),
      hint: "chronicle agents install claude",
    });
    rmSync(script);
    expect((await check(HOOKS))?.detail).toMatch(/does not exist: nothing is recorded/);
    writeHookScript(io, places);
    rmSync(join(io.userHome, ".claude.json"));
    expect((await check(HOOKS))?.detail).toMatch(/^missing in .*\.claude\.json/);
  });

  it("understands a hook of an installation whose path has an apostrophe", async () => {
    install();
    const script = hookScriptPath(places);
    const [node, gone] = [join(folder, "o'brien"), join(folder, "o'neill")];
    writeFileSync(node, "");
    const text = readFileSync(script, "utf8");
    const naming = (path: string): string =>
      text.replace(/^node=.*$/m, () => `node='${path.replaceAll("'", String.raw`'\''`)}'`);
    writeFileSync(script, naming(node));
    expect((await check(HOOKS))?.detail).toMatch(/belongs to another installation/);
    writeFileSync(script, naming(gone));
    expect((await check(HOOKS))?.detail).toMatch(`points to ${gone}, which does not exist`);
  });

  it("finds a folder or a dangling link in place of a hook, and still checks other agents", async () => {
    install();
    const script = hookScriptPath(places);
    const agents = async (): Promise<string[]> => (await agentChecks(io, places)).map(({ name }) => name);
    const before = await agents();
    rmSync(script);
    mkdirSync(script);
    expect(await check(HOOKS)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/cannot be read \(EISDIR\)$/),
    });
    expect(await agents()).toEqual(before);
    expect(inactiveAgents(io, places, [])).toMatchObject([expect.stringContaining("cannot be read (EISDIR)")]);
    rmSync(script, { recursive: true });
    symlinkSync("nothing", script);
    expect((await check(HOOKS))?.detail).toMatch(/does not exist: nothing is recorded/);
  });

  it("finds installed hooks from which the hook of one event was removed", async () => {
    install();
    const file = join(io.userHome, ".claude/settings.json");
    const settings = JSON.parse(readFileSync(file, "utf8")) as { hooks: Record<string, unknown> };
    delete settings.hooks["PreToolUse"];
    writeFileSync(file, JSON.stringify(settings));
    expect(await check(HOOKS)).toMatchObject({
      ok: false,
      detail: `${file} has no hook for PreToolUse`,
      hint: "chronicle agents install claude",
    });
    install();
    expect(await check(HOOKS)).toMatchObject({ ok: true });
  });

  it("finds a setting that switches hooks off", async () => {
    const settings = [
      ["claude", "project/.claude/settings.local.json", '{"disableAllHooks": true}', /: disableAllHooks in /],
      ["codex", "home/.codex/config.toml", "[features]\nhooks = false\n", /: hooks in /],
      ["gemini", "home/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}', /: hooksConfig.enabled in /],
      [
        "gemini",
        "home/.gemini/settings.json",
        '{"hooksConfig": {"disabled": ["chronicle"]}}',
        /hooksConfig.disabled in /,
      ],
    ] as const;
    for (const [name, file, text, told] of settings) {
      const agent = AGENT_CONFIGS.find((one) => one.name === name);
      const path = join(folder, file);
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, text);
      install(agent);
      const found = await check(`hooks of ${agent?.title} (user)`);
      expect(found).toMatchObject({ ok: false, detail: expect.stringMatching(told), hint: "remove that setting" });
      rmSync(path);
      install(agent);
      const after = await check(`hooks of ${agent?.title} (user)`);
      // Codex runs new hooks only after somebody has accepted them.
      if (name === "codex") expect(after?.detail).toMatch(/are not accepted, or are switched off/);
      else expect(after).toMatchObject({ ok: true });
    }
  });

  it("finds a configuration file that cannot be read", async () => {
    mkdirSync(join(io.userHome, ".gemini"));
    writeFileSync(join(io.userHome, ".gemini/settings.json"), "{");
    expect(await check("hooks of Gemini CLI (user)")).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/Gemini CLI does not accept this file as it is: .*line 1: /),
      hint: expect.stringMatching(/valid JSON/),
    });
    expect(await check("hooks of Gemini CLI (project)")).toMatchObject({ ok: true });
  });

  it("reports the failures of hooks in the last day", async () => {
    expect(addDiagnostic(new NodeDisk(), join(places.home, "run"), "hook claude: it is\nlocked")).toBe(true);
    const found = await check("hook calls");
    expect(found).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^1 trouble .*hook claude: it is locked$/),
    });
    expect(found?.hint).toContain(join(places.home, "run", "diagnostics.log"));
  });

  it("finds a dead socket", async () => {
    writeFileSync(join(places.home, "run", "serve.sock"), "");
    const found = await check("socket");
    expect(found).toMatchObject({ ok: false, hint: expect.stringContaining(`rm ${places.home}/run/serve.sock`) });
  });

  it("finds a socket in a folder that others can enter", async () => {
    mkdirSync(join(folder, "open"), { mode: 0o777 });
    chmodSync(join(folder, "open"), 0o777);
    const door = join(places.home, "run", "serve.sock");
    symlinkSync(join(folder, "open", "s.sock"), door);
    expect(await check("socket")).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/leads to a folder that is not private to this user/),
      hint: `rm ${door}`,
    });
  });

  it("finds folders that others can enter", async () => {
    chmodSync(join(places.home, "run"), 0o755);
    chmodSync(places.configFolder, 0o770);
    expect(await check("run folder")).toMatchObject({ ok: false, hint: `chmod 700 ${places.home}/run` });
    expect(await check("configuration")).toMatchObject({ ok: false, hint: `chmod 700 ${places.configFolder}` });
  });

  it("finds watches that are used up", () => {
    const judge = (most: number, watches: number, instances: number) =>
      watchCheck({ detail: "", most, instances: 128, used: { watches, instances } }).ok;
    expect(judge(65_536, 1_000, 3)).toBe(true);
    expect(judge(65_536, 60_000, 3)).toBe(false);
    expect(judge(4_096, 0, 3)).toBe(false);
    expect(judge(65_536, 1_000, 128)).toBe(false);
  });
});
