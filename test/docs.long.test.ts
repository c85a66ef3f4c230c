/**
 * The examples in README.md and docs/ are run. Blocks of `sh runnable` of a page are one shell script, in a folder and a
 * home of their own; the block must print the text that follows `# →` in it. Blocks of `ts` are programs: they are
 * type-checked against the sources and run. A block without an import continues the program of the block before. Links
 * between the pages must lead to files that exist.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { exitCodeOf } from "../src/api/problems.ts";
import type { ErrorCode } from "../src/core/values/errors.ts";
import { sharedChronicleBin } from "./helpers/cli-package.ts";

const repo = join(import.meta.dirname, "..");
const pages = [
  "README.md",
  ...readdirSync(join(repo, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const text = (page: string): string => readFileSync(join(repo, page), "utf8");
const base = mkdtempSync(join(tmpdir(), "chronicle-docs-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

function blocks(page: string, info: string): string[] {
  return [...text(page).matchAll(/^```([^\n]*)\n([^]*?)^```$/gm)]
    .filter(([, kind]) => kind === info)
    .map(([, , body]) => body ?? "");
}

const withBlocks = (info: string): string[] => pages.filter((page) => blocks(page, info).length > 0);

/** A folder, and an environment with a `chronicle` on its PATH and an empty home. */
function sandbox(name: string): { folder: string; env: NodeJS.ProcessEnv } {
  const folder = join(base, name.replaceAll("/", "-"));
  for (const each of ["home", "bin", "work"]) mkdirSync(join(folder, each), { recursive: true });
  const command = join(folder, "bin", "chronicle");
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${sharedChronicleBin()}' "$@"\n`);
  chmodSync(command, 0o755);
  const path = `${join(folder, "bin")}:${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
  const home = join(folder, "home");
  return {
    folder,
    env: { CI: "true", PATH: path, HOME: home, LC_ALL: "C.UTF-8", NODE_COMPILE_CACHE: join(base, "compile") },
  };
}

describe("examples of undo", () => {
  it("name the operation, because after a run that changed nothing, plain undo would undo somebody else's work", () => {
    const calls = withBlocks("ts").flatMap(
      (page) =>
        blocks(page, "ts")
          .join("\n")
          .match(/\.undo\([^\n]*/g) ?? [],
    );
    expect(calls.length).toBeGreaterThan(1);
    for (const call of calls) expect(call).toMatch(/^\.undo\(\{ operation: \w+\.undo_id \}\)/);
  });
});

/** The longest time that the examples of a page may take, in milliseconds. */
const LONGEST = 600_000;

describe("shell examples", () => {
  it.each(withBlocks("sh runnable"))(
    "%s",
    (page) => {
      const { folder, env } = sandbox(page);
      const parts = blocks(page, "sh runnable");
      const script = parts.map((part, i) => `echo '@@ ${i}'\n${part}`).join("\n");
      const ran = spawnSync("bash", ["--norc", "-euc", `exec 2>&1\n${script}`], {
        cwd: join(folder, "work"),
        env,
        encoding: "utf8",
        // An example that waits for ever must not block the whole test run.
        timeout: LONGEST,
        killSignal: "SIGKILL",
      });
      expect([page, ran.status, ran.status === 0 ? "" : ran.stdout]).toEqual([page, 0, ""]);
      const outputs = ran.stdout.split(/^@@ \d+\n/m).slice(1);
      for (const [i, part] of parts.entries()) {
        for (const [, promised = ""] of part.matchAll(/^# → (.*)$/gm)) expect(outputs[i]).toContain(promised);
      }
    },
    LONGEST,
  );

  it("include those of docs/first-steps.md", () => expect(withBlocks("sh runnable")).toContain("docs/first-steps.md"));
});

/** The entry points that programs import, and their sources in this repository. */
const ENTRIES = {
  "@chronicle-dev/chronicle": "src/index.ts",
  "@chronicle-dev/chronicle/client": "src/client/index.ts",
  "@chronicle-dev/chronicle/client/node": "src/client/node.ts",
};

/** Starts the server that a client's program needs, on the socket that the program names. */
async function serve(socket: string, cwd: string, env: NodeJS.ProcessEnv): Promise<AsyncDisposable> {
  mkdirSync(dirname(socket), { mode: 0o700 });
  const server = spawn("chronicle", ["serve", "--quiet", "--socket", socket], { cwd, env, stdio: "ignore" });
  await expect.poll(() => existsSync(socket), { timeout: 60_000 }).toBe(true);
  const ended = new Promise((done) => server.once("exit", done));
  return {
    [Symbol.asyncDispose]: async () => {
      server.kill();
      await ended;
    },
  };
}

/** The programs of a page. A block without an import belongs to the program before it. */
function programs(page: string): string[] {
  const found: string[] = [];
  for (const block of blocks(page, "ts")) {
    if (block.startsWith("import ") || found.length === 0) found.push(block);
    else found.push(`${found.pop()}\n${block}`);
  }
  return found;
}

const typescript = withBlocks("ts").flatMap((page) =>
  programs(page).map((program, i): [string, string] => [`${page} ${i + 1}`, program]),
);

describe("programs", () => {
  it("pass the type check", () => {
    const folder = join(base, "types");
    mkdirSync(folder);
    for (const [i, [, program]] of typescript.entries()) writeFileSync(join(folder, `${i}.mts`), program);
    const options = {
      extends: join(repo, "tsconfig.json"),
      compilerOptions: {
        noEmit: true,
        paths: Object.fromEntries(Object.entries(ENTRIES).map(([name, source]) => [name, [join(repo, source)]])),
        typeRoots: [join(repo, "node_modules/@types")],
      },
      include: [join(folder, "*.mts")],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options));
    const checked = spawnSync(join(repo, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
    expect([checked.stdout, checked.status]).toEqual(["", 0]);
  });

  it.each(typescript)("%s", async (name, program) => {
    const { folder, env } = sandbox(name);
    const project = join(folder, "work", "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{"scripts":{"test":"echo x > made-by-test; exit 1"}}');
    const socket = join(folder, "run", "c.sock");
    await using _server = program.includes("unix:") ? await serve(socket, project, env) : undefined;
    const placed = Object.entries(ENTRIES)
      .reduce((text, [entry, source]) => text.replaceAll(`"${entry}"`, JSON.stringify(join(repo, source))), program)
      .replaceAll("/home/me/.local/state/chronicle/run/serve.sock", socket)
      .replaceAll("/var/lib/me/chronicle", join(folder, "store"))
      .replaceAll("/etc/me/chronicle", join(folder, "config"))
      .replaceAll("/srv/project", project);
    const file = join(folder, "program.mts");
    writeFileSync(file, placed);
    const ran = spawnSync(process.execPath, [file], { cwd: folder, env, encoding: "utf8" });
    expect([name, ran.status, ran.status === 0 ? "" : ran.stderr]).toEqual([name, 0, ""]);
    expect(existsSync(join(project, "made-by-test"))).toBe(false);
  });
});

describe("pages", () => {
  it.each(pages)("%s links only to files that exist", (page) => {
    const links = [...text(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, to = ""]) => to);
    expect(links.filter((to) => !existsSync(join(repo, dirname(page), to)))).toEqual([]);
  });

  it("docs/library.md has the exit code of every error code", () => {
    const rows = [...text("docs/library.md").matchAll(/^\| (`[A-Z_`, ]+`) \| (\d+) \|/gm)];
    const listed = rows.flatMap(([, codes = "", exit]) =>
      [...codes.matchAll(/[A-Z_]+/g)].map(([code]) => [code, Number(exit)] as const),
    );
    for (const [code, exit] of listed) expect([code, exitCodeOf(code as ErrorCode)]).toEqual([code, exit]);
    const [, union = ""] = /export type ErrorCode =([^]*?);\n\n/.exec(text("src/core/values/errors.ts")) ?? [];
    expect(listed.map(([code]) => code).sort()).toEqual(
      [...union.matchAll(/"(\w+)"/g)].map(([, code = ""]) => code).sort(),
    );
  });
});
