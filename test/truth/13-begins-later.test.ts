import { cpSync, renameSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/**
 * The signed head lies outside of the store. A log that begins after this head has no event that could contradict it.
 */
test("13 a forged log that was compacted until it begins after the signed head is not taken for the history", async () => {
  await using project = new Project();
  const steps = async (workspace: WorkspaceApi, text: string, count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      project.write("a.txt", `${text} ${n}\n`);
      await workspace.snapshot();
    }
  };
  const opened = async (work: (workspace: WorkspaceApi) => Promise<void>): Promise<void> => {
    const store = await project.store();
    const workspace = await store.open({ folder: project.folder, create: true });
    await work(workspace);
    await workspace.close();
    await store.close();
  };
  const { home, configFolder } = project;
  const [copy, truth, heads] = [`${home}-copy`, `${home}-true`, `${configFolder}-true`];
  await opened((workspace) => steps(workspace, "base", 2));
  cpSync(home, copy, { recursive: true });
  cpSync(configFolder, `${configFolder}-early`, { recursive: true });
  let real: string | undefined;
  await opened(async (workspace) => {
    await steps(workspace, "true", 3);
    real = JSON.stringify(await workspace.head());
  });
  renameSync(configFolder, heads);
  renameSync(home, truth);
  renameSync(copy, home);
  // The forger even has the key, so that only the kept head can give the log away.
  renameSync(`${configFolder}-early`, configFolder);
  await opened(async (workspace) => {
    await steps(workspace, "forged", 12);
    await workspace.compact({ dropArchive: true });
  });
  rmSync(configFolder, { recursive: true });
  renameSync(heads, configFolder);
  await opened(async (workspace) => {
    const verified = await workspace.verify();
    expect(verified).toMatchObject({ ok: false, anchored_to: null });
    expect(verified.problems.map(({ kind }) => kind)).toContain("head-unheld");
    expect((await workspace.signing()).state).toBe("read-only");
    await expect(workspace.snapshot()).rejects.toMatchObject({
      code: "ROLLBACK_DETECTED",
      message: expect.stringContaining("the log begins with event"),
    });
    expect((await workspace.verify({ expect: real ?? "" })).ok).toBe(false);
  });
  // The true log is still the history.
  rmSync(home, { recursive: true });
  renameSync(truth, home);
  await opened(async (workspace) => {
    await workspace.snapshot();
    expect(await workspace.verify()).toMatchObject({ ok: true });
    expect((await workspace.signing()).state).toBe("signed");
  });
});
