import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { asSomebody } from "../helpers/as-somebody.ts";
import { Project } from "../helpers/project.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";

function modesIn(folder: string): (readonly [string, string])[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).flatMap((name) => {
    const stat = lstatSync(join(folder, name));
    const wanted = stat.isDirectory() ? 0o700 : 0o600;
    // A mode without a right of the owner would keep the next command from using the file.
    return (stat.mode & 0o700) === (wanted & 0o700) && (stat.mode & 0o077) === 0 ? [] : [[name, stat.mode.toString(8)]];
  });
}

describe("Truth: under any umask, the store belongs to its owner alone", () => {
  // There is one case only, because a process reads its umask once.
  it("even if the umask leaves the owner no right", async () => {
    await using project = new Project();
    await asSomebody(project, async () => {
      project.write("f", "before\n");
      const before = process.umask(0o777);
      try {
        const workspace = await project.init();
        project.write("f", "after\n");
        await workspace.snapshot();
        await workspace.close();
      } finally {
        process.umask(before);
      }
      project.write("f", "later\n");
      const workspace = await project.open();
      await workspace.snapshot();
      expect((await workspace.verify()).problems).toEqual([]);
      await workspace.close();
      for (const folder of [project.home, project.configFolder]) expect(modesIn(folder)).toEqual([]);
    });
  });

  it("a folder is made with exactly the given mode", async () => {
    await using project = new Project();
    await asSomebody(project, async () => {
      const before = process.umask(0o777);
      try {
        const disk = new NodeDisk();
        for (const mode of [0o700, 0o300, 0o755]) {
          const path = project.at(`d${mode}`);
          disk.makeFolder(path, mode);
          expect(lstatSync(path).mode & 0o7777).toBe(mode);
        }
      } finally {
        process.umask(before);
      }
    });
  });
});
