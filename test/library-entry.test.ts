/** dist/index.js, as scripts/build.js writes it: an older Node is told what is needed, and nothing else is loaded. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";

const repo = dirname(import.meta.dirname);
const script: string = join(repo, "scripts/library-entry.js");
const { libraryEntry } = (await import(script)) as {
  libraryEntry: (library: string, names: readonly string[], neededMajor: number) => string;
};
const OLD_NODE = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.11.1" } });`;
const pretendOld = ["--import", `data:text/javascript,${encodeURIComponent(OLD_NODE)}`];

let folder = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-entry-"));
  const { metafile } = await build({
    absWorkingDir: repo,
    entryPoints: { library: "src/index.ts" },
    outdir: join(folder, "dist"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    external: ["@parcel/watcher"],
    metafile: true,
    logLevel: "error",
  });
  const names = Object.values(metafile.outputs).flatMap((one) => one.exports);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "dist/index.js"), libraryEntry("./library.js", names, 24));
  // A library that this Node cannot link, as an older Node cannot link the real one.
  mkdirSync(join(folder, "broken"));
  writeFileSync(join(folder, "broken/library.js"), 'import "node:not-there-yet";\nexport const open = 1;\n');
  writeFileSync(join(folder, "broken/index.js"), libraryEntry("./library.js", ["open"], 24));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function evaluate(code: string, flags: readonly string[] = []) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, "-e", code], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, stdout: stdout.trim(), stderr };
}

const tell = (path: string) =>
  `import(${JSON.stringify(path)}).then(() => console.log("loaded"), (e) => console.log(e.code + ": " + e.message));`;

it("an older Node is told what is needed, before anything that it cannot load", () => {
  for (const path of ["./broken/index.js", "./dist/index.js"]) {
    expect(evaluate(tell(path), pretendOld)).toEqual({
      status: 0,
      stdout: "PLATFORM_UNSUPPORTED: this is Node 20.11.1, and Chronicle needs Node 24 or later. Install a newer Node.",
      stderr: "",
    });
  }
  expect(evaluate(tell("./broken/index.js")).stdout).toMatch(/^ERR_UNKNOWN_BUILTIN_MODULE/);
});

it("everything that the library exports is there, by import and by require, without a warning", async () => {
  const names = Object.keys(await import("../src/index.ts")).toSorted();
  const keys = `console.log(Object.keys(m).sort().join(), typeof m.openStore, m.ChronicleError.name)`;
  const expected = { status: 0, stdout: `${names.join()} function ChronicleError`, stderr: "" };
  expect(evaluate(`import("./dist/index.js").then((m) => ${keys});`)).toEqual(expected);
  expect(evaluate(`const m = require("./dist/index.js"); ${keys};`)).toEqual(expected);
});
