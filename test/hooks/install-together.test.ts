import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import type { AgentConfig } from "../../src/cli/agents/agent-config.ts";
import { AGENT_CONFIGS } from "../../src/cli/agents/agent-table.ts";
import { carryOut, type FilePlan, planInstall, planUninstall } from "../../src/cli/agents/install-agent.ts";

/** Installations beside each other, and beside the agent itself. */

const [claude] = AGENT_CONFIGS as readonly [AgentConfig];
const OWN = `{ "model": "opus" }\n`;
const HOOK = "/c/bin/chronicle-hook claude";

/** A home with settings of Claude Code. */
class Home implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "chronicle-install-"));
  readonly settings = join(this.#folder, ".claude/settings.json");
  readonly #base = { scope: "user", env: {}, userHome: this.#folder, project: this.#folder } as const;

  constructor() {
    mkdirSync(dirname(this.settings));
    writeFileSync(this.settings, OWN);
  }

  get text(): string {
    return readFileSync(this.settings, "utf8");
  }

  install(): FilePlan[] {
    return planInstall(claude, this.#base, { hook: HOOK, hookBefore: HOOK, mcp: ["/node", "/chronicle.js", "mcp"] });
  }

  uninstall(): FilePlan[] {
    return planUninstall(claude, this.#base);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

it("is done once by two installations that were planned at the same time", () => {
  using home = new Home();
  const files = [home.settings, `${home.settings}.before-chronicle`];
  const inodes = (): number[] => files.map((path) => lstatSync(path).ino);
  const [one, two] = [home.install(), home.install()];
  carryOut(one);
  const before = inodes();
  carryOut(two);
  expect(inodes()).toEqual(before);
  expect(home.text).toContain(HOOK);
  for (const plans of [home.uninstall(), home.uninstall()]) carryOut(plans);
  expect(home.text).toBe(OWN);
});

it("keeps a setting that the agent has written since the installation was planned", () => {
  using home = new Home();
  const late = home.install();
  const edited = OWN.replace("opus", "sonnet");
  writeFileSync(home.settings, edited);
  expect(() => carryOut(late)).toThrow(/settings.json was changed by another program/);
  expect(home.text).toBe(edited);
  carryOut(home.install());
  expect(home.text).toContain(HOOK);
  carryOut(home.uninstall());
  expect(home.text).toBe(edited);
});
