import { createHash } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

/** No option or argument that names a place to be written to reaches the store or the configuration folder, whoever gives it. */

const AGENT = { CHRONICLE_ROLE: "agent" };

/** Everything beneath a folder that matters: of databases, sockets and caches the names alone. */
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

describe("Truth: a summary goes nowhere into Chronicle's own folders", { timeout: 240_000 }, () => {
  it("neither over the log, nor over the key, nor by a link, nor with another store named", async () => {
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

  it("nor where the command has made a link of a folder on the way", async () => {
    const { box, config, kept } = await begun();
    using _box = box;
    mkdirSync(join(box.project, "d"));
    const before = readFileSync(join(config, "key.pem"), "utf8");
    const ran = box.run(["run", "--summary", "d/key.pem", "--", "sh", "-c", `rmdir d && ln -s ${config} d`]);
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("the summary could not be written")]);
    expect(readFileSync(join(config, "key.pem"), "utf8")).toBe(before);
    expect(kept()).toMatchObject({ config: { "key.pem": expect.any(String) } });
  });

  it("over another name of the key it replaces that name, and the key stays", async () => {
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
  it.each<readonly [string, (store: string, config: string) => readonly string[]]>([
    ["record --folder", (_, config) => ["record", "put", "x", "{}", "--folder", join(config, "records")]],
    ["serve --socket", (store) => ["serve", "--socket", join(store, "lock.db")]],
  ])("%s", async (_, words) => {
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

  it("the configuration of an agent, by a link or a variable", async () => {
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
});
