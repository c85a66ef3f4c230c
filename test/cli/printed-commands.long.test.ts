import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { open } from "../../src/open.ts";
import { COMMANDS } from "../../src/cli/table/command-table.ts";
import { quotePath } from "../../src/core/shell/quote-command.ts";
import { Sandbox } from "./sandbox.ts";

/** Printed commands work when they are copied into a shell. */

/** Runs a printed command in a shell. Throws if the command fails. */
function typed(box: Sandbox, command: string): void {
  box.sh(`chronicle() { ${box.command.join(" ")} "$@"; }\n${command}`);
}

function found(text: string, what: RegExp): string {
  const command = what.exec(text)?.[1];
  if (command === undefined) throw new Error(`no command in: ${text}`);
  return command;
}

describe("a command that is printed", () => {
  it.each(["my file", "-x", "it's", "@a:b", "a~b"])("finds a file that is called %s", async (name) => {
    using box = new Sandbox();
    box.write(name, "one\n");
    await box.must(["init"]);
    const missing = await box.call(["cat", "--iteration", "9", "--", `./${name}`]);
    expect(missing.code).toBe(3);
    typed(box, found(missing.stderr, /`(chronicle history .+)` lists/));
    box.sh(`rm -- ${quotePath(name)}`);
    await box.must(["snapshot"]);
    await using workspace = await open({
      home: box.store,
      configFolder: join(box.folder, "config", "chronicle"),
      folder: box.project,
    });
    const gone: unknown = await workspace.file(`./${name}`).catch((error: unknown) => error);
    typed(box, found((gone as { hint: string }).hint, /`(chronicle history .+)` lists/));
  });

  it("finds a file from the current folder", async () => {
    using box = new Sandbox();
    box.write("deep/my file", "one\n");
    await box.must(["init"]);
    const missing = await box.call(["cat", "my file@9"], { cwd: "project/deep" });
    expect(missing.code).toBe(3);
    const command = found(missing.stderr, /`(chronicle history .+)` lists/);
    box.sh(`cd deep; ${box.command.join(" ")} ${command.replace("chronicle ", "")}`);
  });

  it.each(["my dir", "-d", "-rf", "it's"])("removes a folder that is called %s", async (name) => {
    using box = new Sandbox();
    box.write(`${name}/a`, "one\n");
    await box.must(["init"]);
    const refused = await box.call(["rm", "--", name]);
    expect(refused.code).toBe(2);
    typed(box, found(refused.stderr, /(chronicle rm -r .+)/));
    expect((await box.call(["rm", "--", name])).code).toBe(3);
  });

  it("brings a forgotten history back in the store of --store", async () => {
    using box = new Sandbox();
    const other = join(box.folder, "other store");
    await box.must(["--store", other, "workspaces", "create", "w"]);
    const { stdout } = await box.must(["--store", other, "forget", "w", "--yes"]);
    typed(box, found(stdout, /`(chronicle .+)` brings it back/));
    expect((await box.must(["--store", other, "workspaces"])).stdout).toContain("w");
    const asked = await box.call(["--store", other, "forget", "w"]);
    typed(box, found(asked.stderr, /if you are sure: (chronicle .+)/));
  });

  it("restores a file outside of the folder", async () => {
    using box = new Sandbox();
    const outside = join(box.folder, "my file");
    box.write("a", "one\n");
    box.write("../my file", "before\n");
    await box.must(["init"]);
    await using workspace = await open({
      home: box.store,
      configFolder: join(box.folder, "config", "chronicle"),
      folder: box.project,
    });
    await workspace.action({ type: "write_file", payload: { path: outside }, toolCall: "call 1" }, () => {
      box.write("../my file", "after\n");
    });
    const { stdout } = await box.must(["rollback", "call 1", "--yes"]);
    typed(box, found(stdout, /to take back one of them: (chronicle .+)/));
    box.sh(`grep before ${quotePath(outside)}`);
  });

  it("uses a text after `snapshot` as the message", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const refused = await box.call(["snapshot", "before", "the big rename"]);
    expect(refused.code).toBe(2);
    typed(box, found(refused.stderr, /for a message: (chronicle .+)/));
    expect((await box.must(["list", "--snapshots"])).stdout).toContain("before the big rename");
    expect((await box.call(["gc", "all"])).stderr).not.toContain("for a message");
    expect((await box.call(["snapshot", "--nmae", "x"])).stderr).not.toContain("for a message");
  });

  it("records a command that has a space in it", async () => {
    using box = new Sandbox();
    box.sh("printf '#!/bin/sh\\n' > 'my tool'; chmod +x 'my tool'");
    const { stderr } = await box.call(["./my tool"]);
    typed(box, found(stderr, /to record a command: (chronicle .+)/));
  });
});

const SOURCES = join(import.meta.dirname, "../../src");

/** The commands that the sources name in backticks, or at the beginning of a hint. */
function namedCommands(): readonly (readonly [file: string, command: string])[] {
  return globSync("**/*.ts", { cwd: SOURCES, exclude: ["**/*.test.ts"] }).flatMap((file) => {
    const text = readFileSync(join(SOURCES, file), "utf8");
    const found = text.matchAll(/(?:`|hint:\s*")chronicle ((?:[^`"\\\n]|\\(?![`0]))+)(?:\\?`|")/g);
    return [...found].map(([, command = ""]) => [file, command] as const);
  });
}

/** The words of a command after the options that all commands take. */
function wordsOf(command: string): readonly string[] {
  return command
    .replace(/^(?:(?:-C|-w|--store|--remote|--directory) \S+ |(?:--json|--upstream) )+/, "")
    .split(/[\s,|]+/);
}

it("the sources name only commands and subcommands that exist", () => {
  const all = namedCommands();
  expect(all.length).toBeGreaterThan(150);
  const wrong = all.filter(([, command]) => {
    const [name = "", what = ""] = wordsOf(command);
    // Messages begin with the name of their command as well.
    if (!/^[a-z][a-z-]*$/.test(name) || what === "does") return false;
    const spec = COMMANDS.find((one) => one.name === name);
    const [first] = spec?.args ?? [];
    const verbs = first?.name === "<what>" && Array.isArray(first.completes) ? first.completes : undefined;
    return spec === undefined || (verbs !== undefined && /^[a-z]/.test(what) && !verbs.includes(what));
  });
  expect(wrong).toEqual([]);
});
