/**
 * A program that installs only this package, and its dependencies, compiles with `skipLibCheck: false`, however it
 * resolves modules. publint and attw have nothing to say about the package. The package is the one that npm packs.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };

const repo = dirname(dirname(import.meta.dirname));
const compiler = join(repo, "node_modules/typescript/bin/tsc");
const script: string = join(repo, "scripts/reached-types.js");
const { removeUnreached } = (await import(script)) as { removeUnreached: (root: string) => void };
const { libraryEntry } = (await import(join(repo, "scripts/library-entry.js") as string)) as {
  libraryEntry: (library: string, names: readonly string[], neededMajor: number) => string;
};
const { BROWSER_OPTIONS, BUNDLE_OPTIONS } = (await import(join(repo, "scripts/bundle-options.js") as string)) as {
  BROWSER_OPTIONS: BuildOptions;
  BUNDLE_OPTIONS: BuildOptions;
};
let folder = "";
/** The file that npm has packed. */
let tarball = "";

function compile(args: readonly string[], cwd: string): string {
  const ran = spawnSync(process.execPath, [compiler, ...args], { cwd, encoding: "utf8" });
  return ran.stdout + ran.stderr;
}

/** The folder of the installed package. */
const packed = (): string => join(folder, "node_modules", packageJson.name);

/** Bundles the public entries of the present sources into a folder. */
async function bundleEntries(outdir: string): Promise<void> {
  const given = { absWorkingDir: repo, outdir, logLevel: "error" } as const;
  const entryPoints = { library: "src/index.ts", testing: "src/testing/index.ts", "client-node": "src/client/node.ts" };
  await build({ ...BUNDLE_OPTIONS, ...given, entryPoints, chunkNames: "chunk-[hash]" });
  await build({ ...BROWSER_OPTIONS, ...given, entryPoints: { client: "src/client/index.ts" } });
  writeFileSync(join(outdir, "index.js"), libraryEntry("./library.js", ["open"], 24));
}

/** Packs the package as npm does, with the code and the types of the present sources, and installs it. */
async function installPacked(): Promise<void> {
  const staged = join(folder, "staged");
  mkdirSync(staged);
  for (const name of ["package.json", "README.md", "CHANGELOG.md", "LICENSE", "bin", "man"])
    cpSync(join(repo, name), join(staged, name), { recursive: true });
  await bundleEntries(join(staged, "dist"));
  const errors = compile(["-p", "tsconfig.build.json", "--outDir", join(staged, "dist/types")], repo);
  if (errors !== "") throw new Error(errors);
  removeUnreached(staged);
  const ran = spawnSync("npm", ["pack", "--ignore-scripts", "--silent"], { cwd: staged, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
  mkdirSync(packed(), { recursive: true });
  tarball = join(staged, ran.stdout.trim());
  const words = ["-xzf", tarball, "--strip-components=1", "-C", packed()];
  const unpacked = spawnSync("tar", words, { encoding: "utf8" });
  if (unpacked.status !== 0) throw new Error(unpacked.stderr);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-types-"));
  await installPacked();
  // The program has to bring Node's own types.
  for (const name of [...Object.keys(packageJson.dependencies), "@types/node"]) {
    mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
    symlinkSync(join(repo, "node_modules", name), join(folder, "node_modules", name));
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
}, 400_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Compiles a program. Returns the errors. */
function errorsOf(program: string, resolution: Readonly<Record<string, string>>): string {
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "dom"],
    types: ["node"],
    ...{ strict: true, skipLibCheck: false, noEmit: true },
    ...resolution,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  writeFileSync(join(folder, "program.ts"), program);
  return compile(["-p", "."], folder);
}

/** The public entries, by the names with which programs import them. */
const ENTRIES = Object.keys(packageJson.exports).map((name) => name.replace(/^\./, packageJson.name));

const RESOLUTIONS = [
  { module: "node16", moduleResolution: "node16" },
  { module: "nodenext", moduleResolution: "nodenext" },
  { module: "esnext", moduleResolution: "bundler" },
] as const;

describe("the types of the package", { timeout: 240_000 }, () => {
  it.for(RESOLUTIONS)("need only what is installed with it, by every entry: $moduleResolution", (resolution) => {
    const imports = ENTRIES.map((entry, at) => `import * as entry${at} from ${JSON.stringify(entry)};`);
    const uses = ENTRIES.map((_, at) => `console.log(Object.keys(entry${at}));`);
    expect(errorsOf([...imports, ...uses].join("\n"), resolution)).toBe("");
    // The check can fail: an entry that does not exist is an error.
    expect(errorsOf(`import "${packageJson.name}/nothing";`, resolution)).toContain("TS2882");
  });

  it.for([
    [packageJson.name, "open, openSyncs, type StoreApi, type SyncRunner, type WorkspaceApi"],
    [`${packageJson.name}/client`, "createClient"],
    [`${packageJson.name}/client/node`, "createClient"],
    [`${packageJson.name}/testing`, "diskSuite, workspaceSuite"],
  ])("have the names that programs use: %s", ([entry = "", names = ""]) => {
    const used = names.replaceAll(/type \w+,? ?/g, "").replace(/, $/, "");
    const program = `import { ${names} } from "${entry}";\nconsole.log(${used});\n`;
    expect(errorsOf(program, RESOLUTIONS[1])).toBe("");
  });

  it("compile in a program that closes a workspace at the end of its block and reads its status", () => {
    const program = `import { open, openStore, openSyncs } from "@chronicle-dev/chronicle";
       await using workspace = await open({ home: "/s", configFolder: "/c", folder: "/p", create: true });
       const seq: number = (await workspace.status()).seq;
       const store = await openStore({ home: "/s", configFolder: "/c" });
       const syncs = openSyncs(store, (error: unknown) => console.error(error));
       const [sync] = await syncs.list();
       console.log(seq, sync?.state, syncs.active);
      `;
    expect(errorsOf(program, RESOLUTIONS[1])).toBe("");
  });

  it("import only Node, the package's own files, its dependencies and its optional peers", () => {
    const allowed = new Set([...Object.keys(packageJson.dependencies), ...Object.keys(packageJson.peerDependencies)]);
    const types = join(packed(), "dist/types");
    const files = readdirSync(types, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".d.ts"));
    expect(files.length).toBeGreaterThan(10);
    const foreign = files.flatMap((file) =>
      importsOf(readFileSync(join(types, file), "utf8"))
        .filter((name) => !name.startsWith(".") && !name.startsWith("node:") && !builtinModules.includes(name))
        .filter((name) => !allowed.has(packageOf(name)))
        .map((name) => `${file}: ${name}`),
    );
    expect(foreign).toEqual([]);
  });
});

describe("publint", { timeout: 60_000 }, () => {
  const messages = async (): Promise<string[]> => {
    const found = await publint({ pkgDir: packed(), pack: false, strict: true, level: "suggestion" });
    return found.messages.map(({ type, code, path }) => `${type} ${code} ${path.join(".")}`);
  };

  it("has nothing to say about the package", async () => {
    expect(await messages()).toEqual([]);
  });

  it("names a file that an entry promises and the package does not have", async () => {
    renameSync(join(packed(), "dist/client.js"), join(packed(), "dist/gone.js"));
    expect(await messages()).toEqual([expect.stringMatching(/^error FILE_DOES_NOT_EXIST exports\.\.\/client\./)]);
    renameSync(join(packed(), "dist/gone.js"), join(packed(), "dist/client.js"));
  });
});

describe("attw", { timeout: 60_000 }, () => {
  /** Programs that resolve modules in these ways cannot use the package: it has only ES modules, named in `exports`. */
  const NOT_MEANT: readonly string[] = ["node10", "node16-cjs"];

  async function problems(file: string): Promise<readonly Problem[]> {
    const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(file))));
    if (checked.types === false) throw new Error("the package has no types");
    expect(Object.keys(checked.entrypoints).map((name) => name.replace(/^\./, packageJson.name))).toEqual(ENTRIES);
    return checked.problems.filter(
      (problem) => !("resolutionKind" in problem && NOT_MEANT.includes(problem.resolutionKind)),
    );
  }

  it("finds that the types are those of the code, for each way to resolve an ES module", async () => {
    expect(await problems(tarball)).toEqual([]);
  });

  it("names the types of an entry that the package does not have", async () => {
    const file = join(packed(), "dist/types/client/index.d.ts");
    renameSync(file, `${file}.gone`);
    const broken = join(folder, "broken.tgz");
    const words = ["-czf", broken, "-C", dirname(packed()), basename(packed())];
    expect(spawnSync("tar", words, { encoding: "utf8" })).toMatchObject({ status: 0 });
    renameSync(`${file}.gone`, file);
    expect(await problems(broken)).toContainEqual(
      expect.objectContaining({ kind: "UntypedResolution", entrypoint: "./client", resolutionKind: "bundler" }),
    );
  });
});

/** Returns the modules that a declaration file imports, also by `import("…")` and `/// <reference types="…" />`. */
function importsOf(text: string): string[] {
  const found = text.matchAll(/(?:\bfrom |\bimport\(|^import |types=)"([^"]+)"/gm);
  return [...found].map(([, name = ""]) => name);
}

/** Returns the name of the package of a module: `@scope/name/part` is in `@scope/name`. */
function packageOf(module: string): string {
  return module
    .split("/")
    .slice(0, module.startsWith("@") ? 2 : 1)
    .join("/");
}
