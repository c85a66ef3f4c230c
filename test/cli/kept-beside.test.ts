/** `chronicle du` says what is kept beside the history. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { DuShape } from "../../src/api/shapes.ts";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "./sandbox.ts";

it("du says what prompts, git and files that were set aside take beside the history", async () => {
  using box = new Sandbox();
  box.write(".gitignore", "*.log\n");
  box.write("a.log", randomBytes(20_000));
  const git = (...words: string[]) => spawnSync("git", words, { cwd: box.project, env: box.env(), encoding: "utf8" });
  expect(git("init", "-q").status).toBe(0);
  await box.must(["init"]);
  const nothing = { count: 0, stored_bytes: 0 };
  expect(((await box.json(["du"])).value as DuShape).kept_beside).toEqual({
    prompts: nothing,
    git: nothing,
    aside: nothing,
    budgets: [],
  });
  const library = await openStore({ home: box.store, configFolder: join(box.folder, "config/chronicle") });
  const workspace = await library.open({ folder: box.project });
  await workspace.run({ command: ["sh", "-c", "git branch -m other && rm a.log"] });
  await workspace.startTurn({ session: "s1", turn: "t1", prompt: "remove the log" });
  await workspace.close();
  const { kept_beside: kept } = await library.du();
  expect(kept?.aside.stored_bytes).toBeGreaterThan(20_000);
  expect(kept?.prompts).toMatchObject({ count: 1 });
  expect(kept?.git.count).toBeGreaterThan(0);
  expect(await library.du({ kept: false })).not.toHaveProperty("kept_beside");
  await library.close();
  expect((await box.must(["du"])).stdout).toMatch(
    /of the contents, kept beside the history: prompts \d+ B, git objects \S+ K?i?B, set aside \S+ KiB\n/,
  );
});
