import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "../cli/sandbox.ts";

/** A tracked folder is a mount point where nothing, or something else, is mounted. */

let box: Sandbox;
let mounted: string[] = [];
beforeEach(() => {
  box = new Sandbox();
});
afterEach(() => {
  for (const folder of mounted.toReversed()) spawnSync("umount", ["--lazy", folder]);
  mounted = [];
  box[Symbol.dispose]();
});

function mount(...args: string[]): void {
  const { status, stderr } = spawnSync("mount", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  mounted.push(args.at(-1) ?? "");
}

function unmount(folder: string): void {
  const { status, stderr } = spawnSync("umount", [folder], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  mounted = mounted.filter((one) => one !== folder);
}

/** May this process mount something at all? */
function mayMount(): boolean {
  const probe = new Sandbox();
  const folder = join(probe.folder, "probe");
  mkdirSync(folder);
  const isDone = spawnSync("mount", ["-t", "tmpfs", "none", folder]).status === 0;
  if (isDone) spawnSync("umount", [folder]);
  probe[Symbol.dispose]();
  return isDone;
}

const FILES = ["a.txt", "in/b.txt", "in/c.txt"];

async function filled(): Promise<void> {
  for (const path of FILES) box.write(path, `${path}\n`);
  await box.must(["init"]);
}

async function changes(): Promise<string[]> {
  const { value } = await box.json(["diff", "0"]);
  return (value as { changes: { change_type: string; path: string }[] }).changes.map(
    (one) => `${one.change_type} ${one.path}`,
  );
}

/** Commands that would record a deletion, or write into the bare folder. */
const COMMANDS = [
  ["snapshot"],
  ["status"],
  ["restore", "0"],
  ["undo", "--file", "a.txt"],
  ["put", "new"],
  ["run", "--", "true"],
];

/** Checks that each command is refused, and that the folder stays as it is. */
async function expectRefused(commands: readonly (readonly string[])[] = [["snapshot"]]): Promise<void> {
  const before = readdirSync(box.project);
  for (const command of commands) {
    const { code, stderr } = await box.call(command, { input: "x" });
    expect([command, code, stderr]).toEqual([
      command,
      command[0] === "run" ? 125 : 3,
      expect.stringContaining("is on another device or mount than before"),
    ]);
  }
  expect(readdirSync(box.project)).toEqual(before);
}

describe.skipIf(!mayMount())(
  "Truth 50: a mount point where nothing is mounted (skipped where mounting is not permitted)",
  () => {
    it.each([
      ["empty", []],
      ["with a file that tells that nothing is mounted", ["NOT-MOUNTED"]],
      ["with a file that has a recorded name and other bytes", ["a.txt"]],
    ])("is refused: %s", async (_, names) => {
      for (const name of names) box.write(name, "this is the bare mount point\n");
      mount("-t", "tmpfs", "none", box.project);
      await filled();
      unmount(box.project);
      await expectRefused(COMMANDS);
      mount("-t", "tmpfs", "none", box.project);
      await expectRefused();
    });

    it("is refused even if the remembered stats of the disk are lost", async () => {
      mount("-t", "tmpfs", "none", box.project);
      await filled();
      unmount(box.project);
      for (const id of readdirSync(join(box.store, "workspaces")))
        rmSync(join(box.store, "workspaces", id, "stat.cache"), { force: true });
      await expectRefused();
    });

    it("is refused if a folder of the same disk was mounted there", async () => {
      const real = join(box.folder, "real");
      mkdirSync(real);
      mount("--bind", real, box.project);
      await filled();
      unmount(box.project);
      await expectRefused();
      mount("--bind", real, box.project);
      await box.must(["snapshot"]);
      expect(await changes()).toEqual([]);
    });

    it("is refused for a further root, and for a root that is a single file", async () => {
      for (const name of ["two", "single"]) {
        mkdirSync(join(box.folder, name));
        mount("-t", "tmpfs", "none", join(box.folder, name));
      }
      box.write("../two/b.txt", "b\n");
      box.write("../single/c.txt", "c\n");
      box.write("a.txt", "a\n");
      await box.must(["init", ".", "../two", "../single/c.txt"]);
      for (const name of ["two", "single"]) {
        unmount(join(box.folder, name));
        const { code, stderr } = await box.call(["snapshot"]);
        expect([code, stderr]).toEqual([3, expect.stringContaining(join(box.folder, name))]);
        mount("-t", "tmpfs", "none", join(box.folder, name));
        box.write(name === "two" ? "../two/b.txt" : "../single/c.txt", `${name === "two" ? "b" : "c"}\n`);
      }
    });

    it("is recorded as deleted if a person accepts that, and an agent may not accept it", async () => {
      mount("-t", "tmpfs", "none", box.project);
      await filled();
      unmount(box.project);
      const places = { home: box.store, configFolder: join(box.folder, "config", "chronicle") };
      const store = await openStore({ ...places, role: "agent" });
      const asAgent = await store.open({ folder: box.project });
      await expect(asAgent.snapshot({ acceptDeletions: true })).rejects.toThrow("an agent may not do this");
      await store.close();
      await box.must(["snapshot", "--accept-deletions"]);
      expect(await changes()).toEqual(["deleted a.txt", "deleted in", "deleted in/b.txt", "deleted in/c.txt"]);
      await box.must(["restore", "0"]);
      expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("a.txt\n");
    });

    it("is not refused if another device with the same files is mounted there", async () => {
      await filled();
      const aside = join(box.folder, "aside");
      renameSync(box.project, aside);
      mkdirSync(box.project);
      mount("-t", "tmpfs", "none", box.project);
      expect(spawnSync("cp", ["-a", `${aside}/.`, box.project]).status).toBe(0);
      writeFileSync(join(box.project, "new.txt"), "x\n");
      await box.must(["snapshot"]);
      expect(await changes()).toEqual(["created new.txt"]);
    });
  },
);

describe.skipIf(!mayMount())(
  "Truth 50: a bind mount of a known folder (skipped where mounting is not permitted)",
  () => {
    it("is the same workspace at another path", async () => {
      await filled();
      const bound = join(box.folder, "bound");
      mkdirSync(bound);
      mount("--bind", box.project, bound);
      box.write("a.txt", "changed\n");
      const { value: here } = await box.json(["status"]);
      const { value: there } = (await box.json(["status"], { cwd: "bound" })) as { value: { workspace: string } };
      expect(there.workspace).toBe((here as { workspace: string }).workspace);
      await box.must(["snapshot"], { cwd: "bound" });
      expect(await changes()).toEqual(["modified a.txt"]);
      await box.must(["restore", "0", "a.txt"], { cwd: "bound" });
      expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("a.txt\n");
      // The folder was not moved, so it can still be used at its own path.
      unmount(bound);
      await box.must(["snapshot"]);
    });
  },
);
