import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { RunShape, UndoShape } from "../../src/api/shapes.ts";
import { ended, Sandbox } from "../cli/sandbox.ts";
import { McpProject } from "../helpers/mcp-project.ts";
import { ServedStore } from "../helpers/served-store.ts";

/** How long a condition may take on a busy machine, in ms. */
const PATIENCE = 60_000;

/**
 * How a program writes its file. Rewritten means in place, without emptying the file first: a busy disk can delay the
 * program between emptying and writing for so long that a run begins, ends or is undone while the file is empty. If the
 * file is empty both times, the run has not changed it, or there is nothing to undo.
 */
const WAYS = {
  "is rewritten": "writeFileSync(path, `line ${n}\\n`, { flag: constants.O_WRONLY | constants.O_CREAT })",
  grows: "appendFileSync(path, `line ${n}\\n`)",
  "is replaced by rename": "writeFileSync(`${path}.tmp`, `line ${n}\\n`); renameSync(`${path}.tmp`, path)",
};

/** A program that writes one file every 20 ms until it is stopped. */
class DevServer implements AsyncDisposable {
  readonly #path: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(path: string, way: keyof typeof WAYS) {
    this.#path = path;
    const script = `
      import { appendFileSync, constants, renameSync, writeFileSync } from "node:fs";
      const path = process.argv[1];
      let n = 0;
      setInterval(() => { n += 1; ${WAYS[way]} }, 20);
    `;
    this.#child = spawn(process.execPath, ["--input-type=module", "-e", script, path], { stdio: "inherit" });
    this.#ended = ended(this.#child);
  }

  /** Resolves when it has written again. */
  async wrote(): Promise<void> {
    const before = readFileSync(this.#path);
    // A command that rewrites the file leaves it empty for a moment.
    const isOther = (now: Buffer): boolean => now.length > 0 && !now.equals(before);
    await vi.waitUntil(() => isOther(readFileSync(this.#path)), PATIENCE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

const NAMES = Array.from({ length: 30 }, (_, i) => `f${String(i).padStart(2, "0")}`);
const BUILD = `for f in f*; do echo after > $f; done; echo new > created; echo built > LOG`;

/** Makes the files, and a run that changes all of them and creates `log`. */
async function built(box: Sandbox, log: string, more: readonly string[] = []): Promise<void> {
  for (const name of NAMES) box.write(name, "before\n");
  box.write(".next/kept", "kept\n");
  await box.must(["init"]);
  const ran = box.run(["run", ...more, "--", "sh", "-c", BUILD.replace("LOG", log)]);
  if (ran.code !== 0) throw new Error(ran.stderr);
}

function contents(folder: string): string[] {
  return [...new Set(NAMES.map((name) => readFileSync(join(folder, name), "utf8")))];
}

const LEFT = "changed-meanwhile";

describe("Truth 11a: a program that keeps writing one file does not block the undo of the other files", () => {
  it.each([
    ["build.log", "is rewritten"],
    [".next/cache", "is rewritten"],
    ["build.log", "grows"],
    [".next/cache", "is replaced by rename"],
  ] as const)(
    "undo, while %s %s: the other files go back, and this one is named",
    { timeout: PATIENCE * 3 },
    async (log, way) => {
      using box = new Sandbox();
      await built(box, log);
      const path = join(box.project, log);
      await using server = new DevServer(path, way);
      await server.wrote();
      await server.wrote();
      const undone = await box.json(["undo", "--yes"]);
      const shape = undone.value as UndoShape;
      expect(shape.skipped).toMatchObject([{ path: log, reason: LEFT }]);
      expect([undone.code, shape.unmerged, shape.dry_run]).toEqual([1, [], false]);
      expect(contents(box.project)).toEqual(["before\n"]);
      expect(existsSync(join(box.project, "created"))).toBe(false);
      await server.wrote();
      expect(readFileSync(path, "utf8")).toContain("line ");
      // The next undo is about earlier work, of which there is none.
      expect((await box.json(["undo", "--yes"])).code).toBe(3);
      await server[Symbol.asyncDispose]();
      // The rest of the run can be undone by its id once the file is as the run left it.
      writeFileSync(path, "built\n");
      const rest = await box.json(["undo", "--yes", shape.operation?.id ?? ""]);
      expect(rest).toMatchObject({ code: 0, value: { changes: [{ path: log, change_type: "deleted" }], skipped: [] } });
      expect(existsSync(path)).toBe(false);
      await box.must(["redo"]);
      expect(readFileSync(path, "utf8")).toBe("built\n");
      await box.must(["redo"]);
      expect(contents(box.project)).toEqual(["after\n"]);
      await box.must(["verify"]);
    },
  );

  it(
    "the answer in words names the file and the command for the rest, and a dry run names the file before",
    { timeout: PATIENCE * 3 },
    async () => {
      using box = new Sandbox();
      await built(box, "build.log");
      await using server = new DevServer(join(box.project, "build.log"), "is rewritten");
      await server.wrote();
      const seen = await box.json(["undo", "--dry-run"]);
      expect(seen).toMatchObject({ code: 1, value: { skipped: [{ path: "build.log", reason: LEFT }] } });
      expect((seen.value as UndoShape).changes).toHaveLength(31);
      const undone = await box.call(["undo"]);
      expect(undone.code).toBe(1);
      expect(undone.stdout).toMatch(/left as they are:\n +! build\.log \(changed-meanwhile: /);
      expect(undone.stdout).toMatch(/^run: sh -c .*\)$/m);
      expect(undone.stdout).toContain("taken back: 30 modified, 1 deleted");
      const [, next = ""] = /`chronicle (undo [0-9a-f]+)` takes them back/.exec(undone.stdout) ?? [];
      await server[Symbol.asyncDispose]();
      box.write("build.log", "built\n");
      expect((await box.must(next.split(" "))).stdout).toContain("taken back: 1 deleted");
    },
  );

  it(
    "a later write of the program is a conflict for the undo that the note names",
    { timeout: PATIENCE * 3 },
    async () => {
      using box = new Sandbox();
      await built(box, "build.log");
      await using server = new DevServer(join(box.project, "build.log"), "is rewritten");
      await server.wrote();
      const undone = await box.call(["undo"]);
      const [, next = "", makes] =
        /`chronicle (undo [0-9a-f]+)` takes them back, (or records a conflict)/.exec(undone.stdout) ?? [];
      expect(makes).toBeDefined();
      await server.wrote();
      await server[Symbol.asyncDispose]();
      const later = readFileSync(join(box.project, "build.log"), "utf8");
      const again = await box.call(next.split(" "));
      expect([again.code, again.stdout]).toEqual([
        1,
        expect.stringMatching(/these are conflicts .*\n +! \w+ build\.log /),
      ]);
      expect(readFileSync(join(box.project, "build.log"), "utf8")).toBe(later);
    },
  );

  it(
    "a later edit by a person is a conflict, and refuses an exact undo as a whole",
    { timeout: PATIENCE * 3 },
    async () => {
      using box = new Sandbox();
      await built(box, "build.log");
      await using server = new DevServer(join(box.project, "build.log"), "is rewritten");
      await server.wrote();
      box.write("f07", "by a person\n");
      const refused = await box.call(["undo", "--exact"]);
      expect([refused.code, refused.stderr]).toEqual([6, expect.stringMatching(/edited since: .*f07/)]);
      expect(contents(box.project)).toEqual(["after\n", "by a person\n"]);
      await server.wrote();
      const { code, value } = await box.json(["undo"]);
      const undone = value as UndoShape;
      expect([code, undone.skipped.map(({ path }) => path)]).toEqual([1, ["build.log"]]);
      expect(undone.unmerged.map(({ path }) => path)).toEqual(["f07"]);
      expect(contents(box.project)).toEqual(["before\n", "by a person\n"]);
    },
  );

  it("--rollback-on-failure rolls back the other files, and names this one", { timeout: PATIENCE * 3 }, async () => {
    using box = new Sandbox();
    for (const name of NAMES) box.write(name, "before\n");
    box.write("build.log", "");
    await box.must(["init"]);
    await using server = new DevServer(join(box.project, "build.log"), "is rewritten");
    await server.wrote();
    const script = `n=$(cat build.log); ${BUILD.replace("> LOG", "> other")}; while [ "$(cat build.log)" = "$n" ]; do :; done; exit 7`;
    const ran = box.run(["run", "--rollback-on-failure", "--summary", "../summary.json", "--", "sh", "-c", script]);
    const shape = JSON.parse(readFileSync(join(box.folder, "summary.json"), "utf8")) as RunShape;
    expect(contents(box.project)).toEqual(["before\n"]);
    expect(existsSync(join(box.project, "other"))).toBe(false);
    expect([ran.code, shape.not_rolled_back?.paths]).toEqual([122, ["build.log"]]);
    await server.wrote();
  });

  it("undo over MCP and HTTP undoes the other files, and names this one", { timeout: PATIENCE * 3 }, async () => {
    const prepare = (project: { write(path: string, content: string): void }): void => {
      for (const name of NAMES) project.write(name, "before\n");
    };
    await using mcp = await McpProject.start(prepare);
    const { project } = mcp;
    const work = async (): Promise<void> => {
      const workspace = await project.open();
      await workspace.run({ command: ["sh", "-c", BUILD.replace("LOG", "build.log")], cwd: project.folder });
      await workspace.close();
    };
    await work();
    await using server = new DevServer(project.at("build.log"), "is rewritten");
    await server.wrote();
    const answer = await mcp.client.call("undo");
    expect(answer.data).toMatchObject({ skipped: [{ path: "build.log", reason: LEFT }] });
    expect(answer.text).toContain(`build.log (${LEFT}: `);
    expect(contents(project.folder)).toEqual(["before\n"]);

    await work();
    await using served = await ServedStore.start({ places: project, folder: project.folder });
    const local = await project.open();
    await server.wrote();
    const shape = await served.client().workspace(local.id).undo();
    expect(shape.skipped).toMatchObject([{ path: "build.log", reason: LEFT }]);
    expect(contents(project.folder)).toEqual(["before\n"]);
  });
});
