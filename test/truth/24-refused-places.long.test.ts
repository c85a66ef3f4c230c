import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { open, openRecordStore, openStore } from "../../src/open.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { Project } from "../helpers/project.ts";

/**
 * A path that is empty, relative, or has a `~` that no shell has replaced means another place in each folder. It is
 * refused, and nothing is made.
 */

const UNCLEAR = ["", ".", "r", "re/la/tive", "~", "~/x", "./x"];

/** Lists the folder of this process, to which a relative path would lead. */
const here = (): string[] => readdirSync(process.cwd()).sort();

describe("Truth 24: places that are not absolute, in the library", { timeout: 120_000 }, () => {
  it.each(UNCLEAR)(
    "%j is refused as home, configFolder, userHome, folder and root, and nothing is made",
    async (path) => {
      await using project = new Project();
      const before = here();
      const places = { home: project.home, configFolder: project.configFolder };
      const refused = { code: "USAGE", hint: expect.stringContaining("/") };
      const named = (what: string): object => ({ ...refused, message: expect.stringContaining(what) });
      const folder = project.folder;
      await expect(open({ ...places, home: path, folder, create: true })).rejects.toMatchObject(named("home"));
      await expect(openStore({ ...places, configFolder: path })).rejects.toMatchObject(named("configFolder"));
      await expect(openStore({ ...places, userHome: path })).rejects.toMatchObject(named("userHome"));
      await expect(open({ ...places, folder: path, create: true })).rejects.toMatchObject(named("folder"));
      await expect(openRecordStore({ folder: path })).rejects.toMatchObject(named("folder"));
      const store = await project.store();
      await expect(store.init({ roots: [path] })).rejects.toMatchObject(named("root"));
      expect(here()).toEqual(before);
    },
  );

  it.each(UNCLEAR)("%j is refused as the folder of a restore, a repair and a backup", async (path) => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    const before = here();
    const refused = { code: "USAGE", message: expect.stringContaining("absolute") };
    await expect(workspace.restore("latest", { to: path })).rejects.toMatchObject(refused);
    await expect(workspace.verify({ repairFrom: [{ folder: path }] })).rejects.toMatchObject(refused);
    await expect(workspace.verify({ repairFrom: [{ store: path }] })).rejects.toMatchObject(refused);
    await expect(workspace.records.backup(path)).rejects.toMatchObject(refused);
    expect(here()).toEqual(before);
  });

  it("a path with a slash at its end, `.` or `..` means the place that it leads to", async () => {
    await using project = new Project();
    const store = await openStore({
      home: `${project.base}/x/../store/./`,
      configFolder: `${project.configFolder}/`,
      userHome: `${project.folder}/`,
    });
    expect(store.home).toBe(project.home);
    await expect(store.init({ roots: [project.folder] })).rejects.toMatchObject({ code: "UNSAFE" });
    await expect(store.init({ roots: [project.home] })).rejects.toMatchObject({ code: "UNSAFE" });
    await store.close();
  });
});

describe("Truth 24: places that are not absolute, on the command line", { timeout: 240_000 }, () => {
  const VARIABLES: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
    ["HOME", "", {}],
    ["HOME", "relative/home", {}],
    ["HOME", "~", {}],
    ["CHRONICLE_HOME", "re", {}],
    ["CHRONICLE_HOME", "~/x", {}],
    ["XDG_STATE_HOME", "state", { CHRONICLE_HOME: "" }],
    ["XDG_STATE_HOME", "~/.local/state", { CHRONICLE_HOME: "" }],
    ["XDG_CONFIG_HOME", "r", {}],
    ["XDG_CONFIG_HOME", "~/.config", {}],
  ];

  it.each(VARIABLES)("$%s=%j is refused by commands that need a store, which say what to do", (name, value, more) => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    for (const words of [["init"], ["run", "--", "touch", "made"], ["doctor"], ["agents", "install", "claude"]]) {
      const { code, stderr } = box.run(words, { env: { ...more, [name]: value } });
      expect([words, code]).toEqual([words, 2]);
      expect(stderr).toContain(`$${name}`);
      expect(stderr).toContain("give the whole path, which begins with /");
    }
    expect(readdirSync(box.project)).toEqual(["a.txt"]);
    expect(existsSync(box.store)).toBe(false);
  });

  it("an empty CHRONICLE_HOME, XDG_STATE_HOME or XDG_CONFIG_HOME counts as unset", () => {
    using box = new Sandbox();
    const env = { CHRONICLE_HOME: "", XDG_STATE_HOME: "", XDG_CONFIG_HOME: "" };
    expect(box.run(["init"], { env }).code).toBe(0);
    expect(existsSync(join(box.folder, "home", ".local", "state", "chronicle", "workspaces"))).toBe(true);
    expect(readdirSync(box.project)).toEqual([]);
  });

  const WORDS: readonly (readonly [string, readonly string[]])[] = [
    ["--store", ["--store", "?", "init"]],
    ["-C", ["-C", "?", "init"]],
    ["init", ["init", "?"]],
    ["--to", ["restore", "1", "--to", "?"]],
    ["--folder", ["record", "put", "id", "{}", "--folder", "?"]],
    ["backup", ["record", "backup", "?"]],
    ["--repair-from", ["verify", "--repair-from", "?"]],
    ["sync start", ["sync", "start", "http://127.0.0.1:9", "?"]],
    ["replicate", ["replicate", "?", "--ws-connect", "http://127.0.0.1:9"]],
    ["--socket", ["serve", "--socket", "?"]],
    ["--token-file", ["serve", "--port", "0", "--token-file", "?"]],
  ];

  it.for(WORDS)("%s: an empty path and an unexpanded ~ are refused, and nothing is made", async ([, words]) => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    for (const path of ["", "~", "~/x", "~somebody/x"]) {
      const ran = await box.call(words.map((word) => (word === "?" ? path : word)));
      expect([path, ran.code, ran.stderr]).toEqual([
        path,
        2,
        expect.stringMatching(/ is empty| ~, which no shell has replaced/),
      ]);
      if (path !== "") expect(ran.stderr).toContain(`./${path}`);
    }
    expect(readdirSync(box.project)).toEqual(["a.txt"]);
    expect(readdirSync(box.folder).sort()).toEqual(["config", "home", "project", "state", "store"]);
  });

  it("a relative path on a command line is resolved from the current folder, and ./~x is a name", async () => {
    using box = new Sandbox();
    mkdirSync(join(box.project, "~x"));
    await box.must(["--store", "../other", "init", "./~x"]);
    expect(existsSync(join(box.folder, "other", "workspaces"))).toBe(true);
    expect((await box.must(["--store", "../../other", "-C", "./~x", "status"])).stdout).toContain(
      join(box.project, "~x"),
    );
  });

  it("a $CODEX_HOME that is not absolute is refused by its name", async () => {
    using box = new Sandbox();
    for (const value of ["re", "~/.codex"]) {
      const ran = await box.call(["agents", "install", "codex"], { env: { CODEX_HOME: value } });
      expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("$CODEX_HOME")]);
    }
    expect(readdirSync(box.project)).toEqual([]);
  });
});

describe("Truth 24: places that are not absolute, in an agent's hook", { timeout: 240_000 }, () => {
  const VARIABLES: readonly (readonly [string, string])[] = [
    ["CHRONICLE_HOME", "re"],
    ["CHRONICLE_HOME", "~/x"],
    ["HOME", ""],
  ];

  it.each(VARIABLES)("$%s=%j is reported, nothing is made, and --strict stops the tool", async (name, value) => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    const bin = chronicleBin();
    // Without XDG_CONFIG_HOME the hook goes by HOME.
    const env = { ...box.env(), XDG_CONFIG_HOME: "" };
    const run = (words: readonly string[], more: Readonly<Record<string, string>>, input = "") =>
      spawnSync(words[0] ?? "", words.slice(1), {
        cwd: box.project,
        env: { ...env, ...more },
        encoding: "utf8",
        input,
      });
    expect(run([process.execPath, bin, "init"], {}).status).toBe(0);
    expect(run([process.execPath, bin, "agents", "install", "claude"], {}).status).toBe(0);
    const hook = join(box.folder, "home", ".config", "chronicle", "bin", "chronicle-hook");
    const call = JSON.stringify({
      hook_event_name: "PreToolUse",
      session_id: "s-24",
      cwd: box.project,
      tool_name: "Write",
      tool_use_id: "t-1",
      tool_input: { file_path: join(box.project, "a.txt"), content: "two\n" },
    });
    for (const [strict, code] of [
      [[], 0],
      [["--strict"], 2],
    ] as const) {
      const ran = run(["/bin/sh", hook, "claude", "--direct", ...strict], { [name]: value }, call);
      expect([ran.status, ran.stderr]).toEqual([code, expect.stringContaining(`$${name}`)]);
    }
    expect(readdirSync(box.project)).toEqual(["a.txt"]);
  });

  it("the launcher writes no compiled code below the current folder", () => {
    using box = new Sandbox();
    const planted = join(box.project, ".local", "state", "chronicle", "cache");
    mkdirSync(planted, { recursive: true });
    writeFileSync(join(dirname(planted), "note"), "somebody's\n");
    const env = { CI: "true", PATH: process.env["PATH"], HOME: "" };
    const ran = spawnSync(process.execPath, [chronicleBin(), "status"], { cwd: box.project, env, encoding: "utf8" });
    expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining("$HOME")]);
    expect(readdirSync(planted)).toEqual([]);
  });
});
