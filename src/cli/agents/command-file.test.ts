import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { Sandbox } from "../../../test/cli/sandbox.ts";

/** The files of the commands, from the home folder or a project. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  claude: [".claude/commands/chronicle-undo.md", ".claude/commands/chronicle-rewind.md"],
  codex: [".codex/skills/chronicle-undo/SKILL.md", ".codex/skills/chronicle-rewind/SKILL.md"],
  gemini: [".gemini/commands/chronicle-undo.toml", ".gemini/commands/chronicle-rewind.toml"],
  opencode: [".opencode/commands/chronicle-undo.md", ".opencode/commands/chronicle-rewind.md"],
  cursor: [".cursor/commands/chronicle-undo.md", ".cursor/commands/chronicle-rewind.md"],
  copilot: [".github/skills/chronicle-undo/SKILL.md", ".github/skills/chronicle-rewind/SKILL.md"],
  cline: [".cline/workflows/chronicle-undo.md", ".cline/workflows/chronicle-rewind.md"],
};

/** Parses the header of a Markdown file. */
function headerOf(text: string): Record<string, unknown> {
  const [, header = "", body = ""] = /^---\n([\s\S]*?)\n---\n\n([\s\S]*)$/.exec(text) ?? [];
  return { ...(parseYaml(header) as object), body };
}

describe.each(Object.entries(FILES))("the commands for %s", (agent, files) => {
  const within = (box: Sandbox): readonly string[] => files.map((file) => join(box.project, file));
  const run = (box: Sandbox, what: string) => box.must(["agents", what, agent, "--project"]);

  it("are installed, say what they do, and are removed with the folders that were made for them", async () => {
    using box = new Sandbox();
    await run(box, "install");
    const [undo = "", rewind = ""] = within(box).map((path) => readFileSync(path, "utf8"));
    const [about, back] = [undo, rewind].map((text) => (agent === "gemini" ? parseToml(text) : headerOf(text)));
    expect(about?.["description"]).toContain("Take back changes of files");
    expect(about?.["prompt"] ?? about?.["body"]).toContain(`{"turn": "last", "actor": "${agent}"}`);
    expect(back?.["description"]).toContain("before an earlier prompt");
    expect(back?.["prompt"] ?? back?.["body"]).toContain('{"rewind": "TURN"}');
    const { value } = await box.json(["agents", "status", agent, "--project"]);
    const [status] = (value as { agents: { state: string; files: unknown[] }[] }).agents;
    expect(status?.state).toBe("installed");
    expect(status?.files).toEqual(
      expect.arrayContaining(within(box).map((path) => ({ path, installed: true }))) as unknown,
    );

    await run(box, "uninstall");
    for (const path of within(box)) {
      expect(existsSync(dirname(path)), path).toBe(false);
      expect(existsSync(`${path}.before-chronicle`)).toBe(false);
    }
  });

  it("leave a folder that was there before, although it was empty, also after a second install", async () => {
    using box = new Sandbox();
    const [undo = ""] = within(box);
    const shared = undo.endsWith("SKILL.md") ? dirname(dirname(undo)) : dirname(undo);
    mkdirSync(shared, { recursive: true });
    await run(box, "install");
    await run(box, "install");
    const { value } = await box.json(["agents", "status", agent, "--project"]);
    expect((value as { agents: { state: string }[] }).agents[0]?.state).toBe("installed");
    await run(box, "uninstall");
    expect(readdirSync(shared)).toEqual([]);
  });

  it("leave beside them what is not of Chronicle", async () => {
    using box = new Sandbox();
    const [undo = ""] = within(box);
    const beside = join(dirname(undo), "mine.md");
    box.write(beside.slice(box.project.length + 1), "mine\n");
    await run(box, "install");
    await run(box, "uninstall");
    expect([existsSync(undo), readFileSync(beside, "utf8")]).toEqual([false, "mine\n"]);
  });

  it("stay byte for byte, and are named, where a person has edited or written them", async () => {
    using box = new Sandbox();
    const [undo = "", rewind = ""] = within(box);
    await run(box, "install");
    const edited = `${readFileSync(undo, "utf8")}Be brief.\n`;
    writeFileSync(undo, edited);
    writeFileSync(rewind, "a text of my own\n");
    for (const what of ["install", "uninstall"]) {
      const { stdout } = await run(box, what);
      for (const path of [undo, rewind])
        expect(stdout).toContain(
          `you have edited this file, so it stays as it is; remove it if you do not want it: ${path}`,
        );
    }
    expect([undo, rewind].map((path) => readFileSync(path, "utf8"))).toEqual([edited, "a text of my own\n"]);
    expect(existsSync(`${rewind}.before-chronicle`)).toBe(false);
    const { value } = await box.json(["agents", "status", agent, "--project"]);
    expect(value).toMatchObject({ agents: [{ state: "not installed" }] });
    rmSync(undo);
    await run(box, "install");
    expect(readFileSync(undo, "utf8")).toBe(edited.replace("Be brief.\n", ""));
  });
});

it("the commands of an earlier version are renewed where nobody has edited them", async () => {
  using box = new Sandbox();
  const path = join(box.project, ".claude/commands/chronicle-undo.md");
  // The mark has the first half of the SHA-256 of the text without the mark: `printf -- '---\n\n---\nold\n' | sha256sum`.
  const old = (hash: string) => `---\n# Written by \`chronicle agents install\` (${hash}). Some words.\n---\nold\n`;
  for (const [hash, isRenewed] of [
    ["@", true],
    ["0000000000000000", false],
  ] as const) {
    box.write(".claude/commands/chronicle-undo.md", old(hash === "@" ? HASH_OF_OLD : hash));
    await box.must(["agents", "install", "claude", "--project"]);
    expect(!readFileSync(path, "utf8").includes("old\n")).toBe(isRenewed);
  }
});

const HASH_OF_OLD = "1a64d683aebc4cf0";
