/** A program that installs only this package, and its dependencies, compiles with `skipLibCheck: false`. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const repo = dirname(dirname(import.meta.dirname));
const compiler = join(repo, "node_modules/typescript/bin/tsc");
let folder = "";

function compile(args: readonly string[], cwd: string): string {
  const ran = spawnSync(process.execPath, [compiler, ...args], { cwd, encoding: "utf8" });
  return ran.stdout + ran.stderr;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-types-"));
  const packed = join(folder, "node_modules/@chronicle-dev/chronicle");
  mkdirSync(packed, { recursive: true });
  cpSync(join(repo, "package.json"), join(packed, "package.json"));
  const errors = compile(["-p", "tsconfig.build.json", "--outDir", join(packed, "dist/types")], repo);
  if (errors !== "") throw new Error(errors);
  const { dependencies } = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  // The program has to bring Node's own types.
  for (const name of [...Object.keys(dependencies), "@types/node"]) {
    mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
    symlinkSync(join(repo, "node_modules", name), join(folder, "node_modules", name));
  }
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "dom"],
    module: "nodenext",
    types: ["node"],
  };
  const config = { compilerOptions: { ...compilerOptions, strict: true, skipLibCheck: false, noEmit: true } };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...config, files: ["program.ts"] }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the types of the package", { timeout: 120_000 }, () => {
  it.for([
    ["@chronicle-dev/chronicle", "open, openSyncs, type StoreApi, type SyncRunner, type WorkspaceApi"],
    ["@chronicle-dev/chronicle/client", "createClient"],
    ["@chronicle-dev/chronicle/client/node", "createClient"],
    ["@chronicle-dev/chronicle/testing", "diskSuite, workspaceSuite"],
  ])("need only what is installed with it: %s", ([entry = "", names = ""]) => {
    const used = names.replaceAll(/type \w+,? ?/g, "").replace(/, $/, "");
    writeFileSync(join(folder, "program.ts"), `import { ${names} } from "${entry}";\nconsole.log(${used});\n`);
    expect(compile(["-p", "."], folder)).toBe("");
  });

  it("compile in a program that closes a workspace at the end of its block and reads its status", () => {
    writeFileSync(
      join(folder, "program.ts"),
      `import { open, openStore, openSyncs } from "@chronicle-dev/chronicle";
       await using workspace = await open({ home: "/s", configFolder: "/c", folder: "/p", create: true });
       const seq: number = (await workspace.status()).seq;
       const store = await openStore({ home: "/s", configFolder: "/c" });
       const syncs = openSyncs(store, (error: unknown) => console.error(error));
       const [sync] = await syncs.list();
       console.log(seq, sync?.state, syncs.active);
      `,
    );
    expect(compile(["-p", "."], folder)).toBe("");
  });
});
