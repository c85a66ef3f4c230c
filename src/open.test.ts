import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Project } from "../test/helpers/project.ts";
import { open } from "./open.ts";

const FDS = "/proc/self/fd";

/** Returns the files beneath a folder that this process has open. */
function openBeneath(folder: string): string[] {
  const targets = readdirSync(FDS).flatMap((fd) => (existsSync(join(FDS, fd)) ? [readlinkSync(join(FDS, fd))] : []));
  return targets.filter((path) => path.startsWith(`${folder}/`));
}

test.skipIf(!existsSync(FDS)).for(["person", "agent"] as const)(
  "`await using` closes the store with the workspace: as %s",
  async (role) => {
    await using project = new Project();
    project.write("a.txt", "1\n");
    {
      const { folder, home, configFolder } = project;
      await using workspace = await open({ folder, home, configFolder, role, actor: "claude", create: true });
      await workspace.snapshot();
      expect(openBeneath(home)).not.toEqual([]);
    }
    expect(openBeneath(project.home)).toEqual([]);
  },
);
