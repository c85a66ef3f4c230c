import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { open } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";
import { noise, rot } from "../helpers/rot.ts";

async function opened(project: Project, create = false): Promise<WorkspaceApi & AsyncDisposable> {
  const { home, configFolder, folder } = project;
  const workspace = await open({ home, configFolder, folder, create, waitMs: 5_000 });
  return Object.assign(workspace, { [Symbol.asyncDispose]: () => workspace.close() });
}

/** Makes a project whose file was recorded and removed, and whose content rotted in the store. */
async function rotted(content: Buffer, more = 0): Promise<Project> {
  const project = new Project();
  project.write("a.bin", content);
  for (let i = 0; i < more; i += 1) project.write(`more/${i}.txt`, `file ${i}\n`);
  {
    await using workspace = await opened(project, true);
    project.remove("a.bin");
    await workspace.snapshot();
  }
  rot(project.home, content);
  return project;
}

const SIZES = [
  ["small", 40_000],
  ["large, in a file of its own", 9 * 1024 * 1024],
] as const;

describe("Truth 16: a content that is recorded again is stored again if its block is damaged", () => {
  test.each(SIZES)("a file that is put back with the same content (%s)", async (_, size) => {
    const content = noise("put back", size);
    await using project = await rotted(content);
    await using workspace = await opened(project);
    project.write("a.bin", content);
    await workspace.snapshot();
    project.remove("a.bin");
    await workspace.restore("latest");
    expect(readFileSync(project.at("a.bin")).equals(content)).toBe(true);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("a file that is put back among so many that worker threads read them", async () => {
    const content = noise("among many", 40_000);
    await using project = await rotted(content, 3_000);
    await using workspace = await opened(project);
    project.write("a.bin", content);
    for (let i = 0; i < 3_000; i += 1) project.write(`again/${i}.txt`, `file ${i}\n`);
    await workspace.snapshot();
    project.remove("a.bin");
    await workspace.restore("latest");
    expect(readFileSync(project.at("a.bin")).equals(content)).toBe(true);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("a file that is still in the folder, with `snapshot --paranoid`, also in a process that has read it before", async () => {
    const content = noise("paranoid", 40_000);
    await using project = new Project();
    project.write("a.bin", content);
    await using workspace = await opened(project, true);
    project.write("copy.bin", content);
    await workspace.snapshot();
    rot(project.home, content);
    expect((await workspace.verify()).ok).toBe(false);
    await workspace.snapshot({ paranoid: true });
    expect((await workspace.verify()).problems).toEqual([]);
    project.remove("a.bin");
    await workspace.restore("0");
    expect(readFileSync(project.at("a.bin")).equals(content)).toBe(true);
  });

  test("a file that is written through the library", async () => {
    const content = noise("written", 40_000);
    await using project = await rotted(content);
    await using workspace = await opened(project);
    await workspace.putFile("b.bin", content);
    const bytes = Buffer.concat(await Array.fromAsync((await workspace.file("b.bin")).pieces()));
    expect(bytes.equals(content)).toBe(true);
  });
});
