import { afterEach, describe, expect, it } from "vitest";
import { FolderRig, removeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** The deletion of ignored paths does not halt a sync, even if they were recorded before the rules ignored them. */

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

describe("Truth 29: a deletion of ignored paths does not halt the sync", () => {
  it("rm -rf node_modules on a desk", async () => {
    await started({ ...SOURCES, ...MODULES }, RULES);
    remove("node_modules");
    await rig.flush();
    expect(await atOrigin()).toEqual({ ...SOURCES, ...RULES });
    // It does not count towards a deletion a moment later, either.
    remove(...Object.keys(SOURCES).slice(0, 15));
    await rig.flush();
    expect(Object.keys(await atOrigin())).toHaveLength(6);
  });

  it("npm ci, which deletes node_modules and makes it again", async () => {
    await started({ ...SOURCES, ...MODULES }, RULES);
    remove("node_modules");
    for (const path of Object.keys(MODULES)) rig.desk.edit(path, "made anew\n");
    await rig.pass(1_000);
    await rig.flush();
    expect(state()).toMatchObject({ state: "in-sync" });
    expect(await atOrigin()).toMatchObject({ ...SOURCES, ...RULES });
  });

  it.each(["node_modules/\n", "/node_modules\n", "*_modules\n!src\n"])(
    "with rules that come at the same time: %j",
    async (text) => {
      await started({ ...SOURCES, ...MODULES });
      rig.desk.cut();
      rig.desk.edit(".gitignore", text);
      remove("node_modules");
      await rig.pass(1_000);
      rig.desk.heal();
      await rig.flush();
      expect(await atOrigin()).toEqual({ ...SOURCES, ".gitignore": text });
    },
  );

  it("with rules in a folder that is deleted together with them", async () => {
    await started({ ...SOURCES, ...files("web/out", 120) }, { "web/.gitignore": "out\n" });
    remove("web");
    await rig.flush();
    expect(await atOrigin()).toEqual(SOURCES);
  });

  it("of node_modules at the origin", async () => {
    await started({ ...SOURCES, ...MODULES }, RULES);
    rig.desk.cut();
    for (const path of [...Object.keys(MODULES), "node_modules/a", "node_modules/b", "node_modules"])
      await rig.during(rig.host.write(path, undefined));
    rig.desk.heal();
    await rig.flush();
    expect(filesOf(rig.desk.tree())).toEqual({ ...SOURCES, ...RULES });
  });
});

describe("Truth 29: a deletion that halts the sync", () => {
  it.each(["node_modules", "vendor"])(
    "of %s, which no rule names; the hint says how to let it pass for good",
    async (name) => {
      await started({ ...SOURCES, ...files(name, 120) }, { ".gitignore": "build/\n" });
      remove(name);
      await halted();
      expect(state()).toMatchObject({
        halted: "mass-deletion",
        reason: expect.stringContaining(`121 of them in ${name}/`),
      });
      expect(state().hint).toContain(".gitignore");
      // Follows the hint.
      await rig.during(rig.desk.sync.resume({ accept: "restore" }));
      await rig.flush();
      rig.desk.edit(".gitignore", `${name}/\n`);
      await rig.flush();
      remove(name);
      await rig.flush();
      expect(await atOrigin()).toEqual({ ...SOURCES, ".gitignore": `${name}/\n` });
    },
  );

  it("of a folder that a negated rule takes in again", async () => {
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
  ])("of everything at one side: %s", async (_, rules) => {
    await started({ ...MODULES, a: "1\n" }, rules);
    rig.desk.cut();
    for (const path of Object.keys(await rig.during(rig.host.tree())).toReversed())
      await rig.during(rig.host.write(path.replace(/\/$/, ""), undefined));
    rig.desk.heal();
    await halted();
    expect(state()).toMatchObject({ halted: "root-emptied" });
    expect(filesOf(rig.desk.tree())).toEqual({ ...MODULES, ...rules, a: "1\n" });
  });

  it("of everything on a desk where all but the rules is ignored", async () => {
    await started(MODULES, RULES);
    remove(".gitignore", "node_modules");
    await halted();
    expect(await atOrigin()).toEqual({ ...MODULES, ...RULES });
  });
});
