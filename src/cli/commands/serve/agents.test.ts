import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Sandbox } from "../../../../test/cli/sandbox.ts";

test("an agent that is named twice is installed and listed once", async () => {
  using box = new Sandbox();
  const config = join(box.folder, "home", ".claude", "settings.json");
  const first = await box.must(["agents", "install", "claude", "claude"]);
  expect(first.stdout.match(/^Claude Code: /gm)).toHaveLength(1);
  expect(existsSync(config)).toBe(true);
  const { value } = await box.json(["agents", "status", "claude", "claude", "--user"]);
  expect(value).toMatchObject({ agents: [{ agent: "claude" }] });
  await box.must(["agents", "uninstall", "claude", "claude"]);
  expect(existsSync(config)).toBe(false);
});
