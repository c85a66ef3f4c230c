import { createHash } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore, openSyncs } from "../../src/open.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

/**
 * No option or argument that names a place to write to can lead to the store or the configuration folder, whoever
 * gives it.
 */

const AGENT = { CHRONICLE_ROLE: "agent" };

/** Returns the hashes of the keys, JSON files, logs, notes and heads beneath a folder, without caches. */
function contents(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    if (!/\.(?:pem|json|wal|note)$|^heads\//.test(name) || name.startsWith("cache")) continue;
    found[name] = createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  }
  return found;
}

async function begun(): Promise<{ box: Sandbox; config: string; log: string; kept: () => unknown }> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  const config = join(box.folder, "config", "chronicle");
  const [id = ""] = readdirSync(join(box.store, "workspaces"));
  const log = join(box.store, "workspaces", id, "events.wal");
  expect(existsSync(join(config, "key.pem"))).toBe(true);
  return { box, config, log, kept: () => ({ store: contents(box.store), config: contents(config) }) };
}

describe("Truth: the summary of a run is not written into Chronicle's own folders", { timeout: 240_000 }, () => {
  it("neither over the log, over the key or through a link, nor if another store is named", async () => {
    const { box, config, log, kept } = await begun();
    using _box = box;
    symlinkSync(box.store, join(box.project, "link"));
    symlinkSync(join(config, "new.json"), join(box.project, "dangling"));
    symlinkSync("link", join(box.project, "linked"));
    const before = kept();
    const places = [
      log,
      join(config, "key.pem"),
      join(box.store, "lock.db"),
      join(box.store, "fresh.json"),
      "link/x.json",
      "linked/x.json",
      "dangling",
      `${box.folder}/project/../store/x.json`,
    ];
    for (const [at, place] of places.entries()) {
      const env = at % 2 === 0 ? AGENT : {};
      const ran = box.run(["run", "--summary", place, "--", "touch", "made"], { env });
      expect([place, ran.code, ran.stderr]).toEqual([place, 125, expect.stringContaining("may not lead to")]);
      expect(ran.stderr).toContain("name a place outside of Chronicle's store and of its configuration folder");
    }
    const other = ["--store", join(box.folder, "other")];
    expect(box.run([...other, "run", "--summary", log, "--", "touch", "made"]).code).toBe(125);
    expect(existsSync(join(box.project, "made"))).toBe(false);
    expect(kept()).toEqual(before);
  });

  it("nor if the command replaces a folder on the way by a link", async () => {
    const { box, config, kept } = await begun();
    using _box = box;
    mkdirSync(join(box.project, "d"));
    const before = readFileSync(join(config, "key.pem"), "utf8");
    const ran = box.run(["run", "--summary", "d/key.pem", "--", "sh", "-c", `rmdir d && ln -s ${config} d`]);
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("the summary could not be written")]);
    expect(readFileSync(join(config, "key.pem"), "utf8")).toBe(before);
    expect(kept()).toMatchObject({ config: { "key.pem": expect.any(String) } });
  });

  it("a summary at another name of the key replaces that name, and the key stays", async () => {
    const { box, config } = await begun();
    using _box = box;
    const key = readFileSync(join(config, "key.pem"), "utf8");
    linkSync(join(config, "key.pem"), join(box.folder, "summary.json"));
    await box.must(["run", "--summary", "../summary.json", "--", "true"]);
    expect(readFileSync(join(config, "key.pem"), "utf8")).toBe(key);
    expect(JSON.parse(readFileSync(join(box.folder, "summary.json"), "utf8"))).toMatchObject({ exit_code: 0 });
  });
});

describe("Truth: nothing is restored, kept or begun in Chronicle's own folders", { timeout: 240_000 }, () => {
  it("an agent cannot make a token by a restore", async () => {
    const { box, config } = await begun();
    using _box = box;
    await box.must(["token", "create", "--role", "reader"]);
    const token = { id: "aaaaaaaaaaaa", name: "x", role: "operator", workspaces: null, hash: "0".repeat(64) };
    box.write("aaaaaaaaaaaa.json", JSON.stringify(token));
    await box.must(["snapshot"], { env: AGENT });
    for (const tokens of [join(config, "tokens"), join(config, "fresh")]) {
      const ran = await box.call(["restore", "latest", "--to", tokens, "aaaaaaaaaaaa.json"], { env: AGENT });
      expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining("may not lead to")]);
    }
    expect((await box.must(["token", "list"])).stdout).not.toContain("operator");
  });

  it.each<readonly [string, (store: string, config: string) => readonly string[]]>([
    ["restore --to", (store) => ["restore", "latest", "--to", join(store, "blobs", "xx")]],
    ["restore --to as a dry run", (store) => ["restore", "latest", "--dry-run", "--to", join(store, "blobs", "xx")]],
    ["record backup", (store) => ["record", "backup", join(store, "workspaces", "zz")]],
    ["record --folder", (_, config) => ["record", "put", "x", "{}", "--folder", join(config, "records")]],
    ["serve --socket", (store) => ["serve", "--socket", join(store, "lock.db")]],
    ["sync start", (store) => ["sync", "start", "http://127.0.0.1:9#x", join(store, "zz"), "--foreground"]],
    ["replicate", (store) => ["replicate", join(store, "zz"), "--ws-connect", "http://127.0.0.1:9"]],
    ["init", (store) => ["init", join(store, "workspaces")]],
    ["init in a store of its own", (store) => ["--store", `${store}-2`, "init", store]],
    ["-C", (store) => ["--store", `${store}-2`, "-C", store, "snapshot"]],
  ])("%s is refused", async (_, words) => {
    const { box, config, kept } = await begun();
    using _box = box;
    const before = kept();
    const names = readdirSync(box.store, { recursive: true }).filter((name) => /zz|xx/.test(String(name)));
    for (const env of [{}, AGENT]) {
      const ran = await box.call(words(box.store, config), { env });
      expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining("may not lead to")]);
    }
    expect(kept()).toEqual(before);
    expect(readdirSync(box.store, { recursive: true }).filter((name) => /zz|xx/.test(String(name)))).toEqual(names);
    expect(existsSync(join(config, "records"))).toBe(false);
  });

  it("an agent's configuration is not installed there, neither through a link nor by a variable", async () => {
    const { box, config, kept } = await begun();
    using _box = box;
    writeFileSync(join(config, "a.json"), "{}");
    mkdirSync(join(box.project, ".claude"));
    symlinkSync(join(config, "a.json"), join(box.project, ".claude", "settings.json"));
    const before = kept();
    const linked = await box.call(["agents", "install", "claude", "--project"]);
    expect([linked.code, linked.stderr]).toEqual([6, expect.stringContaining("may not lead to")]);
    const named = await box.call(["agents", "install", "codex"], { env: { CODEX_HOME: join(config, "codex") } });
    expect([named.code, named.stderr]).toEqual([6, expect.stringContaining("may not lead to")]);
    expect(kept()).toEqual(before);
  });

  it("the library refuses these places, too, also if the store is known by a link", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const made = await project.init();
    const link = join(project.base, "by-link");
    symlinkSync(project.home, link);
    const refused = { code: "UNSAFE", message: expect.stringContaining("may not lead to") };
    for (const to of [join(project.home, "blobs", "xx"), join(link, "xx"), project.configFolder]) {
      await expect(made.restore("latest", { to })).rejects.toMatchObject(refused);
      await expect(made.records.backup(to)).rejects.toMatchObject(refused);
    }
    await made.close();
    const store = await openStore({ home: link, configFolder: project.configFolder });
    await expect(store.init({ roots: [join(project.home, "workspaces")] })).rejects.toMatchObject({ code: "UNSAFE" });
    const runner = openSyncs(store, () => undefined);
    const follows = { upstream: "http://127.0.0.1:9", workspace: "w", mode: "one-way-safe" } as const;
    const inside = join(project.home, "workspaces", "zz");
    await expect(runner.start({ ...follows, folder: inside })).rejects.toMatchObject(refused);
    expect(existsSync(inside)).toBe(false);
    await runner.close();
    const workspace = await store.open({ folder: project.folder, role: "agent" });
    await expect(workspace.restore("latest", { to: join(project.home, "xx") })).rejects.toMatchObject(refused);
    await expect(workspace.restore("latest", { to: join(project.base, "elsewhere") })).resolves.toMatchObject({});
    await workspace.close();
    await store.close();
  });
});

describe(
  "Truth: the hooks of an agent refuse a command line that leads to Chronicle's own folders",
  { timeout: 120_000 },
  () => {
    it("a summary, a restore and a line of another tool", async () => {
      const { box, config, log } = await begun();
      using _box = box;
      const asked = (command: string) => {
        const call = { session_id: "s-1", cwd: box.project, transcript_path: "/t", permission_mode: "default" };
        const tool = { hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command }, tool_use_id: "t-1" };
        return box.run(["hook", "claude", "--direct"], { input: JSON.stringify({ ...call, ...tool }) });
      };
      for (const line of [
        `chronicle run --summary ${config}/key.pem -- true`,
        `chronicle run --summary=${log} -- true`,
        "chronicle restore latest --to $XDG_CONFIG_HOME/chronicle/tokens a.json",
        "rm -rf ${CHRONICLE_HOME:-/x}",
        `tar -xf x.tar -C ${box.store}`,
      ]) {
        const { stdout, stderr } = asked(line);
        expect([line, stdout + stderr]).toEqual([line, expect.stringContaining("an agent may not do this")]);
      }
      const { code, stdout, stderr } = asked("chronicle run --summary s.json -- true");
      expect([code, stdout + stderr]).toEqual([0, expect.not.stringContaining("may not")]);
    });
  },
);
