import { afterEach, describe, expect, it } from "vitest";
import { FolderRig, removeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** What the ignore rules leave out is nobody's work: where it was recorded before they did, its deletion halts nothing. */

let rig: FolderRig;
afterEach(() => rig.close());

const files = (folder: string, count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${folder}/f${100 + i}`, `${folder} ${i}\n`]));
const SOURCES = files("src", 20);
const MODULES = { ...files("node_modules/a", 60), ...files("node_modules/b", 60) };
const RULES = { ".gitignore": "node_modules/\n" };

async function started(begin: Readonly<Record<string, string>>, rules: Readonly<Record<string, string>> = {}) {
  rig = await FolderRig.start(begin);
  await rig.flush();
  for (const [path, text] of Object.entries(rules)) rig.desk.edit(path, text);
  await rig.flush();
}

function remove(...names: string[]): void {
  for (const name of names) removeSim(rig.desk.disk, `${FOLDER}/${name}`);
  rig.desk.hint(...names);
}

const state = () => rig.desk.sync.shape;
const halted = (): Promise<void> => rig.until(() => state().state === "halted");
const filesOf = (tree: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(tree).filter(([path]) => !path.endsWith("/")));
const atOrigin = async () => filesOf(await rig.during(rig.host.tree()));

describe("Truth 29: a deletion of what is ignored halts nothing", () => {
  it("rm -rf node_modules on a desk", async () => {
    await started({ ...SOURCES, ...MODULES }, RULES);
    remove("node_modules");
    await rig.flush();
    expect(await atOrigin()).toEqual({ ...SOURCES, ...RULES });
    // It is no part either of what goes a moment later.
    remove(...Object.keys(SOURCES).slice(0, 15));
    await rig.flush();
    expect(Object.keys(await atOrigin())).toHaveLength(6);
  });

  it("npm ci: it goes, and what is made anew is ignored", async () => {
    await started({ ...SOURCES, ...MODULES }, RULES);
    remove("node_modules");
    for (const path of Object.keys(MODULES)) rig.desk.edit(path, "made anew\n");
    await rig.pass(1_000);
    await rig.flush();
    expect(state()).toMatchObject({ state: "in-sync" });
    expect(await atOrigin()).toMatchObject({ ...SOURCES, ...RULES });
  });

  it.each(["node_modules/\n", "/node_modules\n", "*_modules\n!src\n"])("rules that come with it: %j", async (text) => {
    await started({ ...SOURCES, ...MODULES });
    rig.desk.cut();
    rig.desk.edit(".gitignore", text);
    remove("node_modules");
    await rig.pass(1_000);
    rig.desk.heal();
    await rig.flush();
    expect(await atOrigin()).toEqual({ ...SOURCES, ".gitignore": text });
  });

  it("rules in a folder, which go with it", async () => {
    await started({ ...SOURCES, ...files("web/out", 120) }, { "web/.gitignore": "out\n" });
    remove("web");
    await rig.flush();
    expect(await atOrigin()).toEqual(SOURCES);
  });

  it("at the origin", async () => {
    await started({ ...SOURCES, ...MODULES }, RULES);
    rig.desk.cut();
    for (const path of [...Object.keys(MODULES), "node_modules/a", "node_modules/b", "node_modules"])
      await rig.during(rig.host.write(path, undefined));
    rig.desk.heal();
    await rig.flush();
    expect(filesOf(rig.desk.tree())).toEqual({ ...SOURCES, ...RULES });
  });
});

describe("Truth 29: what is work halts", () => {
  it.each(["node_modules", "vendor"])(
    "%s, which no rule names; and the way to let it pass for good is said",
    async (name) => {
      await started({ ...SOURCES, ...files(name, 120) }, { ".gitignore": "build/\n" });
      remove(name);
      await halted();
      expect(state()).toMatchObject({
        halted: "mass-deletion",
        reason: expect.stringContaining(`121 of them in ${name}/`),
      });
      expect(state().hint).toContain(".gitignore");
      // It is done as it is said.
      await rig.during(rig.desk.sync.resume({ accept: "restore" }));
      await rig.flush();
      rig.desk.edit(".gitignore", `${name}/\n`);
      await rig.flush();
      remove(name);
      await rig.flush();
      expect(await atOrigin()).toEqual({ ...SOURCES, ".gitignore": `${name}/\n` });
    },
  );

  it("what a rule takes out again", async () => {
    await started(
      { ...SOURCES, ...files("vendor", 120) },
      { ".gitignore": "*\n!src\n!src/*\n!.gitignore\n!vendor\n!vendor/*\n" },
    );
    remove("vendor");
    await halted();
    expect(Object.keys(await atOrigin())).toHaveLength(141);
  });

  it.each([
    ["the origin", RULES],
    ["the origin, where everything is ignored", { ".gitignore": "*\n" }],
  ])("an emptied side: %s", async (_, rules) => {
    await started({ ...MODULES, a: "1\n" }, rules);
    rig.desk.cut();
    for (const path of Object.keys(await rig.during(rig.host.tree())).toReversed())
      await rig.during(rig.host.write(path.replace(/\/$/, ""), undefined));
    rig.desk.heal();
    await halted();
    expect(state()).toMatchObject({ halted: "root-emptied" });
    expect(filesOf(rig.desk.tree())).toEqual({ ...MODULES, ...rules, a: "1\n" });
  });

  it("an emptied desk, where all but the rules is ignored", async () => {
    await started(MODULES, RULES);
    remove(".gitignore", "node_modules");
    await halted();
    expect(await atOrigin()).toEqual({ ...MODULES, ...RULES });
  });
});
