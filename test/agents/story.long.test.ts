/**
 * Two real agents and a person work in one repository at the same time. Somebody who was not there asks what happened,
 * and takes parts of it back: each question is answered by one command. `STORY_ROUNDS`: how often the work of the first
 * part is repeated (default: 1; 75 rounds take ten minutes).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentProject } from "./agent-project.ts";
import { claudeProgram } from "./claude-program.ts";
import { codexProgram } from "./codex-program.ts";
import { isInstalled } from "./installed-agents.ts";
import { asObject, asObjects, type JsonObject } from "./json.ts";

const ROUNDS = Number(process.env["STORY_ROUNDS"] ?? 1);
const isReady = [claudeProgram, codexProgram].every(isInstalled);

const PARSER = ["price = 3", 'name = "tea"', "stock = 7", ""].join("\n");

/** One round in which both agents work at once, each in files of its own, and the person writes notes meanwhile. */
async function round(project: AgentProject, n: number): Promise<void> {
  const claude = project.session(
    claudeProgram,
    [{ write: `claude/part-${n}.ts`, content: `part ${n}\n` }, { shell: `sleep 0.3; echo claude ${n} >> claude.log` }],
    `Write part ${n}`,
  );
  const codex = project.session(
    codexProgram,
    [{ write: `codex/test-${n}.ts`, content: `test ${n}\n` }, { shell: `sleep 0.3; echo codex ${n} >> codex.log` }],
    `Test part ${n}`,
  );
  const notes = (async () => {
    for (let at = 0; at < 3; at += 1) {
      await sleep(700);
      project.person(`echo 'note ${n}.${at}' >> notes.md`);
    }
  })();
  await Promise.all([claude, codex, notes]);
}

describe.runIf(isReady)("two agents and a person in one repository", () => {
  let project: AgentProject;
  let items: readonly JsonObject[];
  const ask = (...words: readonly string[]): string => project.said(...words);

  beforeAll(async () => {
    project = new AgentProject(claudeProgram, codexProgram);
    project.write("parser.ts", PARSER);
    project.write("README.md", "readme\n");
    project.install();
    project.commit();
    project.chronicle("init");
    for (let n = 1; n <= ROUNDS; n += 1) await round(project, n);
    await project.session(claudeProgram, [{ shell: "sed -i s/tea/coffee/ parser.ts" }], "Rename the product to coffee");
    project.person("echo 'a line of mine' >> README.md");
    const raise = [{ shell: "sed -i s/3/4/ parser.ts" }, { shell: "sed -i s/readme/README/ README.md" }];
    await project.session(codexProgram, raise, "Raise the price");
    await project.session(
      claudeProgram,
      [{ shell: "sed -i s/stock/count/ parser.ts" }],
      "Refactor: stock becomes count",
    );
    items = asObjects(asObject(project.chronicle("list", "--limit", "500"))["items"]);
  }, 1_200_000);
  afterAll(() => project[Symbol.asyncDispose]());

  const turnOf = (prompt: string): JsonObject => {
    const turn = asObjects(project.chronicle("turns")).find((one) => one["prompt"] === prompt);
    if (turn === undefined) throw new Error(`no turn "${prompt}"`);
    return turn;
  };

  it("What happened here, and who did it? Each agent's work is its own, the person's is nobody else's", () => {
    const by = (who: string): JsonObject[] => items.filter(({ actor, kind }) => actor === who && kind === "turn");
    expect([by("claude").length, by("codex").length]).toEqual([ROUNDS + 2, ROUNDS + 1]);
    const paths = (one: JsonObject): string[] => asObjects(one["paths"]).map(({ path }) => String(path));
    expect(
      by("codex")
        .flatMap(paths)
        .filter((path) => path.startsWith("claude")),
    ).toEqual([]);
    expect(
      by("claude")
        .flatMap(paths)
        .filter((path) => path.startsWith("codex")),
    ).toEqual([]);
    const persons = items.filter(({ who }) => who === "person").flatMap(paths);
    expect(persons).toEqual(expect.arrayContaining(["README.md", "notes.md"]));
    const text = ask("list", "--limit", "500");
    for (const words of ["Refactor: stock becomes count", "Raise the price", "Write part 1", "Test part 1"])
      expect(text).toContain(words);
  });

  it("Is anybody recording now? What did Claude do? What did I ask? What did the last turn change?", () => {
    expect(ask("status")).toContain("NOT RECORDING between commands");
    const claude = ask("list", "--actor", "claude", "--since", "1h", "--actions");
    expect([claude.includes("Rename the product to coffee"), claude.includes("Raise the price")]).toEqual([
      true,
      false,
    ]);
    expect(ask("turns")).toContain("Raise the price");
    expect(ask("changes", "-p")).toContain("+count = 7");
  });

  it("Who broke this line? What added this text? Was this line ever there? Which change broke the test?", () => {
    const lines = ask("blame", "parser.ts").split("\n");
    const whose = ["price = 4", "coffee", "count"].map((text) => lines.find((line) => line.includes(text)) ?? "");
    expect(whose.map((line) => /claude|codex/.exec(line)?.[0])).toEqual(["codex", "claude", "claude"]);
    expect(ask("log", "-S", "coffee", "parser.ts")).toContain("claude");
    expect(ask("grep", "--history", "stock = 7")).toContain("claude");
    expect(ask("bisect", "-q", "--", "grep", "-q", "stock", "parser.ts")).toContain("undo --action");
  });

  it("Take back only what Codex did to one file, or at one line; bring it back", () => {
    for (const words of [["--file", "parser.ts"], ["parser.ts:1"]]) {
      ask("undo", "--actor", "codex", ...words);
      expect(project.read("parser.ts")).toBe('price = 3\nname = "coffee"\ncount = 7\n');
      expect(project.read("README.md")).toBe("README\na line of mine\n");
      ask("redo");
      expect(project.read("parser.ts")).toBe('price = 4\nname = "coffee"\ncount = 7\n');
    }
  });

  it("Take back the last turn, then the one before; go to before I asked for that", () => {
    ask("undo", "--turn", "last");
    expect(project.read("parser.ts")).toBe('price = 4\nname = "coffee"\nstock = 7\n');
    ask("undo", "--turn", "last");
    expect(project.read("parser.ts")).toBe('price = 3\nname = "coffee"\nstock = 7\n');
    expect(project.read("README.md")).toBe("readme\na line of mine\n");
    for (let at = 0; at < 2; at += 1) ask("redo");
    ask("rewind", String(turnOf("Refactor: stock becomes count")["turn"]));
    expect(project.read("parser.ts")).toBe('price = 4\nname = "coffee"\nstock = 7\n');
    ask("redo");
  });

  it("I ran `git reset --hard`; as it was at the beginning; for a pull request; all of it is proved", () => {
    project.person("git -c user.name=me -c user.email=me@localhost commit -qam second; echo later >> README.md");
    const before = project.copy("before-reset");
    const head = project.person("git rev-parse HEAD");
    ask("run", "--", "git", "reset", "-q", "--hard", "HEAD~1");
    expect(project.read("parser.ts")).toBe(PARSER);
    ask("undo");
    expect([project.differences(before), project.person("git rev-parse HEAD")]).toEqual(["", head]);
    ask("restore", "baseline", "README.md");
    expect(project.read("README.md")).toBe("readme\n");
    ask("undo");
    expect(ask("changes", "--actor", "claude", "--format", "markdown")).toContain("parser.ts");
    expect(project.chronicle("verify")).toMatchObject({ ok: true, problems: [] });
    expect(project.person("git fsck --no-dangling")).toBe("");
  });
});
