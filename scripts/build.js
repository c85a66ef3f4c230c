// Bundles Chronicle into dist/ and emits its types. Plain JavaScript for Node 20 and later: it runs in `npm ci`.
//
// dist/ stays flat (entries and shared chunks side by side), so that `new URL("./x-worker.js", import.meta.url)`
// means the same file from whichever chunk the code ends up in.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { ASK_OPTIONS, BROWSER_OPTIONS, BUNDLE_OPTIONS, HOOK_IMAGE_OPTIONS, HOOK_OPTIONS } from "./bundle-options.js";
import { libraryEntry } from "./library-entry.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

/** Name in dist/ → source. Workers are found by their file name; dist/index.js is written beside the library. */
const NAMED_ENTRIES = {
  cli: "src/cli/main.ts",
  library: "src/index.ts",
  testing: "src/testing/index.ts",
  "client-node": "src/client/node.ts",
};

/** Entries that exist, as esbuild wants them; the missing ones are named in the output. */
function findEntries() {
  const entries = {};
  for (const [name, source] of Object.entries(NAMED_ENTRIES)) {
    if (existsSync(join(root, source))) entries[name] = source;
    else console.log(`skipped dist/${name}.js: there is no ${source}`);
  }
  for (const file of readdirSync(join(root, "src"), { recursive: true })) {
    if (file.endsWith("-worker.ts")) entries[basename(file, ".ts")] = join("src", file);
  }
  return entries;
}

/** Bundles the entries, then removes what an earlier build left. Nothing is removed before: dist/ may be in use. */
async function bundle(entries) {
  const result = await build({
    ...BUNDLE_OPTIONS,
    entryPoints: entries,
    outdir: dist,
    chunkNames: "chunk-[hash]",
    metafile: true,
    logLevel: "warning",
  });
  const alone = [await bundleAlone("hook", "src/cli/hook-main.ts", HOOK_OPTIONS)];
  alone.push(await bundleAlone("hook-image", "src/cli/hook-image-main.ts", HOOK_IMAGE_OPTIONS));
  alone.push(await bundleAlone("ask", "src/cli/resident/ask-main.ts", ASK_OPTIONS));
  alone.push(await bundleAlone("client", "src/client/index.ts", BROWSER_OPTIONS));
  const inputs = Object.assign({}, ...alone.map((one) => one.inputs));
  const aloneOutputs = Object.assign({}, ...alone.map((one) => one.outputs));
  const outputs = { ...result.metafile.outputs, ...aloneOutputs };
  const written = new Set(Object.keys(outputs).map((path) => relative("dist", path)));
  written.add(writeNotices([...new Set([...Object.keys(result.metafile.inputs), ...Object.keys(inputs)])]));
  const library = result.metafile.outputs["dist/library.js"];
  if (library !== undefined) written.add(writeIndex(library.exports));
  for (const file of readdirSync(dist, { withFileTypes: true })) {
    if (file.isFile() && !written.has(file.name)) rmSync(join(dist, file.name));
  }
  for (const path of [...Object.keys(entries).map((name) => `dist/${name}.js`), ...Object.keys(aloneOutputs)]) {
    console.log(`built   ${path} (${Math.ceil(outputs[path].bytes / 1024)} KiB)`);
  }
}

/** Bundles one entry into one file of its own. Returns esbuild's account of it. */
async function bundleAlone(name, source, options) {
  if (!existsSync(join(root, source))) {
    console.log(`skipped dist/${name}: there is no ${source}`);
    return { inputs: {}, outputs: {} };
  }
  const entry = { entryPoints: { [name]: source }, outdir: dist, metafile: true, logLevel: "warning" };
  return (await build({ ...options, ...entry })).metafile;
}

/** Writes the library's entry, which tells an older Node what is needed. Returns its name in dist/. */
function writeIndex(names) {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  writeFileSync(join(dist, "index.js"), libraryEntry("./library.js", names, Number(/\d+/.exec(engines.node)[0])));
  return "index.js";
}

/** Keeps the licenses of the packages that went into the bundle beside it. Returns the file's name in dist/. */
function writeNotices(inputs) {
  const folders = inputs
    .map((path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0])
    .filter((one) => one !== undefined);
  const notices = [...new Set(folders)]
    .sort((a, b) => (a < b ? -1 : 1))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
      const file = readdirSync(join(root, folder)).find((one) => /^licen[cs]e/i.test(one));
      const text = file === undefined ? "" : readFileSync(join(root, folder, file), "utf8");
      return `${name} ${version} (${license})\n\n${text.trim()}\n`;
    });
  writeFileSync(join(dist, "third-party.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));
  return "third-party.txt";
}

/** Emits the types of the library's entries. Returns false, with the compiler's own words on stdout, if there are errors. */
function emitTypes(entries) {
  if (!("library" in entries) && !("testing" in entries)) {
    console.log("skipped dist/types: no library entry");
    return true;
  }
  rmSync(join(dist, "types"), { recursive: true, force: true });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const run = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
  if (run.status === 0) console.log("built   dist/types");
  return run.status === 0;
}

/** Returns what went wrong, in words; the details were printed by then. */
async function run(entries) {
  if (Object.keys(entries).length > 0) {
    try {
      await bundle(entries);
    } catch (error) {
      if (!Array.isArray(error.errors)) throw error;
      return "the bundle has errors";
    }
  }
  return emitTypes(entries) ? undefined : "the types have errors";
}

const started = performance.now();
const entries = findEntries();
const failure = await run(entries);
console.log(
  `${failure === undefined ? "done" : `failed: ${failure}`} in ${Math.round(performance.now() - started)} ms`,
);
process.exitCode = failure === undefined ? 0 : 1;
